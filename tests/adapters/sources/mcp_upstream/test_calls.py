"""Calls: cancelled, timed out, with progress, and what a server may not do to them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from tests.adapters.sources.listening_host import running
from tests.adapters.sources.mcp_upstream.bay import Bay, BayHost, bay, http_server, upstream
from tests.fake_upstreams import line_server, sdk_server
from toolcrib_adapters.sources.mcp_upstream.backoff import pause_seconds
from toolcrib_protocol.errors import (
    NEEDS_INPUT,
    SOURCE_UNAVAILABLE,
    TOOL_TIMED_OUT,
    ErrorKind,
    ToolError,
)
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.ports import Progress, SourceStatus

if TYPE_CHECKING:
    from tests.fake_upstreams import FakeServer
    from toolcrib_protocol.json_value import Json, JsonObject


async def said(made: Bay) -> list[JsonObject]:
    """Every message that the line server has got."""
    messages = (await made.facts("heard"))["heard"]
    assert isinstance(messages, list)
    return [message for message in messages if isinstance(message, dict)]


async def heard(made: Bay, method: str) -> list[Json]:
    """The parameters of every message of that method."""
    return [m["params"] for m in await said(made) if m.get("method") == method]


async def waiting(made: Bay) -> int:
    """How many calls of `wait` the line server has got."""
    calls = await heard(made, "tools/call")
    return sum(isinstance(call, dict) and call["name"] == "wait" for call in calls)


@pytest.mark.promise("mcp-cancel-and-progress")
@pytest.mark.promise("mcp-calls-independent")
async def test_cancelling_a_call_cancels_it_at_the_server_and_no_other() -> None:
    async with bay(line_server()) as made, anyio.create_task_group() as others:
        others.start_soon(made.call, "wait")
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(made.call, "wait")
                while await waiting(made) < 2:
                    await anyio.lowlevel.checkpoint()
                scope.cancel()
        (cancelled,) = await heard(made, "notifications/cancelled")
        assert isinstance(cancelled, dict)
        assert isinstance(cancelled["requestId"], int)
        assert (await made.call("echo", a=1)).data == {"a": 1}
        others.cancel_scope.cancel()


@pytest.mark.promise("mcp-cancel-and-progress")
@pytest.mark.parametrize("mode", ["http", "http-legacy", "sse"])
async def test_cancelling_a_call_cancels_it_at_a_server_at_an_address(mode: str) -> None:
    transport = "sse" if mode == "sse" else "http"
    async with http_server(mode) as server, bay(server.spec(transport)) as made:
        with pytest.raises(ToolError) as told:
            await made.call("wait", limit=0.5, who="me")
        assert told.value.code == TOOL_TIMED_OUT
        with anyio.fail_after(30):
            while (await made.facts("cancelled"))["cancelled"] != ["me"]:
                await anyio.lowlevel.checkpoint()


@pytest.mark.promise("mcp-calls-independent")
async def test_a_call_over_its_time_limit_says_that_it_may_have_run() -> None:
    async with bay(line_server()) as made:
        with pytest.raises(
            ToolError, match=r"no answer within 0\.05 s; the call may have run"
        ) as e:
            await made.call("wait", limit=0.05)
        assert (e.value.code, e.value.kind) == (TOOL_TIMED_OUT, ErrorKind.RETRYABLE)
        assert len(await heard(made, "notifications/cancelled")) == 1


@pytest.mark.promise("mcp-cancel-and-progress")
@pytest.mark.parametrize("server", [line_server, sdk_server])
async def test_progress_reaches_who_asked_for_it(server: FakeServer) -> None:
    told: list[Progress] = []
    complete = anyio.Event()

    async def keep(progress: Progress) -> None:
        told.append(progress)
        if len(told) == 3:
            complete.set()

    async with bay(server()) as made:
        await made.call("progress", on_progress=keep, steps=3)
        with anyio.fail_after(30):
            await complete.wait()
    assert told == [Progress(n, 3, f"step {n}") for n in range(3)]


@pytest.mark.promise("mcp-cancel-and-progress")
async def test_no_progress_is_asked_for_where_nobody_wants_it() -> None:
    async with bay(line_server()) as made:
        assert await made.facts("progress", steps=3) == {"token_given": False}


@pytest.mark.promise("mcp-calls-independent")
async def test_a_server_can_neither_cancel_a_call_nor_get_an_answer_from_nobody() -> None:
    async with bay(line_server()) as made:
        asked = await made.call("ask")
        assert asked.error is not None
        assert asked.error.code == NEEDS_INPUT
        refusals = [m for m in await said(made) if m.get("id") == "q1"]
        assert [list(m) for m in refusals] == [["jsonrpc", "id", "error"]]
        assert (await made.call("echo", a=1)).data == {"a": 1}


async def test_a_call_waits_for_a_connection_no_longer_than_it_may() -> None:
    clock, host = HandClock(), BayHost()
    made = Bay(upstream(line_server(), clock), host, clock)
    # Nobody runs the source, so there will be no connection.
    with pytest.raises(ToolError, match=r"still connecting after 0\.05 s; nothing was called") as e:
        await made.call("echo", limit=0.05)
    assert (e.value.code, e.value.kind) == (SOURCE_UNAVAILABLE, ErrorKind.RETRYABLE)


@pytest.mark.promise("field-secrets-by-reference")
async def test_a_variable_that_is_not_set_stops_its_source_and_names_only_itself() -> None:
    spec = line_server(env={"KEY": "prefix-${SET}-${UNSET_KEY}"})
    async with bay(spec, {"SET": "s3cret-value"}) as made:
        assert made.state.status is SourceStatus.FAILED
        assert made.state.retry_at is None
        assert made.state.reason == (
            "the environment variable UNSET_KEY is not set; set it, or write ${UNSET_KEY:-default}"
        )
        with pytest.raises(ToolError, match="UNSET_KEY is not set"):
            await made.call("echo")
        made.clock.advance(3_600)
        await anyio.wait_all_tasks_blocked()
        assert [state.status for state in made.host.states] == [
            SourceStatus.CONNECTING,
            SourceStatus.FAILED,
        ]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"transport": "carrier pigeon"}, "their top"),
        ({"transport": "stdio"}, "stdio.command"),
        ({"transport": "stdio", "command": "x", "args": "x y"}, "stdio.args"),
        ({"transport": "http", "url": "ftp://example.org"}, "http.url"),
        ({"transport": "http", "url": "http://example.org", "header": {}}, "http.header"),
    ],
)
async def test_settings_that_are_wrong_name_the_place(spec: JsonObject, told: str) -> None:
    async with bay(spec) as made:
        assert made.state.status is SourceStatus.FAILED
        assert f"the settings of the source are wrong at {told}" in made.state.reason


@pytest.mark.promise("mcp-states")
async def test_pauses_grow_with_every_failure() -> None:
    clock, host = HandClock(), BayHost()
    source = upstream({**line_server(), "command": "no-such-command"}, clock)
    pauses = []
    async with running(source, host):
        for _ in range(8):
            state = await host.settled()
            before = clock.now()
            assert state.retry_at is not None
            await clock.sleeper()
            clock.advance(60)
            pauses.append((state.retry_at, before))
    seconds = [pause_seconds(n, 0.5) for n in range(8)]
    assert seconds == [pytest.approx(0.075), 0.1875, 0.375, 0.75, 1.5, 3, 6, 12]
    assert len({retry for retry, _ in pauses}) == 8


def test_pauses_differ_from_source_to_source_and_end_at_a_minute() -> None:
    dice = random.Random(1)
    rolled = {pause_seconds(20, dice.random()) for _ in range(50)}
    assert len(rolled) == 50
    assert min(rolled) >= 30
    assert max(rolled) <= 60
