"""What a server lists: read raw, to the end, and again when it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.adapters.sources.listening_host import running
from tests.adapters.sources.mcp_upstream.bay import (
    PATIENCE,
    Bay,
    BayHost,
    bay,
    names,
    upstream,
)
from tests.fake_upstreams import line_server, sdk_server
from toolcrib_protocol.errors import INVALID_ARGUMENTS, STORE_BUSY, ErrorKind, ToolError
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fake_upstreams import FakeServer
    from toolcrib_protocol.json_value import Json

ODD: list[Json] = [
    {"name": "good", "inputSchema": {"type": "object"}, "stray": [1, None]},
    {"name": "a", "inputSchema": {}},
    {"name": "b", "inputSchema": None},
    {"name": "c", "inputSchema": {"type": "string"}},
    {"inputSchema": {"type": "object"}},
    {"name": 7, "outputSchema": {"type": "array"}, "description": {"no": "text"}},
    "not even an object",
    None,
]


async def after_settling(made: Bay, number: int) -> Sequence[object]:
    """Listing `number`, after the moment in which notices gather."""
    await made.pass_time(0.25)
    return await made.host.listing(number)


async def once_more_if_listened_to(made: Bay, server: object) -> None:
    """What changed before a server could tell it is looked for once."""
    if server is sdk_server:
        await after_settling(made, 2)


@pytest.mark.promise("mcp-raw-lists")
async def test_odd_entries_arrive_as_they_were_sent() -> None:
    async with bay(line_server({"tools": ODD})) as made:
        assert list(made.host.listings[0].entries) == ODD


@pytest.mark.promise("mcp-raw-lists")
@pytest.mark.parametrize("cursor", [None, "empty"])
async def test_every_page_is_read(cursor: Json) -> None:
    entries: list[Json] = [{"name": f"t{n}"} for n in range(101)]
    script: dict[str, Json] = {"tools": entries, "page_size": 50, "cursor": cursor}
    async with bay(line_server(script)) as made:
        assert list(made.host.listings[0].entries) == entries


@pytest.mark.promise("mcp-raw-lists")
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ({"cursor": "loop"}, "gives the cursor '1' again and would never end"),
        ({"cursor": "endless", "page_size": 1}, "more than 1,000 pages"),
        ({"tools": [{}] * 11_000, "cursor": "endless"}, "more than 100,000 entries"),
    ],
)
async def test_a_list_that_would_never_end_is_given_up(script: dict[str, Json], told: str) -> None:
    async with bay(line_server(script)) as made:
        assert made.state.status is SourceStatus.FAILED
        assert told in made.state.reason
        assert made.host.listings == []


async def test_a_page_that_is_no_list_is_refused() -> None:
    async with bay(line_server({"page": {"a": 1}})) as made:
        assert made.state.status is SourceStatus.FAILED
        assert made.state.reason == "a page of tools/list has no list of tools"


async def test_a_server_without_tools_lists_nothing() -> None:
    async with bay(line_server({"capabilities": {"prompts": {}}})) as made:
        assert made.state.status is SourceStatus.READY
        assert made.host.listings[0].entries == ()


@pytest.mark.promise("mcp-raw-lists")
async def test_a_list_that_fails_at_first_is_asked_for_again() -> None:
    async with bay(line_server({"list_error": 1})) as made:
        assert made.state.status is SourceStatus.FAILED
        assert made.state.reason == "the server refused: the shelf is locked"
        assert made.host.listings == []


@pytest.mark.promise("mcp-list-changes")
@pytest.mark.parametrize("server", [line_server, sdk_server])
async def test_changes_that_a_server_tells_are_read_each_time(server: FakeServer) -> None:
    async with bay(server()) as made:
        await once_more_if_listened_to(made, server)
        for name in ["first", "second", "third"]:
            await made.call("add", name=name)
            entries = await after_settling(made, len(made.host.listings) + 1)
            assert names(entries)[-1] == name


@pytest.mark.promise("mcp-list-changes")
async def test_a_list_is_read_again_from_time_to_time() -> None:
    async with bay(line_server()) as made:
        await made.clock.sleeper(300)
        made.clock.advance(299)
        await made.pass_time(1)
        assert len(await after_settling(made, 2)) == len(made.host.listings[0].entries)


@pytest.mark.promise("mcp-list-changes")
async def test_a_list_that_says_how_long_it_holds_is_left_alone_so_long() -> None:
    async with bay(sdk_server()) as made:
        await once_more_if_listened_to(made, sdk_server)
        await made.clock.sleeper(900)
        made.clock.advance(899)
        await made.call("echo")
        assert len(made.host.listings) == 2
        await made.pass_time(1)
        await after_settling(made, 3)


@pytest.mark.promise("mcp-list-changes")
@pytest.mark.parametrize(
    ("server", "code"), [(line_server, INVALID_ARGUMENTS), (sdk_server, "tool_failed")]
)
async def test_a_tool_that_the_server_does_not_know_makes_the_list_be_read_again(
    server: FakeServer,
    code: str,
) -> None:
    async with bay(server()) as made:
        await once_more_if_listened_to(made, server)
        try:
            error = (await made.call("gone")).error
        except ToolError as raised:
            error = raised
        assert error is not None
        assert error.code == code
        assert "Unknown tool: gone" in error.message
        await after_settling(made, len(made.host.listings) + 1)


async def test_a_catalogue_that_is_busy_gets_the_list_a_little_later() -> None:
    busy = ToolError(STORE_BUSY, "another writer", ErrorKind.RETRYABLE)
    clock, host = HandClock(), BayHost()
    made = Bay(upstream(line_server(), clock), host, clock)
    async with running(made.source, host):
        made.state = await host.settled()
        host.refuse(busy)
        await made.call("add", name="more")
        await made.pass_time(0.25)
        state = await host.settled()
        assert state.status is SourceStatus.READY
        assert state.reason == "the tools could not be listed again: another writer"
        await made.pass_time(15)
        await after_settling(made, 2)
        assert (await host.settled()).reason == ""


@pytest.mark.promise("refresh-now")
async def test_a_connected_server_is_asked_for_its_list_when_that_is_wished() -> None:
    async with bay(line_server()) as made, anyio.create_task_group() as tasks:
        tasks.start_soon(made.source.look_again)
        assert await after_settling(made, 2) == made.host.listings[0].entries


@pytest.mark.promise("refresh-now")
async def test_a_server_that_is_away_is_connected_at_once_when_its_list_is_wished() -> None:
    async with bay({"transport": "stdio", "command": "no-such-command"}) as made:
        assert made.state.retry_at is not None
        with anyio.fail_after(PATIENCE):
            await made.source.look_again()
        assert (await made.host.settled()).status is SourceStatus.FAILED


async def test_a_server_whose_settings_are_wrong_answers_at_once() -> None:
    async with bay({"transport": "stdio", "command": "${NOT_SET}"}, {}) as made:
        with anyio.fail_after(PATIENCE):
            await made.source.look_again()
        assert len(made.host.states) == 2


@pytest.mark.promise("unruly-lists")
async def test_a_list_that_changes_again_and_again_is_read_ever_more_rarely() -> None:
    async with bay(line_server()) as made:
        for number in range(2, 7):
            await made.call("add", name=f"free {number}")
            await after_settling(made, number)
        for number, pause in enumerate([1, 2, 4, 8, 16, 32, 60], 7):
            await made.call("add", name=f"churn {number}")
            await made.clock.sleeper(pause)
            made.clock.advance(pause - 0.5)
            assert len(made.host.listings) == number - 1
            await made.pass_time(0.5)
            await after_settling(made, number)


@pytest.mark.promise("unruly-lists")
async def test_who_asks_for_a_list_that_changes_too_often_gets_it_at_once() -> None:
    async with bay(line_server()) as made:
        for number in range(2, 10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(made.source.look_again)
                await after_settling(made, number)
