"""Cancellation and progress between the caller and the upstream, in all pairs of generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from tests.adapters.surfaces.doors import over_http, post, raw_request
from tests.adapters.surfaces.interaction.counter import (
    CALLERS,
    UPSTREAMS,
    Counter,
    Noted,
    Person,
    client_at,
    client_of,
    counter,
)
from tests.adapters.surfaces.old_client import HELLO, old_client

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

PATIENCE = 30


async def cancelled(made: Counter) -> list[Any]:
    """The calls that the upstream saw cancelled, as soon as there is one."""
    with anyio.fail_after(PATIENCE):
        while not (calls := (await made.seen())["cancelled"]):
            await anyio.lowlevel.checkpoint()
    return list(calls)


@pytest.mark.promise("field-o22-cancel")
@pytest.mark.parametrize(
    ("caller", "upstream", "through"),
    [
        *((caller, upstream, "direct") for caller in CALLERS for upstream in UPSTREAMS),
        *((caller, "http legacy", "call_tool") for caller in CALLERS),
    ],
)
async def test_a_cancelled_call_is_cancelled_at_the_upstream_under_its_own_id(
    caller: str, upstream: str, through: str
) -> None:
    arguments: JsonObject = {"who": "me"}
    name: str = "desk__wait"
    if through == "call_tool":
        name, arguments = "call_tool", {"name": name, "arguments": arguments}
    person, noted = Person(), Noted()
    async with counter(upstream) as made, client_of(made.server(), caller, person) as client:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await client.call_tool(name, arguments, progress_callback=noted.note)

            tasks.start_soon(call)
            with anyio.fail_after(PATIENCE):
                await noted.came.wait()
            tasks.cancel_scope.cancel()
        (call_seen,) = await cancelled(made)
    assert call_seen["who"] == "me"
    # Ours are counted from 1,000, so it is none of the caller's.
    assert call_seen["id"] >= 1_000


@pytest.mark.promise("field-o22-cancel")
@pytest.mark.parametrize("upstream", ["stdio", "http legacy"])
async def test_a_cancelled_list_of_calls_cancels_every_one(upstream: str) -> None:
    calls = [{"name": "desk__wait", "arguments": {"who": who}} for who in "ab"]
    async with counter(upstream) as made, over_http(made.server()) as url:
        async with client_at(url, "legacy", None) as client:
            with anyio.move_on_after(1.0):
                await client.call_tool("call_tool", {"calls": calls})
        seen: list[Any] = []
        with anyio.fail_after(PATIENCE):
            while len(seen) < len(calls):
                seen = await cancelled(made)
    assert {call["who"] for call in seen} == {"a", "b"}


@pytest.mark.promise("field-o22-disconnect")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("generation", ["modern", "legacy"])
async def test_the_call_of_a_client_that_left_is_cancelled_at_the_upstream(
    generation: str, upstream: str
) -> None:
    params: JsonObject = {
        "name": "desk__wait",
        "arguments": {"who": "gone"},
        "_meta": {"progressToken": "p-9"},
    }
    async with counter(upstream) as made, over_http(made.server()) as url:
        if generation == "modern":
            async with httpx2.AsyncClient(timeout=PATIENCE) as http:
                await _leave_after_progress(http, url, raw_request("tools/call", params, 7))
        else:
            async with old_client(url) as client:
                request: JsonObject = {
                    "jsonrpc": "2.0",
                    "id": 7,
                    "method": "tools/call",
                    "params": params,
                }
                await _leave_after_progress(client.http, url, request)
        assert [call["who"] for call in await cancelled(made)] == ["gone"]


async def _leave_after_progress(http: httpx2.AsyncClient, url: str, request: JsonObject) -> None:
    """Open the stream of a call, read the caller's own token on it, and hang up."""
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-method": "tools/call",
        "mcp-name": "desk__wait",
    }
    if "mcp-protocol-version" not in http.headers:
        headers["mcp-protocol-version"] = "2026-07-28"
    async with http.stream("POST", url, json=request, headers=headers) as response:
        async for line in response.aiter_lines():
            if "notifications/progress" in line:
                assert '"progressToken":"p-9"' in line
                return
    raise AssertionError("the stream ended without progress")


@pytest.mark.promise("field-o22-progress")
async def test_a_caller_that_did_not_ask_for_progress_gets_none() -> None:
    async with counter("stdio") as made, over_http(made.server()) as url:
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            request = raw_request("tools/call", {"name": "desk__quiet", "arguments": {}})
            answer = await post(http, url, request)
        assert answer.headers["content-type"] == "application/json"
        seen = await made.seen()
    assert seen["tokens"] == [None]


@pytest.mark.promise("interaction-withdrawn")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_a_question_of_a_cancelled_call_is_withdrawn(upstream: str) -> None:
    person = Person(waits=True)
    async with counter(upstream) as made, client_of(made.server(), "legacy", person) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "desk__ask", {"questions": ["form"]})
            with anyio.fail_after(PATIENCE):
                await person.reached.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(PATIENCE):
            await person.withdrawn.wait()


@pytest.mark.promise("field-o22-cancel")
@pytest.mark.parametrize("upstream", ["stdio", "http legacy"])
async def test_a_cancelled_request_of_an_older_session_ends_without_a_result(upstream: str) -> None:
    """Over HTTP its stream has to end, with the error that the SDK has for it; no result comes."""
    params: JsonObject = {"name": "desk__wait", "_meta": {"progressToken": 5}}
    request: JsonObject = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    told: list[str] = []
    async with (
        counter(upstream) as made,
        over_http(made.server()) as url,
        old_client(url) as client,
    ):
        with anyio.fail_after(PATIENCE):
            async with client.http.stream("POST", url, json=request) as response:
                async for line in response.aiter_lines():
                    told.append(line)
                    if "notifications/progress" in line:
                        await client.tell("notifications/cancelled", {"requestId": 7})
        assert len(await cancelled(made)) == 1
        after = await client.call(8, "desk__quiet", {})
    (last,) = [line for line in told if '"id":7' in line]
    assert "Request cancelled" in last
    assert after["id"] == 8


@pytest.mark.promise("field-o22-cancel")
async def test_a_cancelled_request_over_one_pipe_gets_no_answer_at_all() -> None:
    told: list[Any] = []
    async with counter("stdio") as made, create_client_server_memory_streams() as (ours, theirs):
        server = made.server()
        read, write = ours
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run, *theirs, server.create_initialization_options())

            async def send(**message: Any) -> None:
                parsed = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})
                await write.send(SessionMessage(parsed))

            await send(id=1, method="initialize", params=HELLO["params"])
            await send(method="notifications/initialized")
            call = {"name": "desk__wait", "_meta": {"progressToken": "p-9"}}
            await send(id="c-1", method="tools/call", params=call)
            with anyio.fail_after(PATIENCE):
                async for item in read:
                    assert isinstance(item, SessionMessage)
                    message = item.message.model_dump(by_alias=True, exclude_unset=True)
                    told.append(message)
                    if message.get("method") == "notifications/progress":
                        assert message["params"]["progressToken"] == "p-9"
                        await send(method="notifications/cancelled", params={"requestId": "c-1"})
                        assert len(await cancelled(made)) == 1
                        await send(id=2, method="ping")
                    if message.get("id") == 2:
                        break
            tasks.cancel_scope.cancel()
    assert [message["id"] for message in told if "id" in message] == [1, 2]
