"""Which tools an endpoint lists natively, in each mode, for both generations of the protocol."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.subscriptions import ToolsListChanged
from mcp_types import ToolListChangedNotification
from mcp_types.methods import serialize_server_result

from tests.adapters.surfaces.bench import TOOLS, Bench
from tests.adapters.surfaces.doors import MODERN, over_http
from toolcrib_adapters.surfaces.endpoints import MAIN, Endpoint, EndpointKind
from toolcrib_protocol.call_rules import CallRules, RuleScope
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.tool import Contract
from toolcrib_registry.changes import DropProfile, PutProfile, PutRules
from toolcrib_registry.records import EndpointMode, ProfileRecord, RulesRecord

if TYPE_CHECKING:
    from mcp_types import Tool

    from toolcrib_protocol.json_value import JsonObject

META = ["search_tools", "describe_tools", "call_tool", "read_result"]
NATIVE = [*sorted(f"play__{tool['name']}" for tool in TOOLS), "read_result"]
FULL = replace(MAIN, mode=EndpointMode.FULL)
both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


def tools(number: int, words: int = 20) -> tuple[JsonObject, ...]:
    """So many tools, whose descriptions cost about so many tokens each."""
    return tuple(
        {"name": f"t{n:04}", "description": "word " * words, "inputSchema": {"type": "object"}}
        for n in range(number)
    )


def names(listed: list[Tool]) -> list[str]:
    return [tool.name for tool in listed]


async def all_tools(client: Client) -> list[Tool]:
    """Every page."""
    found: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return found


async def with_profile(profile: ProfileRecord) -> Bench:
    bench = await Bench.open()
    await bench.add("post", tools(2))
    await bench.catalogue.change(lambda _: [PutProfile(profile)])
    return bench


@both_eras
@pytest.mark.promise("endpoint-auto-mode")
async def test_few_tools_are_listed_as_they_are_and_many_behind_the_meta_tools(mode: str) -> None:
    bench = await Bench.open()
    async with Client(bench.server(endpoint=MAIN), mode=mode) as client:
        few = await client.list_tools()
        found = await client.call_tool("search_tools", {"queries": ["send a letter"]})
        told = client.instructions
    await bench.add("post", tools(400, words=40))
    async with Client(bench.server(endpoint=MAIN), mode=mode) as client:
        many = await client.list_tools()
        direct = await client.call_tool("post__t0399", {"a": 1})
    assert names(few.tools) == NATIVE
    assert not found.is_error, "the meta-tools answer in every mode"
    assert "search_tools" not in (told or "")
    assert names(many.tools) == META
    assert direct.structured_content == {"a": 1}


@pytest.mark.promise("endpoint-auto-mode")
async def test_a_session_keeps_the_list_it_found_while_others_hear_that_it_turned_around() -> None:
    bench = await Bench.open()
    heard = anyio.Event()

    async def note(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    servers = bench.servers()
    async with (
        over_http(servers) as url,
        Client(url, mode="legacy", message_handler=note) as older,
        Client(url, mode=MODERN) as newer,
        newer.listen(tools_list_changed=True) as events,
    ):
        before = names(await all_tools(older)), names(await all_tools(newer))
        await bench.add("post", tools(400, words=40))
        with anyio.fail_after(20):
            assert isinstance(await anext(aiter(events)), ToolsListChanged)
            await heard.wait()
        after = names(await all_tools(older)), names(await all_tools(newer))
        async with Client(url, mode="legacy") as latest:
            found_now = names(await all_tools(latest))
    assert before == (NATIVE, NATIVE)
    assert after == (sorted([*NATIVE, *(f"post__t{n:04}" for n in range(400))]), META)
    assert found_now == META


@pytest.mark.promise("endpoint-auto-mode")
async def test_a_mode_that_the_operator_sets_holds_for_running_sessions_too() -> None:
    bench = await Bench.open()
    heard = anyio.Event()

    async def note(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    async with Client(bench.server(endpoint=MAIN), mode="legacy", message_handler=note) as client:
        before = names((await client.list_tools()).tools)
        profile = ProfileRecord("default", mode=EndpointMode.DYNAMIC)
        await bench.catalogue.change(lambda _: [PutProfile(profile)])
        with anyio.fail_after(20):
            await heard.wait()
        after = names((await client.list_tools(cache_mode="bypass")).tools)
    assert (before, after) == (NATIVE, META)


@pytest.mark.promise("endpoint-auto-mode")
async def test_replicas_come_to_the_same_list_whatever_each_has_seen() -> None:
    bench = await Bench.open()
    alone, early = bench.server(endpoint=MAIN), bench.server(endpoint=MAIN)
    early.tools.has_replicas = True
    before = [server.tools.mode for server in (alone, early)]
    # Between the two bounds: about 8,000 tokens.
    await bench.add("post", tools(160, words=40))
    late = bench.server(endpoint=MAIN)
    late.tools.has_replicas = True
    after = [server.tools.mode for server in (alone, early, late)]
    assert before == [EndpointMode.FULL, EndpointMode.FULL]
    assert after == [EndpointMode.FULL, EndpointMode.DYNAMIC, EndpointMode.DYNAMIC]


@both_eras
@pytest.mark.promise("endpoint-modes")
async def test_pinned_tools_stand_beside_the_meta_tools(mode: str) -> None:
    pins = (ToolId("play", "send_mail"), ToolId("no", "such"), ToolId("play", "echo"))
    bench = await with_profile(ProfileRecord("default", mode=EndpointMode.DYNAMIC, pins=pins))
    async with Client(bench.server(endpoint=MAIN), mode=mode) as client:
        listed = await client.list_tools()
    assert names(listed.tools) == [*META, "play__send_mail", "play__echo"]


@both_eras
@pytest.mark.promise("endpoint-modes")
async def test_a_full_list_of_thousands_comes_in_pages_and_in_one_order(mode: str) -> None:
    bench = await Bench.open()
    await bench.add("post", tools(1_000))
    async with Client(bench.server(endpoint=FULL), mode=mode) as client:
        first = await client.list_tools()
        listed = await all_tools(client)
        again = await all_tools(client)
    assert len(first.tools) == 200
    assert names(listed) == names(again)
    assert names(listed) == [*sorted(names(listed)[:-1]), "read_result"]
    assert len(listed) == 1_011


MODEL_SAFE: JsonObject = {"to": {"type": "string"}, "copy": {"type": "string"}, "any": True}
RICH: dict[str, Any] = {
    "name": "rich tool/1",
    "title": "Rich",
    "description": "Says everything.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "to": {"type": "string", "x-mcp-header": "To"},
            "copy": {"$ref": "#/$defs/address"},
            "any": True,
        },
        "$defs": {"address": {"type": "string"}},
    },
    "outputSchema": {"type": "array", "items": {"type": "integer"}},
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "title": "Rich"},
    "icons": [{"src": "https://example.org/i.png", "mimeType": "image/png", "sizes": ["48x48"]}],
    "_meta": {
        "ui": {"resourceUri": "ui://rich"},
        "anthropic/maxResultSizeChars": 9,
        "fastmcp": {"tags": []},
        "io.toolcrib/tool": "forged",
    },
}


@pytest.mark.promise("endpoint-native-form")
async def test_a_native_tool_says_all_that_its_contract_does_in_a_form_models_take() -> None:
    bench = await Bench.open()
    await bench.add("post", (RICH,))
    async with Client(bench.server(endpoint=FULL), mode=MODERN) as client:
        shown = next(t for t in await all_tools(client) if t.name.startswith("post__rich"))
    told = shown.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert told == {
        **RICH,
        "name": shown.name,
        "inputSchema": {"type": "object", "properties": MODEL_SAFE},
        "annotations": {"readOnlyHint": True, "destructiveHint": False},
        "_meta": {
            "ui": {"resourceUri": "ui://rich"},
            "anthropic/maxResultSizeChars": 9,
            "io.toolcrib/tool": "post/rich tool/1@1.0.0",
        },
    }


@pytest.mark.promise("endpoint-native-form")
async def test_the_endpoint_of_a_group_shows_a_tool_as_its_source_sent_it() -> None:
    bench = await Bench.open()
    await bench.add("post", (RICH,))
    post = Endpoint(EndpointKind.GROUP, "post")
    async with Client(bench.server(endpoint=post), mode=MODERN) as client:
        (shown,) = await all_tools(client)
    told = shown.model_dump(mode="json", by_alias=True, exclude_none=True)
    expected = {**RICH, "annotations": {"readOnlyHint": True, "destructiveHint": False}}
    expected["_meta"] = {k: v for k, v in RICH["_meta"].items() if k != "io.toolcrib/tool"}
    assert told == expected


@pytest.mark.parametrize("endpoint", [FULL, Endpoint(EndpointKind.GROUP, "post")])
@pytest.mark.promise("endpoint-native-form")
async def test_when_to_use_a_tool_is_told_with_its_description(endpoint: Endpoint) -> None:
    bench = await Bench.open()
    contract = Contract(
        group="post",
        name="stamp",
        description="Stamps.",
        when_to_use="It has to arrive.",
        when_not_to_use="It is a mail.",
    )
    await bench.add("post", (contract,))
    async with Client(bench.server(endpoint=endpoint), mode=MODERN) as client:
        shown = next(t for t in await all_tools(client) if t.name.endswith("stamp"))
    assert shown.description == (
        "Stamps.\nUse it when: It has to arrive.\nDo not use it when: It is a mail."
    )


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", MODERN])
@pytest.mark.parametrize("endpoint", [FULL, Endpoint(EndpointKind.GROUP, "post")])
@pytest.mark.promise("endpoint-native-form")
async def test_every_native_tool_is_valid_on_every_wire(version: str, endpoint: Endpoint) -> None:
    bench = await Bench.open()
    plain: JsonObject = {"name": "plain", "inputSchema": {"type": "object"}}
    await bench.add("post", (RICH, plain))
    server = bench.server(endpoint=endpoint)
    async with Client(server, mode=MODERN if version == MODERN else "legacy") as client:
        listed = await all_tools(client)
    for tool in listed:
        told = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        answer: JsonObject = {"tools": [told]}
        if version == MODERN:
            answer |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        serialize_server_result("tools/list", version, answer)
    is_older = version != MODERN
    rich = next(t for t in listed if "rich" in t.name)
    array = RICH["outputSchema"]
    wrapped = {"type": "object", "properties": {"result": array}, "required": ["result"]}
    assert rich.output_schema == (wrapped if is_older else array), "older ones know objects only"


@both_eras
@pytest.mark.promise("endpoint-profiles")
@pytest.mark.promise("endpoint-one-visibility")
async def test_a_profile_shows_its_groups_to_lists_searches_descriptions_and_calls(
    mode: str,
) -> None:
    bench = await with_profile(ProfileRecord("mine", groups=("post",), mode=EndpointMode.DYNAMIC))
    async with (
        over_http(bench.servers()) as url,
        Client(f"{url}/profile/mine", mode=mode) as client,
    ):
        listed = await client.list_tools()
        found = await client.call_tool("search_tools", {"queries": ["echo", "t0001"]})
        in_group = await client.call_tool("search_tools", {"queries": ["echo"], "group": "play"})
        described = await client.call_tool(
            "describe_tools", {"names": ["play__echo", "post/t0001"]}
        )
        called = await client.call_tool("call_tool", {"name": "play__echo"})
        direct = await client.call_tool("play__echo", {})
        fine = await client.call_tool("post__t0001", {})
    told = listed.tools[0].description or ""
    assert "- post (2)" in told
    assert "play" not in told
    hits = [hit["name"] for r in (found.structured_content or {})["results"] for hit in r["hits"]]
    assert "post__t0001" in hits
    assert set(hits) <= {"post__t0000", "post__t0001"}
    assert in_group.is_error
    (hidden, shown) = (described.structured_content or {})["tools"]
    assert (hidden["error"]["code"], shown["name"]) == ("unknown_tool", "post__t0001")
    for answer in (called, direct, in_group):
        error = (answer.meta or {})["io.toolcrib/error"]
        assert error["code"] in {"unknown_tool", "unknown_group"}
        assert error["details"] == {"nearest": []}
    assert not fine.is_error
    assert [seen[0] for seen in bench.playground.seen] == ["t0001"]


@pytest.mark.promise("healing-fallback")
@pytest.mark.promise("field-o42-fallback")
async def test_stand_ins_are_described_to_those_who_may_see_them() -> None:
    bench = await with_profile(ProfileRecord("mine", groups=("post",), mode=EndpointMode.DYNAMIC))
    scope = RuleScope.parse("tool:post/t0001")
    rules = CallRules(equivalents=("post/t0000", "play/echo"))
    await bench.catalogue.change(lambda _: [PutRules(RulesRecord(scope, rules))])
    # The main endpoint lists few tools natively unless it is told to be dynamic.
    whole = ProfileRecord("whole", mode=EndpointMode.DYNAMIC)
    await bench.catalogue.change(lambda _: [PutProfile(whole)])
    wish = {"names": ["post/t0001"]}
    seen = []
    async with over_http(bench.servers()) as url:
        for profile in ("mine", "whole"):
            async with Client(f"{url}/profile/{profile}") as client:
                answer = await client.call_tool("describe_tools", wish)
            (described,) = (answer.structured_content or {})["tools"]
            seen.append([one["tool"] for one in described["equivalents"]])
    assert seen == [["post/t0000"], ["post/t0000", "play/echo"]]


@both_eras
@pytest.mark.promise("endpoint-profiles")
async def test_a_profile_that_is_taken_away_shows_nothing_any_more(mode: str) -> None:
    bench = await with_profile(ProfileRecord("mine", mode=EndpointMode.FULL))
    mine = Endpoint(EndpointKind.PROFILE, "mine")
    async with Client(bench.server(endpoint=mine), mode=mode) as client:
        before = await client.list_tools()
        await bench.catalogue.change(lambda _: [DropProfile("mine")])
        after = await client.list_tools(cache_mode="bypass")
        called = await client.call_tool("play__echo", {})
    assert "play__echo" in names(before.tools)
    assert names(after.tools) == META
    assert called.is_error
