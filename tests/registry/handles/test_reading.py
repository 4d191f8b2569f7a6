from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.registry import cribs
from tests.registry.handles.desk import ROWS, Desk, handle_of, keeping_desk, plain, structured
from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import (
    EXPRESSION_BUDGET,
    INVALID_ARGUMENTS,
    INVALID_EXPRESSION,
    UNKNOWN_HANDLE,
    ToolError,
)
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Overlay
from toolcrib_protocol.result import Result
from toolcrib_registry.call import Call
from toolcrib_registry.changes import DropOverlay, PutOverlay
from toolcrib_registry.handles import READ_META, HandleReader, ReadWish
from toolcrib_registry.permissions import Caller
from toolcrib_registry.records import OverlayRecord
from toolcrib_registry.views import View

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import Json

TABLE = structured({"rows": ROWS, "total": 5_000, "odd key": {"content": 1}}, text_block("hello"))


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    return await keeping_desk(tmp_path)


@pytest.fixture
async def table(desk: Desk) -> str:
    return await desk.handle(TABLE)


def facts(result: Result) -> dict[str, Json]:
    told = result.meta[READ_META]
    assert isinstance(told, dict)
    return told


READ = [
    ({"path": "rows[5].name"}, "row 5"),
    ({"path": "$.rows[5].name"}, "row 5"),
    ({"path": " it.rows[-1].id "}, 4999),
    ({"path": "['odd key'].content"}, 1),
    ({"path": "$['odd key']"}, {"content": 1}),
    ({"path": "rows[2:4]", "filter": "[r.id for r in it]"}, [2, 3]),
    ({"filter": "[r.name for r in it.rows if r.price > 2499]"}, ["row 4999"]),
    ({"filter": "[item.id for item in $.rows][:2]"}, None),
    ({"filter": "len(it.rows)"}, 5000),
    ({"filter": "len(content)"}, 1),
    ({"path": "rows", "range": (10, 11)}, [ROWS[10]]),
    ({"path": "rows", "range": (-1, 5_000)}, [ROWS[-1]]),
    ({"path": "rows[7].name", "range": (4, 5)}, "7"),
]  # fmt: skip


@pytest.mark.promise("handle-reading")
@pytest.mark.parametrize(("wish", "value"), READ)
async def test_a_path_a_filter_or_a_range_picks_a_part(
    desk: Desk, table: str, wish: dict[str, object], value: Json
) -> None:
    result = await desk.read(table, **wish)  # type: ignore[arg-type]
    if value is None:  # a `$` stands at the start only
        assert result.error is not None
        assert result.error.code == INVALID_EXPRESSION
        return
    assert not result.is_error, result.text
    assert not result.has_data
    assert (result.text if isinstance(value, str) else json.loads(result.text)) == value


@pytest.mark.promise("handle-reading")
async def test_reading_is_bounded_and_says_where_it_goes_on(desk: Desk, table: str) -> None:
    rows = await desk.read(table, "rows")
    assert len(rows.text) < 26_000
    end = facts(rows)["end"]
    assert f"[items 0 to {end} of 5,000; next: range [{end}, 5000]]" in rows.text
    assert isinstance(end, int)
    following = await desk.read(table, "rows", range=(end, 5_000))
    assert json.loads(str(following.content[0]["text"]))[0] == ROWS[end]
    text = await desk.read(table)
    assert "[characters 0 to 25,000 of" in text.text
    assert facts(text)["is_cut"] is True


async def test_a_list_is_read_item_by_item_and_a_text_character_by_character(desk: Desk) -> None:
    rows = await desk.handle(plain(json.dumps(ROWS)))
    assert json.loads((await desk.read(rows, range=(3, 4))).text) == [ROWS[3]]
    assert json.loads((await desk.read(rows, "[3].id")).text) == 3
    text = await desk.handle(plain("ä😀" * 300_000))
    assert (await desk.read(text, range=(262_143, 262_146))).text == "😀ä😀"
    assert (await desk.read(text, range=(-2, 600_000))).text == "ä😀"
    assert (await desk.read(text, range=(5, 5))).text == ""
    assert (await desk.read(text, filter="len(it)")).text == "600000"
    cut = await desk.read(text)
    assert len(str(cut.content[0]["text"]).encode()) <= 25_000
    assert "�" not in cut.text


async def test_a_text_that_only_looks_like_json_is_a_text(desk: Desk) -> None:
    handle = await desk.handle(plain("[not json " * 9_000))
    assert (await desk.read(handle, range=(0, 9))).text == "[not json"
    result = await desk.read(handle, "rows")
    assert result.error is not None
    assert "has no 'rows'" in result.error.message


async def test_a_very_long_json_text_is_looked_into_when_somebody_asks(desk: Desk) -> None:
    handle = await desk.handle(plain(json.dumps({"a": ["x" * 1_000] * 9_000})))
    assert (await desk.read(handle, "a[8999]", range=(0, 2))).text == "xx"


async def test_a_path_into_more_than_a_filter_may_make_still_reads_a_piece(desk: Desk) -> None:
    rows: Json = ["x" * 1_000_000] * 40
    handle = await desk.handle(structured({"rows": rows}))
    piece = await desk.read(handle, "rows[39]", range=(999_998, 1_000_000))
    assert piece.text == "xx"
    assert (await desk.read(handle, "rows", filter="len(it)")).text == "40"
    assert "item 0 of 40 alone" in (await desk.read(handle, "rows", range=(0, 2))).text
    whole = await desk.read(handle, filter="it.rows")
    assert whole.error is not None
    assert whole.error.code == EXPRESSION_BUDGET


async def test_what_is_large_by_itself_is_shown_in_part_with_its_shape(desk: Desk) -> None:
    big: Json = {"blob": "z" * 40_000, "n": 1}
    handle = await desk.handle(structured({"rows": [big, big], "one": big}))
    item = await desk.read(handle, "rows")
    assert "item 0 of 2 alone is over 25,000 bytes; go on with path [0]" in item.text
    one = await desk.read(handle, "one")
    assert "Shape: {blob: text(40,000), n: number}" in one.text
    assert facts(one)["is_cut"] is True


@pytest.mark.promise("handle-whole")
async def test_a_program_reads_the_whole(desk: Desk, table: str) -> None:
    result = await desk.read(table, "rows", takes_whole=True)
    assert json.loads(result.text) == ROWS


async def test_a_key_of_the_name_of_the_blocks_is_reached_before_them(desk: Desk) -> None:
    handle = await desk.handle(structured({"content": ["own"], "x": "y" * 30_000}))
    assert (await desk.read(handle, "content[0]")).text == "own"
    blocks = await desk.handle(Result(content=(text_block("a"), text_block("b" * 40_000))))
    whole = await desk.read(blocks, "content")
    assert "items 0 to 1 of 2" in whole.text


REFUSED = [
    ({"path": "zzz"}, INVALID_EXPRESSION, "it has rows, total, odd key"),
    ({"path": "rows[9999]"}, INVALID_EXPRESSION, "it has 5000"),
    ({"path": "rows[0].nmae"}, INVALID_EXPRESSION, "did you mean 'name'?"),
    ({"path": "it.rows + 1"}, INVALID_EXPRESSION, "more than a path; write it as filter"),
    ({"path": "rows["}, INVALID_EXPRESSION, "never closed"),
    ({"filter": "rows"}, INVALID_EXPRESSION, "write it.rows"),
    ({"filter": "[[r for r in it.rows] for s in it.rows]"}, EXPRESSION_BUDGET, "2,000,000 steps"),
    ({"path": "rows", "range": (5_000, 5_001)}, INVALID_ARGUMENTS, "there are 5,000"),
    ({"path": "rows", "range": (7, 3)}, INVALID_ARGUMENTS, "is empty"),
    ({"path": "total", "range": (0, 1)}, INVALID_ARGUMENTS, "a range is for texts and lists"),
]  # fmt: skip


@pytest.mark.promise("handle-reading")
@pytest.mark.parametrize(("wish", "code", "words"), REFUSED)
async def test_what_picks_nothing_is_refused_with_what_is_there(
    desk: Desk, table: str, wish: dict[str, object], code: str, words: str
) -> None:
    error = (await desk.read(table, **wish)).error  # type: ignore[arg-type]
    assert error is not None
    assert error.code == code
    assert words in error.message


class HidesOnDemand:
    """A policy that changes its mind."""

    is_hidden = False

    def allows(self, caller: Caller, tool: ToolId) -> bool:
        return not self.is_hidden


@pytest.mark.promise("handle-access")
async def test_unknown_expired_foreign_and_forbidden_handles_look_the_same(
    tmp_path: Path,
) -> None:
    policy = HidesOnDemand()
    desk = await keeping_desk(tmp_path, policy=policy)
    handle = await desk.handle(TABLE)
    answers = [await desk.read(handle, caller=Caller("eve"))]
    never = await desk.read("h_aaaaaaaaaaaaaaaa")
    policy.is_hidden = True
    answers.append(await desk.read(handle))
    policy.is_hidden = False
    elsewhere = Call("read_result", view=View(groups=("web",)))
    answers.append(await desk.calls.read(ReadWish(handle), elsewhere))
    assert not (await desk.read(handle, "total")).is_error
    desk.clock.advance(3_600)
    answers.append(await desk.read(handle))
    assert never.error is not None
    assert never.error.code == UNKNOWN_HANDLE
    for answer in answers:
        assert answer.error is not None
        assert answer.error.code == UNKNOWN_HANDLE
        assert answer.text == never.text.replace("h_aaaaaaaaaaaaaaaa", handle)


@pytest.mark.promise("handle-access")
async def test_what_a_tool_that_is_hidden_now_once_said_is_read_and_passed_on_no_more(
    desk: Desk, table: str
) -> None:
    tool = ToolId("mail", "list")
    hidden = OverlayRecord(tool, Overlay(hidden=True))
    await desk.catalogue.change(lambda _: [PutOverlay(hidden)])
    never = await desk.read("h_aaaaaaaaaaaaaaaa")
    told = await desk.read(table)
    passed = await desk.call("mail/send", {"body": {"$handle": table, "path": "total"}})
    await desk.catalogue.change(lambda _: [DropOverlay(tool)])

    assert told.text == never.text.replace("h_aaaaaaaaaaaaaaaa", table)
    assert passed.error is not None
    assert passed.error.code == UNKNOWN_HANDLE
    assert (await desk.read(table, "total")).text == "5000"


@pytest.mark.promise("handle-access")
async def test_where_the_tool_is_not_known_its_result_is_not_either(desk: Desk, table: str) -> None:
    elsewhere = HandleReader(desk.vault, await cribs.memory_catalogue())
    with pytest.raises(ToolError) as refusal:
        await elsewhere.read(ReadWish(table), Call("read_result"))
    assert refusal.value.code == UNKNOWN_HANDLE


async def test_what_a_tool_that_is_listed_no_more_said_is_read_until_it_expires(
    desk: Desk, table: str
) -> None:
    await cribs.listed(desk.catalogue, "mail", cribs.raw_tool("send"))
    assert (await desk.read(table, "total")).text == "5000"


@pytest.mark.promise("sealed-at-rest")
async def test_what_is_kept_says_nothing_to_whoever_finds_it(desk: Desk, table: str) -> None:
    record = await desk.store.find(table, desk.vault.now())
    assert record is not None
    part = await desk.store.part(table, 0)
    assert part is not None
    for found in (record.facts, part):
        assert b"row" not in found
        assert b"mail" not in found


async def test_a_part_that_is_gone_is_as_if_the_handle_was(desk: Desk, table: str) -> None:
    record = await desk.store.find(table, desk.vault.now())
    assert record is not None
    await desk.store.drop(table)
    await desk.store.finish(record)
    error = (await desk.read(table)).error
    assert error is not None
    assert error.code == UNKNOWN_HANDLE
    assert await desk.vault.drop_expired() == 0


async def test_without_a_catalogue_nothing_is_asked_about_the_tool(desk: Desk, table: str) -> None:
    reading = await HandleReader(desk.vault).read(ReadWish(table, "total"), Call(""))
    assert reading.value == 5_000


async def test_a_crib_that_keeps_nothing_knows_no_handle() -> None:
    calls, _, _ = await cribs.desk(cribs.raw_tool("echo"))
    error = (await calls.read(ReadWish("h_x"), Call("read_result"))).error
    assert error is not None
    assert error.code == UNKNOWN_HANDLE


async def test_the_handle_of_a_result_is_new_each_time(desk: Desk) -> None:
    desk.answers("list", TABLE)
    assert handle_of(await desk.call()) != handle_of(await desk.call())
