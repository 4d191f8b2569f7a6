"""The endpoint of one group: its tools under the names that their sources gave them, no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ToolListChangedNotification

from tests.adapters.surfaces.bench import TOOLS, Bench
from tests.adapters.surfaces.doors import MODERN, over_http
from toolcrib_adapters.surfaces.endpoints import Endpoint, EndpointKind
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_registry.changes import DropGroup, DropSource, PutGroup
from toolcrib_registry.records import GroupRecord

if TYPE_CHECKING:
    from mcp.client.session import MessageHandlerFnT

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.permissions import Caller

PLAY = Endpoint(EndpointKind.GROUP, "play")
both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


def tool(name: str, text: str = "") -> JsonObject:
    return {"name": name, "description": text, "inputSchema": {"type": "object"}}


@both_eras
@pytest.mark.promise("endpoint-group-list")
async def test_a_group_is_listed_and_called_by_the_names_its_source_gave(mode: str) -> None:
    bench = await Bench.open()
    await bench.add("post", (tool("stamp"),))
    async with over_http(bench.servers()) as url, Client(f"{url}/play", mode=mode) as client:
        listed = await client.list_tools()
        answer = await client.call_tool("echo", {"id": 7})
        by_published_name = await client.call_tool("play__echo", {"id": 8})
        instructions = client.instructions
    assert [t.name for t in listed.tools] == sorted(str(t["name"]) for t in TOOLS)
    assert answer.structured_content == {"id": 7}
    assert by_published_name.structured_content == {"id": 8}
    assert instructions == "Toys for tests. Not for work."


@both_eras
@pytest.mark.promise("endpoint-one-visibility")
async def test_what_is_outside_a_group_is_unknown_at_its_endpoint(mode: str) -> None:
    bench = await Bench.open()
    await bench.add("post", (tool("echoes"),))
    async with Client(bench.server(endpoint=PLAY), mode=mode) as client:
        for name in ("post__echoes", "post/echoes", "echoes", "search_tools"):
            answer = await client.call_tool(name, {})
            assert answer.is_error
            error = (answer.meta or {})["io.toolcrib/error"]
            assert error["code"] == "unknown_tool"
            assert not [n for n in error.get("details", {}).get("nearest", []) if n not in NAMES]
    assert bench.playground.seen == []


NAMES = [str(t["name"]) for t in TOOLS]


@pytest.mark.promise("endpoint-group-list")
async def test_of_two_tools_with_one_name_the_one_at_home_keeps_it() -> None:
    bench = await Bench.open()
    await bench.add("post", (tool("echo"), tool("stamp")))
    await bench.add("fax", (tool("stamp"),))
    members = (ToolId("post", "stamp"), ToolId("fax", "stamp"), ToolId("post", "echo"))
    group = GroupRecord("play", "Play", members=members, refuses_unknown_arguments=False)
    await bench.catalogue.change(lambda _: [PutGroup(group)])
    async with Client(bench.server(endpoint=PLAY), mode=MODERN) as client:
        listed = await client.list_tools()
        await client.call_tool("stamp", {})
        facts = [
            ((await client.call_tool(name, {})).meta or {})["io.toolcrib/tool"]
            for name in ("echo", "stamp", "fax__stamp", "post__echo")
        ]
    assert sorted({t.name for t in listed.tools} - set(NAMES)) == [
        "fax__stamp",
        "post__echo",
        "stamp",
    ]
    assert facts == [
        "play/echo@1.0.0",
        "post/stamp@1.0.0",
        "fax/stamp@1.0.0",
        "post/echo@1.0.0",
    ]


@both_eras
@pytest.mark.promise("endpoint-unknown-404")
async def test_a_group_there_is_not_is_refused_with_the_nearest_names(mode: str) -> None:
    bench = await Bench.open()
    async with over_http(bench.servers()) as url:
        # The client's own task group wraps what it was told.
        with pytest.raises(ExceptionGroup) as refusal:
            async with Client(f"{url}/pley", mode=mode):
                raise AssertionError("there is no such endpoint")
        async with httpx2.AsyncClient() as http:
            answers = [await http.post(f"{url}/{p}", json={}) for p in ("%C3%A9t%20e", "a/b/c")]
            foreign = await http.post(f"{url}/pley", json={}, headers={"host": "evil.example"})
    assert refusal.group_contains(MCPError, match="called 'pley'; did you mean play", depth=None)
    for answer in answers:
        assert answer.status_code == 404
        assert answer.json()["error"]["data"]["code"] == "unknown_group"
    assert foreign.status_code == 421
    assert "play" not in foreign.text


@both_eras
@pytest.mark.promise("endpoint-unknown-404")
async def test_a_group_that_appears_later_is_served_then(mode: str) -> None:
    bench = await Bench.open()
    async with over_http(bench.servers()) as url:
        async with httpx2.AsyncClient() as http:
            before = await http.post(f"{url}/post", json={}, headers={"accept": "*/*"})
        await bench.add("post", (tool("stamp"),))
        async with Client(f"{url}/post", mode=mode) as client:
            listed = await client.list_tools()
    assert before.status_code == 404
    assert [t.name for t in listed.tools] == ["stamp"]


@both_eras
@pytest.mark.promise("endpoint-unknown-404")
async def test_a_group_that_is_removed_is_refused_to_those_who_are_connected(mode: str) -> None:
    bench = await Bench.open()
    async with over_http(bench.servers()) as url, Client(f"{url}/play", mode=mode) as client:
        await client.list_tools()
        await bench.add("play", ())
        await bench.catalogue.change(lambda _: [DropSource("play"), DropGroup("play")])
        with pytest.raises(MCPError, match="no group is called 'play'"):
            await client.call_tool("echo", {})


@pytest.mark.promise("surface-stable-list")
async def test_clients_of_a_group_hear_of_its_changes_and_of_no_others() -> None:
    bench = await Bench.open()
    await bench.add("post", (tool("stamp"),))
    heard: dict[str, list[object]] = {"play": [], "post": []}

    def ear(group: str) -> MessageHandlerFnT:
        async def note(message: object) -> None:
            if isinstance(message, ToolListChangedNotification):
                heard[group].append(message)

        return note

    servers = bench.servers()
    post = Endpoint(EndpointKind.GROUP, "post")
    async with (
        Client(servers.at(PLAY), mode="legacy", message_handler=ear("play")) as play,
        Client(servers.at(post), mode="legacy", message_handler=ear("post")),
    ):
        await bench.add("post", (tool("stamp"), tool("seal")))
        await bench.add("post", (tool("stamp"), tool("seal"), tool("weigh")))
        with anyio.fail_after(20):
            while not heard["post"]:
                await play.call_tool("echo", {})
        await bench.add("play", (tool("echo"),))
        with anyio.fail_after(20):
            while not heard["play"]:
                await play.call_tool("echo", {})
    assert len(heard["play"]) == 1


class _NotPlay:
    def allows(self, caller: Caller, tool: ToolId) -> bool:
        return tool.group != "play"


@pytest.mark.promise("endpoint-one-visibility")
async def test_a_group_whose_tools_the_caller_may_not_use_is_not_named() -> None:
    bench = await Bench.open()
    await bench.add("plain", (tool("t"),))
    with pytest.raises(ToolError) as refusal:
        bench.servers(_NotPlay()).at(Endpoint(EndpointKind.GROUP, "plays"))
    assert refusal.value.details == {"nearest": ["plain"]}


@pytest.mark.promise("endpoint-group-list")
async def test_a_name_that_is_taken_twice_over_still_leaves_every_tool_a_name_of_its_own() -> None:
    bench = await Bench.open()
    await bench.add("post", (tool("stamp"),))
    await bench.add("play", (tool("stamp"), tool("post__stamp")))
    group = GroupRecord("play", "Play", members=(ToolId("post", "stamp"),))
    await bench.catalogue.change(lambda _: [PutGroup(group)])
    async with Client(bench.server(endpoint=PLAY), mode=MODERN) as client:
        names = [t.name for t in (await client.list_tools()).tools]
        facts = [
            ((await client.call_tool(name, {})).meta or {})["io.toolcrib/tool"] for name in names
        ]
    assert len(names) == 3
    assert sorted(str(fact) for fact in facts) == [
        "play/post__stamp@1.0.0",
        "play/stamp@1.0.0",
        "post/stamp@1.0.0",
    ]
