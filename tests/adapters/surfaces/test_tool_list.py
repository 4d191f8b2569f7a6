"""The tool list: small, the same for all who see the same groups, announced when it changes."""

from __future__ import annotations

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import ToolListChangedNotification

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import (
    MODERN,
    over_http,
)
from toolcrib_protocol.budget import estimate_tokens
from toolcrib_protocol.json_value import Json, JsonObject, dump_json


@pytest.mark.promise("surface-stable-list")
async def test_the_list_may_be_kept_by_its_caller_alone_and_stays_the_same() -> None:
    bench = await Bench.open()
    async with Client(bench.server(), mode=MODERN) as client:
        first = await client.list_tools()
        await client.call_tool("play__echo", {})
        second = await client.list_tools(cache_mode="bypass")
    assert (first.cache_scope, first.ttl_ms) == ("private", 60_000)
    assert first.tools == second.tools


async def test_a_cursor_of_a_list_that_is_gone_is_refused() -> None:
    bench = await Bench.open()
    async with Client(bench.server(), mode=MODERN) as client:
        with pytest.raises(MCPError, match="list again from the start"):
            await client.list_tools(cursor="bm9uc2Vuc2U6MQ==")


@pytest.mark.promise("surface-token-budget")
async def test_the_three_tools_fit_their_share_of_the_budget_with_hundreds_of_groups() -> None:
    bench = await Bench.open()
    for number in range(120):
        tool: JsonObject = {"name": "t", "inputSchema": {"type": "object"}}
        await bench.add(f"group-{number:03}", (tool,), description="What this group is for. " * 20)
    async with Client(bench.server(), mode=MODERN) as client:
        listed = await client.list_tools()
    definitions: list[Json] = [
        {"name": t.name, "description": t.description, "parameters": t.input_schema}
        for t in listed.tools
    ]
    # Estimates err on the high side: the o200k count of these definitions is about 730.
    assert estimate_tokens(dump_json(definitions)) <= 1_100


@pytest.mark.promise("surface-stable-list")
async def test_modern_clients_hear_of_a_new_group_and_of_nothing_else() -> None:
    bench = await Bench.open()
    async with over_http(bench.server()) as url, Client(url, mode=MODERN) as client:
        with anyio.fail_after(20):
            async with client.listen(tools_list_changed=True) as events:
                again: JsonObject = {
                    "name": "echo",
                    "description": "new",
                    "inputSchema": {"type": "object"},
                }
                await bench.add("post", (again,), description="Letters.")
                assert isinstance(await anext(aiter(events)), ToolsListChanged)
        listed = await client.list_tools(cache_mode="bypass")
    assert "- post (1): Letters." in (listed.tools[0].description or "")


@pytest.mark.parametrize("transport", ["memory", "http"])
@pytest.mark.promise("surface-stable-list")
async def test_older_clients_hear_of_a_new_group_on_their_session(transport: str) -> None:
    bench = await Bench.open()
    heard = anyio.Event()

    async def note(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    async def add_and_wait(client: Client) -> None:
        tools = client.server_capabilities.tools
        assert tools is not None
        assert tools.list_changed
        with anyio.fail_after(20):
            tool: JsonObject = {"name": "t", "inputSchema": {"type": "object"}}
            await bench.add("post", (tool,))
            await heard.wait()

    if transport == "memory":
        async with Client(bench.server(), mode="legacy", message_handler=note) as client:
            await add_and_wait(client)
    else:
        async with (
            over_http(bench.server()) as url,
            Client(url, mode="legacy", message_handler=note) as client,
        ):
            await add_and_wait(client)


@pytest.mark.promise("surface-stable-list")
async def test_a_change_that_callers_do_not_see_is_not_announced() -> None:
    bench = await Bench.open()
    heard: list[object] = []

    async def note(message: object) -> None:
        heard.append(message)

    async with Client(bench.server(), mode="legacy", message_handler=note) as client:
        tool: JsonObject = {"name": "t", "inputSchema": {"type": "object"}}
        await bench.add("post", (tool,), "Letters.")
        described: JsonObject = {**tool, "description": "the group stays as it is"}
        await bench.add("post", (described,), "Letters.")
        while not heard:
            await client.call_tool("play__echo", {})
        await bench.add("post", (tool,), "Letters.")
        await bench.add("last", (tool,), "Ends the test.")
        while len(heard) < 2:
            await client.call_tool("play__echo", {})
    assert len(heard) == 2
