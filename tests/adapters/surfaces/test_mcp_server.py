"""What an agent gets through the MCP server, whatever the transport and the protocol generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from mcp.client.client import Client

from tests.adapters.surfaces.bench import BLOCKS, Bench
from tests.adapters.surfaces.doors import (
    MODERN,
    call_raw,
    call_raw_legacy,
    open_door,
    over_http,
)
from toolcrib_protocol.json_value import JsonObject, dump_json
from toolcrib_protocol.names import PUBLISHED_NAME, ToolId
from toolcrib_protocol.result_list import results_from_mcp

if TYPE_CHECKING:
    from toolcrib_registry.permissions import Caller

every_door = pytest.mark.parametrize(
    "door",
    [
        f"{transport} {era}"
        for transport in ("memory", "stdio", "http")
        for era in ("modern", "legacy")
    ],
)
quick_doors = pytest.mark.parametrize(
    "door",
    [f"{transport} {era}" for transport in ("memory", "http") for era in ("modern", "legacy")],
)
both_eras = pytest.mark.parametrize("door", ["http modern", "http legacy"])


def as_json(result: object) -> JsonObject:
    dumped: JsonObject = result.model_dump(mode="json", by_alias=True, exclude_none=True)  # type: ignore[attr-defined]
    return dumped


@every_door
@pytest.mark.promise("surface-three-tools")
@pytest.mark.promise("surface-both-generations")
async def test_an_agent_sees_a_few_small_tools_whatever_stands_behind_them(door: str) -> None:
    bench = await Bench.open()
    async with open_door(door, bench) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [
            "search_tools",
            "describe_tools",
            "call_tool",
            "read_result",
        ]
        assert "play (10): Toys for tests." in (listed.tools[0].description or "")
        assert "check the arguments" in (client.instructions or "")


@every_door
@pytest.mark.promise("surface-call-by-name")
@pytest.mark.promise("field-o38-call-without-search")
@pytest.mark.promise("field-o10-surface-digits")
async def test_a_known_tool_is_called_by_its_published_name_or_reference_without_a_search(
    door: str,
) -> None:
    bench = await Bench.open()
    async with open_door(door, bench) as client:
        for name in ("play__echo", "play/echo", "play/echo@^1"):
            result = await client.call_tool(name, {"id": 9007199254740993, "f": 1.0})
            assert dump_json(result.structured_content) == '{"id":9007199254740993,"f":1.0}'
            assert (result.meta or {})["io.toolcrib/tool"] == "play/echo@1.0.0"


@pytest.mark.promise("field-o02-original-name")
async def test_a_source_hears_the_original_name_of_a_tool_whose_name_no_model_takes() -> None:
    bench = await Bench.open()
    long = "synchronise_all_customer_records_across_every_regional_cluster"
    originals = ["admin.users/list", f"{long}_a", f"{long}_b", "\N{PACKAGE}", "1st"]
    entries = tuple({"name": name, "inputSchema": {"type": "object"}} for name in originals)
    await bench.add("entreprise", entries)  # type: ignore[arg-type]
    names = [
        bench.catalogue.snapshot.tools[ToolId("entreprise", o)].published_name for o in originals
    ]
    async with Client(bench.server(), mode=MODERN) as client:
        for name in names:
            await client.call_tool("call_tool", {"name": name})
    assert [seen[0] for seen in bench.playground.seen] == originals
    assert len(set(names)) == len(names)
    assert all(PUBLISHED_NAME.fullmatch(name) for name in names)


@quick_doors
@pytest.mark.promise("field-o07-null-arguments")
async def test_arguments_that_are_missing_or_null_mean_none(door: str) -> None:
    bench = await Bench.open()
    async with open_door(door, bench) as client:
        direct = await client.call_tool("play__echo", None)
        through = await client.call_tool("call_tool", {"name": "play__echo", "arguments": None})
    assert direct.structured_content == through.structured_content == {}


@pytest.mark.parametrize("name", ["play__blocks", "call_tool"])
@pytest.mark.promise("field-o15-blocks-unchanged")
async def test_blocks_pass_to_both_generations_exactly_as_the_source_sent_them(name: str) -> None:
    bench = await Bench.open()
    arguments: JsonObject = {} if name == "play__blocks" else {"name": "play__blocks"}
    async with over_http(bench.server()) as url:
        modern = await call_raw(url, name, arguments)
        legacy = await call_raw_legacy(url, "2025-11-25", name, arguments)
    for answer in (modern, legacy):
        assert answer["content"] == BLOCKS["content"]
        assert answer["structuredContent"] == BLOCKS["structuredContent"]
        meta = answer["_meta"]
        assert isinstance(meta, dict)
        assert {key: meta[key] for key in ("k", "example.org/none")} == BLOCKS["_meta"]
    assert modern["resultType"] == "complete"


@pytest.mark.promise("field-o15-blocks-unchanged")
async def test_a_block_that_the_callers_revision_lacks_is_kept_and_labelled() -> None:
    bench = await Bench.open()
    odd: JsonObject = {
        "content": [{"type": "hologram", "data": "AA=="}, {"type": "text", "text": "t"}]
    }
    async with over_http(bench.server()) as url:
        modern = await call_raw(url, "play__answer", {"result": odd})
        old = await call_raw_legacy(url, "2024-11-05", "play__blocks", {})
    assert modern["content"] == [
        {
            "type": "text",
            "text": '[unknown block type \'hologram\'; as JSON:] {"type":"hologram","data":"AA=="}',
        },
        {"type": "text", "text": "t"},
    ]
    blocks = old["content"]
    assert isinstance(blocks, list)
    kinds = [block["type"] for block in blocks if isinstance(block, dict)]
    assert kinds == ["text", "image", "text", "text", "resource"]


async def test_structured_content_of_any_shape_reaches_both_generations() -> None:
    bench = await Bench.open()
    listed: JsonObject = {"content": [], "structuredContent": [1, None]}
    async with over_http(bench.server()) as url:
        modern = await call_raw(url, "play__answer", {"result": listed})
        legacy = await call_raw_legacy(url, "2025-11-25", "play__answer", {"result": listed})
        oldest = await call_raw_legacy(url, "2024-11-05", "play__answer", {"result": listed})
    assert modern["structuredContent"] == [1, None]
    assert legacy["structuredContent"] == {"result": [1, None]}
    assert legacy["content"] == []
    assert oldest["content"] == [{"type": "text", "text": "[1,null]"}]


async def test_the_servers_name_is_ours_and_not_that_of_a_source() -> None:
    bench = await Bench.open()
    stamped: JsonObject = {
        "content": [],
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "source", "version": "9"}},
    }
    async with over_http(bench.server()) as url:
        modern = await call_raw(url, "play__answer", {"result": stamped})
        legacy = await call_raw_legacy(url, "2025-11-25", "play__answer", {"result": stamped})
    assert "source" not in dump_json(modern)
    assert "toolcrib" in dump_json(modern["_meta"])
    assert "source" not in dump_json(legacy)


@quick_doors
@pytest.mark.promise("surface-teaching-errors")
async def test_an_unknown_name_is_answered_with_the_nearest_names(door: str) -> None:
    bench = await Bench.open()
    async with open_door(door, bench) as client:
        for result in (
            await client.call_tool("play__sendmail", {}),
            await client.call_tool("call_tool", {"name": "send mail"}),
        ):
            assert result.is_error
            error = (result.meta or {})["io.toolcrib/error"]
            assert error["code"] == "unknown_tool"
            assert error["details"]["nearest"][0] == "play__send_mail"
            assert "play__send_mail" in dump_json(as_json(result)["content"])


@quick_doors
@pytest.mark.promise("surface-teaching-errors")
async def test_invalid_arguments_are_answered_with_place_expectation_and_an_example(
    door: str,
) -> None:
    bench = await Bench.open()
    async with open_door(door, bench) as client:
        result = await client.call_tool("play__send_mail", {"to": 7})
    text = dump_json(as_json(result)["content"])
    assert result.is_error
    assert "at /to: expected type string, received 7" in text
    assert "A valid call has arguments like" in text


@pytest.mark.parametrize(
    ("name", "arguments", "lesson"),
    [
        ("search_tools", {}, "queries"),
        ("search_tools", {"queries": ["q"], "limit": 99}, "/limit"),
        ("search_tools", {"queries": ["q"], "detials": "names"}, "detail"),
        ("describe_tools", {"names": []}, "/names"),
        ("call_tool", {}, "either `name`"),
        ("call_tool", {"name": "play__echo", "calls": [{"name": "play__echo"}]}, "either `name`"),
        ("call_tool", {"calls": [{"arguments": {}}]}, "/calls/0"),
        ("call_tool", {"name": "play__echo", "arguments": 7}, "/arguments"),
        ("call_tool", {"name": "describe_tools", "arguments": {}}, "call it directly"),
    ],
)
@pytest.mark.promise("surface-teaching-errors")
async def test_meta_tools_teach_how_they_are_called(
    name: str, arguments: JsonObject, lesson: str
) -> None:
    bench = await Bench.open()
    async with Client(bench.server(), mode=MODERN) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert lesson in result.content[0].text  # type: ignore[union-attr]
    assert (result.meta or {})["io.toolcrib/error"]["code"] == "invalid_arguments"
    assert bench.playground.seen == []


@quick_doors
@pytest.mark.promise("surface-call-list")
async def test_a_list_of_calls_runs_at_once_and_answers_in_order(door: str) -> None:
    bench = await Bench.open()
    company = [
        {"name": "play__meet", "arguments": {"company": 3, "seat": seat}} for seat in (1, 2, 3)
    ]
    async with open_door(door, bench) as client:
        with anyio.fail_after(20):
            result = await client.call_tool("call_tool", {"calls": company})
    results = results_from_mcp(as_json(result))
    assert [one.data for one in results] == [call["arguments"] for call in company]
    assert not result.is_error


@pytest.mark.promise("surface-call-list")
async def test_in_a_list_of_calls_each_failure_is_its_own() -> None:
    bench = await Bench.open()
    names = ["play__echo", "play__fail", "play__crash", "nobody", "play__blocks"]
    async with Client(bench.server(), mode=MODERN) as client:
        result = await client.call_tool("call_tool", {"calls": [{"name": name} for name in names]})
    results = results_from_mcp(as_json(result))
    codes = [one.error.code if one.error else None for one in results]
    assert codes == [None, "tool_failed", "internal", "unknown_tool", None]
    assert not result.is_error
    assert results[1].text == "the tool's own words"


@both_eras
@pytest.mark.promise("surface-own-faults")
async def test_a_fault_of_ours_becomes_an_answer_and_the_server_lives(
    door: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = await Bench.open()
    async with open_door(door, bench) as client:
        crashed = await client.call_tool("play__crash", {})
        after = await client.call_tool("play__echo", {"still": "here"})
    assert (crashed.meta or {})["io.toolcrib/error"]["code"] == "internal"
    assert "a bug" not in dump_json(as_json(crashed))
    assert "a bug" in caplog.text
    assert after.structured_content == {"still": "here"}


@every_door
@pytest.mark.promise("surface-progress")
async def test_progress_reaches_who_asked_for_it(door: str) -> None:
    bench = await Bench.open()
    steps: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message))

    async with open_door(door, bench) as client:
        through = await client.call_tool(
            "call_tool", {"name": "play__count"}, progress_callback=note
        )
    assert steps == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
    assert through.structured_content == {"asked_for_progress": True}


@both_eras
async def test_a_source_is_not_asked_for_progress_that_nobody_wants(door: str) -> None:
    bench = await Bench.open()
    async with open_door(door, bench) as client:
        silent = await client.call_tool("play__count", {})
    assert silent.structured_content == {"asked_for_progress": False}


@quick_doors
@pytest.mark.promise("surface-progress")
async def test_a_caller_that_gives_up_cancels_its_call_at_the_source(door: str) -> None:
    bench = await Bench.open()
    async with open_door(door, bench) as client:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "play__hang", {})
                await bench.playground.hanging.wait()
                tasks.cancel_scope.cancel()
            await bench.playground.cancelled.wait()


@pytest.mark.promise("surface-meta-allow-list")
async def test_only_the_trace_and_the_time_limit_travel_on_with_a_call() -> None:
    bench = await Bench.open()
    async with over_http(bench.server()) as url:
        await call_raw(
            url,
            "play__echo",
            {},
            {
                "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                "example.org/secret": "s",
                "io.toolcrib/timeout_seconds": 7,
            },
        )
    _, _, context = bench.playground.seen[0]
    assert context.meta == {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    }
    assert context.timeout_seconds == 7


@pytest.mark.promise("surface-describe")
async def test_a_tool_is_described_with_all_a_caller_may_rely_on() -> None:
    bench = await Bench.open()
    async with Client(bench.server(), mode=MODERN) as client:
        result = await client.call_tool("describe_tools", {"names": ["play/send_mail", "nobody"]})
    described = result.structured_content["tools"]
    assert described[0] == {
        "name": "play__send_mail",
        "reference": "play/send_mail@1.0.0",
        "title": "Send mail",
        "description": "Sends a letter to one address.",
        "input_schema": {
            "type": "object",
            "properties": {
                "to": {"type": "string", "minLength": 3},
                "subject": {"type": "string"},
                "priority": {"enum": ["low", "high"]},
            },
            "required": ["to"],
        },
        "behaviour": {
            "read_only": "unknown",
            "destructive": "unknown",
            "idempotent": "unknown",
            "open_world": "unknown",
        },
        "versions": ["1.0.0"],
        "status": "active",
        "source": "play",
    }
    assert described[1]["name"] == "nobody"
    assert described[1]["error"]["code"] == "unknown_tool"
    text = result.content[0].text  # type: ignore[union-attr]
    assert 'Arguments: {"type":"object","properties":{"to":' in text
    assert "nobody: no tool is called 'nobody'" in text
    assert not result.is_error


async def test_names_that_are_all_unknown_make_the_description_an_error() -> None:
    bench = await Bench.open()
    async with Client(bench.server(), mode=MODERN) as client:
        result = await client.call_tool("describe_tools", {"names": "nobody"})
    assert result.is_error


class _NotMail:
    """A policy that hides one tool from everybody."""

    def allows(self, caller: Caller, tool: ToolId) -> bool:
        return tool.name != "send_mail"


@pytest.mark.promise("surface-policy")
async def test_what_the_policy_hides_is_neither_counted_nor_described_nor_called() -> None:
    bench = await Bench.open(_NotMail())
    async with Client(bench.server(_NotMail()), mode=MODERN) as client:
        listed = await client.list_tools()
        described = await client.call_tool("describe_tools", {"names": ["play__send_mail"]})
        called = await client.call_tool("play__send_mail", {"to": "you"})
    assert "play (9)" in (listed.tools[0].description or "")
    for result in (described, called):
        assert result.is_error
        assert "no tool is called" in result.content[0].text  # type: ignore[union-attr]
