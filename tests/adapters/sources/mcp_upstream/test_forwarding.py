"""What of a caller's own headers goes up to a server: what is listed, one caller's at a time."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from tests.adapters.sources.mcp_upstream.bay import PATIENCE, Bay, Server, bay, http_server
from toolcrib_adapters.sources.mcp_upstream.apart import IDLE_SECONDS
from toolcrib_adapters.sources.mcp_upstream.spec import read_spec
from toolcrib_protocol.errors import AT_CAPACITY, INVALID_ARGUMENTS, NEEDS_SIGN_IN, ToolError
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext, SourceStatus

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

FORWARD: JsonObject = {"X-Up-Token": "Authorization", "X-Trace": "X-Trace"}
MODES = ["http", "http-legacy", "sse"]


def at(server: Server, mode: str, **settings: Json) -> JsonObject:
    """The settings of a source there that forwards headers."""
    transport = "sse" if mode == "sse" else "http"
    return server.spec(transport, forward_headers=FORWARD, **settings)


async def called(made: Bay, name: str, headers: dict[str, str], **arguments: Json) -> JsonObject:
    """The structured answer of a tool, called with these headers of the caller."""
    context = CallContext(30, LOCAL_CALLER, caller_headers=headers)
    with anyio.fail_after(PATIENCE):
        data = (await made.source.call(name, arguments, context)).data
    assert isinstance(data, dict)
    return data


async def sent(made: Bay, headers: dict[str, str]) -> dict[str, str]:
    """The headers that the server got with such a call."""
    got = (await called(made, "request", headers))["headers"]
    assert isinstance(got, dict)
    return {name: str(value) for name, value in got.items()}


@pytest.mark.promise("ledger-key-travels")
@pytest.mark.parametrize("mode", ["http", "http-legacy"])
async def test_a_header_of_the_cribs_own_goes_up_with_one_request_on_the_common_connection(
    mode: str,
) -> None:
    key = {"Idempotency-Key": "k-1"}
    with_key = CallContext(30, LOCAL_CALLER, caller_headers={"x-trace": "t"}, own_headers=key)
    async with http_server(mode) as server, bay(server.spec()) as made:
        data = (await made.source.call("request", {}, with_key)).data
        plain = await sent(made, {})
        assert len(made.source._personal) == 0
    assert isinstance(data, dict)
    assert isinstance(data["headers"], dict)
    assert data["headers"]["idempotency-key"] == "k-1"
    assert "idempotency-key" not in plain


@pytest.mark.promise("field-o28-forwarding")
@pytest.mark.parametrize("mode", MODES)
async def test_only_listed_headers_go_up_under_their_new_names(mode: str) -> None:
    caller = {
        "authorization": "Bearer GW",
        "cookie": "s=1",
        "x-up-token": "U1",
        "x-trace": "t",
        "x-other": "no",
        "mcp-session-id": "theirs",
    }
    async with http_server(mode) as server:
        settings: JsonObject = {"X-Own": "common", "authorization": "Bearer COMMON"}
        async with bay(at(server, mode, headers=settings)) as made:
            got = await sent(made, caller)
            plain = await sent(made, {"authorization": "Bearer GW", "cookie": "s=1"})
    assert (got["authorization"], got["x-trace"], got["x-own"]) == ("U1", "t", "common")
    for headers in (got, plain):
        assert not {"cookie", "x-up-token", "x-other"} & headers.keys()
        assert "GW" not in str(headers)
        assert headers.get("mcp-session-id") != "theirs"
    # Who brings nothing goes up with what the operator configured.
    assert plain["authorization"] == "Bearer COMMON"


@pytest.mark.promise("field-o28-forwarding")
@pytest.mark.parametrize("mode", MODES)
async def test_callers_at_the_same_time_keep_their_own(mode: str) -> None:
    async with (
        http_server(mode) as server,
        bay(at(server, mode)) as made,
        anyio.create_task_group() as tasks,
    ):
        told: dict[int, tuple[str, str | None]] = {}

        async def ask(number: int) -> None:
            got = await sent(made, {"x-up-token": f"U{number % 3}"})
            told[number] = (got["authorization"], got.get("mcp-session-id"))

        for number in range(12):
            tasks.start_soon(ask, number)
    assert {number: token for number, (token, _) in told.items()} == {
        number: f"U{number % 3}" for number in range(12)
    }
    by_token = dict(told.values())
    if mode == "http-legacy":
        # One session a credential, the same one for all its calls.
        assert len(set(told.values())) == 3
        assert len(set(by_token.values())) == 3


@pytest.mark.promise("field-o28-forwarding")
async def test_a_refused_credential_of_one_caller_leaves_the_others_alone() -> None:
    async with http_server("http", "s3cret-key") as server:
        spec = server.spec(headers={"Authorization": "Bearer s3cret-key"}, forward_headers=FORWARD)
        async with bay(spec) as made:
            with pytest.raises(ToolError) as told:
                await called(made, "request", {"x-up-token": "Bearer wrong-one"})
            assert told.value.code == NEEDS_SIGN_IN
            assert "wrong-one" not in told.value.message
            assert (await called(made, "echo", {}, a=1)) == {"a": 1}
            assert {s.status for s in made.host.states} == {
                SourceStatus.CONNECTING,
                SourceStatus.READY,
            }


@pytest.mark.promise("field-o28-forwarding")
@pytest.mark.parametrize("mode", MODES)
async def test_values_are_written_down_nowhere(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    value = "personal-s3cret-value"
    async with http_server(mode) as server, bay(at(server, mode)) as made:
        await sent(made, {"x-up-token": value})
        with pytest.raises(ToolError) as told:
            await called(made, "trouble", {"x-up-token": value}, kind="jsonrpc")
    assert value not in caplog.text
    assert value not in told.value.message
    assert value not in repr(CallContext(1, LOCAL_CALLER, caller_headers={"x": value}))


@pytest.mark.promise("field-o28-forwarding")
async def test_a_connection_of_one_caller_ends_when_it_is_not_used() -> None:
    async with (
        http_server("http-legacy") as server,
        bay(server.spec(forward_headers=FORWARD, most_connections=2)) as made,
    ):
        first = await sent(made, {"x-up-token": "U1"})
        made.clock.advance(1)
        await sent(made, {"x-up-token": "U2"})
        made.clock.advance(1)
        await sent(made, {"x-up-token": "U3"})
        assert len(made.source._personal) == 2
        # The oldest made room, and comes back with a session of its own.
        again = await sent(made, {"x-up-token": "U1"})
        assert again["mcp-session-id"] != first["mcp-session-id"]
        with anyio.fail_after(PATIENCE):
            while len(made.source._personal):
                await made.pass_time(IDLE_SECONDS / 2)


async def test_more_callers_than_connections_are_told_to_come_back() -> None:
    async with (
        http_server("http-legacy") as server,
        bay(server.spec(forward_headers=FORWARD, most_connections=1)) as made,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(called, made, "wait", {"x-up-token": "U1"})
        with anyio.fail_after(PATIENCE):
            while not len(made.source._personal):
                await anyio.lowlevel.checkpoint()
        with pytest.raises(ToolError, match="nothing was called") as told:
            await called(made, "echo", {"x-up-token": "U2"})
        assert told.value.code == AT_CAPACITY
        tasks.cancel_scope.cancel()


async def test_a_value_that_cannot_be_sent_is_refused() -> None:
    async with http_server("http") as server, bay(server.spec(forward_headers=FORWARD)) as made:
        with pytest.raises(ToolError, match="X-Up-Token") as told:
            await called(made, "echo", {"x-up-token": "\xfc"})
        assert told.value.code == INVALID_ARGUMENTS


@pytest.mark.promise("field-o28-forwarding")
@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"Authorization": "Authorization"}, "the caller's credential for this crib"),
        ({"Cookie": "X-Cookie"}, "the caller's credential for this crib"),
        ({"X-A": "Host"}, "Host belongs to the connection"),
        ({"X-A": "Mcp-Session-Id"}, "Mcp-Session-Id belongs to the connection"),
        ({"X-Forwarded-For": "X-B"}, "X-Forwarded-For belongs to the connection"),
        ({"X-A": "X B"}, "'X B' is not the name of a header"),
        ({"": "X-B"}, "'' is not the name of a header"),
        ({"X-A": "X-C", "X-B": "x-c"}, "two headers would go up as x-c"),
    ],
)
def test_what_must_not_be_forwarded_cannot_be_listed(wanted: JsonObject, words: str) -> None:
    with pytest.raises(ToolError, match="forward_headers") as told:
        read_spec({"transport": "http", "url": "http://x", "forward_headers": wanted})
    assert words in told.value.message


def test_a_process_has_no_headers_to_forward_to() -> None:
    with pytest.raises(ToolError, match="forward_headers"):
        read_spec({"transport": "stdio", "command": "x", "forward_headers": {"X-A": "X-B"}})
