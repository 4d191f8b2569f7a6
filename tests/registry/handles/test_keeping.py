from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.handles.desk import (
    ROWS,
    Desk,
    handle_of,
    keeping_desk,
    plain,
    structured,
)
from toolcrib_protocol.call_rules import RuleScope, ScopeKind
from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import AT_CAPACITY, TOOL_FAILED, ErrorKind, ToolError
from toolcrib_protocol.interim import InputRequired
from toolcrib_protocol.result import Result
from toolcrib_registry.call import Call
from toolcrib_registry.call_rules import set_rules
from toolcrib_registry.handles import HANDLE_META, Ceilings
from toolcrib_registry.permissions import Caller

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext, HandleRecord

PICTURE: JsonObject = {"type": "image", "data": "aGk=" * 50_000, "mimeType": "image/png"}
LINK: JsonObject = {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 3}


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    return await keeping_desk(tmp_path)


def told(result: Result) -> str:
    return str(result.content[0]["text"])


def size_for_a_model(result: Result) -> int:
    """All that any client could show."""
    answer = result.as_mcp()
    blocks = [block for block in result.content if block.get("type") == "text"]
    return len(json.dumps([blocks, answer.get("structuredContent")]))


@pytest.mark.promise("handle-cap")
@pytest.mark.promise("field-o14-large-results")
@pytest.mark.parametrize("size", [20_000, 2_000_000])
async def test_what_fits_passes_and_what_does_not_is_cut_and_kept(desk: Desk, size: int) -> None:
    desk.answers("list", plain("x" * size))
    result = await desk.call()
    if size <= 25_000:
        assert result.text == "x" * size
        assert HANDLE_META not in result.meta
        return
    assert size_for_a_model(result) < 25_000
    assert "The result has 2,000,000 bytes" in told(result)
    read = await desk.read(handle_of(result), range=(1_000_000, 1_000_100))
    assert read.text == "x" * 100


@pytest.mark.promise("handle-preview")
async def test_the_answer_tells_the_size_the_shape_a_preview_and_how_to_read_on(
    desk: Desk,
) -> None:
    desk.answers("list", structured({"rows": ROWS, "total": 5_000}))
    result = await desk.call()
    words = told(result)
    assert handle_of(result) in words
    assert "read_result" in words
    assert "2026-01-01 01:00 UTC" in words
    assert "{rows: [5,000 x {id: number, name: text(5)" in words
    assert '"name":"row 0"' in words
    assert not result.has_data
    facts = result.meta[HANDLE_META]
    assert isinstance(facts, dict)
    assert facts["expires"] == "2026-01-01T01:00:00+00:00"
    assert size_for_a_model(result) < 5_000


@pytest.mark.promise("handle-no-twins")
async def test_structured_content_and_its_text_are_kept_once(desk: Desk) -> None:
    data: JsonObject = {"rows": ROWS}
    alone = await desk.handle(structured(data))
    spelt = text_block(json.dumps(data, indent=2))
    twice = await desk.handle(structured(data, spelt, text_block("and more")))
    one, both = await record_of(desk, alone), await record_of(desk, twice)
    assert both.size - one.size < 100
    assert (await desk.read(twice, "content[0]")).text == "and more"


async def record_of(desk: Desk, handle: str) -> HandleRecord:
    record = await desk.store.find(handle, desk.vault.now())
    assert record is not None
    return record


@pytest.mark.promise("handle-blocks")
async def test_blocks_stay_blocks_in_their_order_and_are_read_as_blocks(desk: Desk) -> None:
    blocks = (text_block("first"), PICTURE, text_block("y" * 50_000), LINK, PICTURE)
    desk.answers("list", Result(content=blocks))
    result = await desk.call()
    assert result.content[1:] == (text_block("first"), PICTURE, LINK, PICTURE)
    handle = handle_of(result)
    read = await desk.read(handle, "content[1]")
    assert read.content == (PICTURE,)
    assert (await desk.read(handle, "content[2].text", range=(0, 3))).text == "yyy"
    assert (await desk.read(handle, "content[3:]")).content == (LINK, PICTURE)
    assert "content[2]: text(50,000)" in told(result)


async def test_pictures_that_do_not_fit_are_named_and_kept(desk: Desk) -> None:
    desk.answers("list", Result(content=(PICTURE,) * 10))
    result = await desk.call()
    assert result.content.count(PICTURE) == 5
    assert result.text.count("kept with the rest") == 5
    assert (await desk.read(handle_of(result), "content[9]")).content == (PICTURE,)


@pytest.mark.promise("handle-cap")
async def test_a_large_failure_is_cut_too(desk: Desk) -> None:
    details: JsonObject = {"trace": "z" * 30_000}
    failed = Result.failed(ToolError(TOOL_FAILED, "no! " * 20_000, ErrorKind.FATAL, details))
    desk.answers("list", failed)
    result = await desk.call()
    assert result.error is not None
    assert len(result.error.message) == 500
    assert result.error.details == {}
    assert (await desk.read(handle_of(result), range=(0, 4))).text == "no! "


async def test_a_question_of_the_tool_is_never_cut(desk: Desk) -> None:
    wanted = InputRequired({"requests": {"a": {"params": {"message": "w" * 40_000}}}})
    desk.answers("list", Result.asking("list", wanted))
    assert (await desk.call()).interim is wanted


@pytest.mark.promise("handle-cap")
async def test_the_limit_is_the_rules_then_the_tools_then_the_usual(desk: Desk) -> None:
    desk.answers("list", plain("x" * 3_000))
    assert HANDLE_META not in (await desk.call()).meta
    scope = RuleScope(ScopeKind.GROUP, "mail")
    rules: JsonObject = {"max_result_bytes": 1_000, "handle_seconds": 60}
    await desk.catalogue.change(lambda snapshot: set_rules(snapshot, scope, rules))
    result = await desk.call()
    assert size_for_a_model(result) < 1_000
    assert "2026-01-01 00:01 UTC" in told(result)


@pytest.mark.promise("handle-whole")
async def test_a_program_may_take_the_whole_and_a_mirror_shows_it(desk: Desk) -> None:
    desk.answers("list", plain("x" * 30_000))
    for call in (Call("mail/list", takes_whole=True), Call("mail/list", is_mirrored=True)):
        assert (await desk.calls.call(call)).text == "x" * 30_000


@pytest.mark.promise("handle-lists")
async def test_results_of_a_list_share_what_fits(desk: Desk) -> None:
    desk.answers("list", plain("x" * 10_000))
    few = await desk.calls.call_many([Call("mail/list")] * 5)
    many = await desk.calls.call_many([Call("mail/list")] * 40)
    assert [HANDLE_META in result.meta for result in few] == [False] * 5
    assert all(HANDLE_META in result.meta for result in many)
    assert sum(map(size_for_a_model, many)) < 100_000
    assert await desk.calls.call_many([]) == []


@pytest.mark.promise("handle-strict-clients")
async def test_a_client_that_insists_on_data_gets_an_excerpt_that_fits(desk: Desk) -> None:
    desk.answers("shaped", structured({"rows": ROWS}))
    result = await desk.calls.call(Call("mail/shaped", needs_data=True))
    assert isinstance(result.data, dict)
    assert result.data["rows"] == ROWS[:10]
    desk.answers("list", structured({"rows": ROWS}))
    assert not (await desk.calls.call(Call("mail/list", needs_data=True))).has_data


@pytest.mark.promise("handle-ceilings")
async def test_beyond_the_ceilings_nothing_is_kept_and_the_answer_says_why(
    tmp_path: Path,
) -> None:
    desk = await keeping_desk(tmp_path, ceilings=Ceilings(of_caller=100_000, of_all=150_000))
    desk.answers("list", plain("x" * 60_000))
    assert (await desk.call()).meta[HANDLE_META] is not None
    full = await desk.call()
    facts = full.meta[HANDLE_META]
    assert isinstance(facts, dict)
    assert facts["handle"] is None
    assert "100,000 bytes are kept for one caller" in told(full)
    for name in ("ann", "bob"):
        other = await desk.calls.call(Call("mail/list", caller=Caller(name)))
    assert "150,000 bytes are kept at most" in told(other)
    assert (await desk.store.kept("local", desk.vault.now())).of_all == 120_000
    desk.clock.advance(3_601)
    assert "as h_" in told(await desk.call())
    assert (await desk.store.kept("local", desk.vault.now())).of_all == 60_000


async def test_a_result_is_delivered_although_the_store_fails(desk: Desk) -> None:
    async def fails(now: float, limit: int) -> int:
        raise ToolError(AT_CAPACITY, "the disk is full")

    desk.store.drop_expired = fails  # type: ignore[method-assign]
    desk.answers("list", plain("x" * 60_000))
    result = await desk.call()
    assert not result.is_error
    assert "was not kept: the disk is full" in told(result)


@pytest.mark.promise("field-o14-large-results")
async def test_ten_results_of_four_megabytes_at_once_need_little_more_than_themselves(
    desk: Desk,
) -> None:
    async def large(_arguments: JsonObject, _context: CallContext) -> Result:
        return plain("y" * 4_000_000)

    desk.mail.tools["list"] = large
    tracemalloc.start()
    try:
        results = await desk.calls.call_many([Call("mail/list")] * 10)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len({handle_of(result) for result in results}) == 10
    assert peak < 10 * 4_000_000 + 20_000_000
    assert now < 5_000_000


@pytest.mark.promise("handle-ceilings")
async def test_a_caller_that_leaves_while_a_result_is_kept_leaves_nothing_behind(
    desk: Desk,
) -> None:
    began = anyio.Event()

    async def slow(handle: str, parts: object, expires: float) -> None:
        began.set()
        await anyio.sleep_forever()

    desk.store.put = slow  # type: ignore[method-assign]
    desk.answers("list", plain("x" * 60_000))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.call)
        await began.wait()
        tasks.cancel_scope.cancel()
    assert (await desk.store.kept("local", desk.vault.now())).of_all == 0


async def test_a_small_result_is_kept_while_enormous_ones_take_their_time(desk: Desk) -> None:
    stuck, put = anyio.Event(), desk.store.put

    async def slow(handle: str, parts: Mapping[int, bytes], expires: float) -> None:
        if len(parts) > 1:
            stuck.set()
            await anyio.sleep_forever()
        await put(handle, parts, expires)

    desk.store.put = slow  # type: ignore[method-assign]
    desk.answers("list", plain("x" * 3_000_000))
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(desk.call)
        await stuck.wait()
        desk.answers("list", plain("x" * 60_000))
        with anyio.fail_after(20):
            assert handle_of(await desk.call()).startswith("h_")
        tasks.cancel_scope.cancel()
