"""One connection, many tasks, and what happens when it is lost."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.abc import SocketAttribute
from mcp.client.stdio import StdioServerParameters
from mcp.server import Server
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

import toolcrib_client
from tests.client.conftest import SMALL_CRIB
from tests.client.small_crib import SmallCrib, free_socket, served, served_over_http
from toolcrib_client import (
    AtCapacity,
    BadAnswer,
    Crib,
    NeedsSignIn,
    NotPermitted,
    OutcomeUnknown,
    SourceDisconnected,
    SourceUnavailable,
    Timeouts,
    ToolError,
    ToolTimedOut,
)
from toolcrib_protocol.errors import ErrorKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.abc import SocketStream
    from starlette.requests import Request

    from toolcrib_client import Result
    from toolcrib_client.link import Mode

BRIEF = Timeouts(connect_seconds=20, question_seconds=0.2, call_seconds=0.2)


@asynccontextmanager
async def _answering(status: int, headers: dict[str, str] | None = None) -> AsyncIterator[str]:
    async def answer(_request: Request) -> Response:
        return PlainTextResponse("no", status, headers)

    routes = [Route("/mcp", answer, methods=["POST", "GET", "DELETE"])]
    async with served(Starlette(routes=routes)) as address:
        yield f"{address}/mcp"


@pytest.mark.promise("client-concurrency")
async def test_two_tasks_call_at_the_same_time(any_crib: Crib) -> None:
    # Each of the two tools ends only when the other one runs.
    results: dict[str, Result] = {}

    async def call(name: str) -> None:
        results[name] = await any_crib.call(name)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, "meet__left")
            tasks.start_soon(call, "meet__right")
    assert [results[name].text for name in ("meet__left", "meet__right")] == ["", ""]


async def test_an_error_in_the_block_leaves_it_as_it_is(small: SmallCrib) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with Crib(small):
            raise KeyError("mine")


async def test_a_block_can_be_cancelled_from_outside(small: SmallCrib) -> None:
    with anyio.CancelScope() as scope:
        async with Crib(small) as crib:
            scope.cancel()
            await crib.search("time")
    assert scope.cancelled_caught


async def test_a_crib_is_used_inside_its_block_only(small: SmallCrib) -> None:
    crib = Crib(small)
    with pytest.raises(RuntimeError, match="async with"):
        await crib.search("time")
    with pytest.raises(RuntimeError, match="async with"):
        _ = crib.protocol_version
    async with crib:
        with pytest.raises(RuntimeError, match="entered already"):
            await crib.__aenter__()
        assert await crib.search("time")
    with pytest.raises(RuntimeError, match="async with"):
        await crib.call("echo__back")


async def test_a_caller_that_gives_up_keeps_the_connection(any_crib: Crib) -> None:
    with anyio.move_on_after(0.2):
        await any_crib.call("wait__forever")
    assert (await any_crib.call("echo__back", {"a": 1})).unwrap() == {"a": 1}


async def test_giving_up_is_heard_by_the_server(small: SmallCrib) -> None:
    async with served_over_http(small) as url, Crib(url) as crib:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(crib.call, "wait__forever")
            await small.started["silence"].wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(20):
            await small.cancelled.wait()


@pytest.mark.promise("client-bounded-waits")
async def test_a_question_without_an_answer_ends_in_time(small: SmallCrib) -> None:
    async with Crib(small, timeouts=BRIEF) as crib:
        with pytest.raises(ToolTimedOut, match=r"within 0\.2 s"):
            await crib.search("be silent")


@pytest.mark.promise("client-bounded-waits")
async def test_a_call_without_an_answer_has_an_unknown_outcome(small: SmallCrib) -> None:
    async with Crib(small, timeouts=BRIEF) as crib:
        result = await crib.call("wait__forever")
    with pytest.raises(OutcomeUnknown, match="wait__forever") as caught:
        result.unwrap()
    assert caught.value.details == {"cause": "tool_timed_out"}
    assert small.calls["wait__forever"] == 1


async def test_the_limit_of_a_call_is_told_to_the_crib(crib: Crib, small: SmallCrib) -> None:
    await crib.call("echo__back", timeout_seconds=12)
    await crib.call_many([("echo__back", {})], timeout_seconds=13)
    await crib.call("echo__back")
    told = [meta.get("io.toolcrib/timeout_seconds") for meta in small.metas]
    assert told == [12, 13, None]


async def test_a_server_that_never_opens_a_session_is_given_up() -> None:
    script = "import sys; sys.stdin.read()"
    silent = StdioServerParameters(command=sys.executable, args=["-c", script])
    with pytest.raises(SourceUnavailable, match=r"no answer within 0\.2 s"):
        async with Crib(silent, timeouts=Timeouts(connect_seconds=0.2)):
            pass


async def test_nobody_at_the_address_is_said_so() -> None:
    with free_socket() as taken:
        port = taken.getsockname()[1]
    with pytest.raises(SourceUnavailable, match=f"127.0.0.1:{port}/mcp cannot be reached"):
        async with Crib(f"http://127.0.0.1:{port}/mcp"):
            pass


async def test_a_command_that_does_not_exist_is_said_so() -> None:
    with pytest.raises(SourceUnavailable, match=r"toolcrib\[server\]"):
        async with Crib(["no-such-command-here", "serve"]):
            pass


async def test_a_command_that_ends_at_once_is_said_so() -> None:
    with pytest.raises(SourceUnavailable, match="ended before it answered"):
        async with Crib([sys.executable, "-c", "pass"]):
            pass


@pytest.mark.promise("client-never-repeats-calls")
async def test_a_call_lost_with_its_server_is_not_repeated() -> None:
    async with Crib(SMALL_CRIB) as crib:
        result = await crib.call("die__now")
        with pytest.raises(OutcomeUnknown, match="lost before"):
            result.unwrap()
        # The next use starts the command again.
        assert (await crib.call("echo__back", {"a": 1})).unwrap() == {"a": 1}


@pytest.mark.promise("client-reconnects")
async def test_a_question_lost_with_its_server_is_asked_again_once() -> None:
    async with Crib(SMALL_CRIB) as crib:
        # The first answer of each process is its death, so the second question dies, too.
        with pytest.raises(SourceDisconnected):
            await crib.search("die once")
        assert await crib.search("time")


@pytest.mark.promise("client-reconnects")
async def test_a_restarted_server_is_found_again(mode: Mode) -> None:
    with free_socket() as taken:
        port = taken.getsockname()[1]
    async with anyio.create_task_group() as tasks:
        first, second = SmallCrib(), SmallCrib()
        stop, stopped = anyio.Event(), anyio.Event()

        async def run_first() -> None:
            async with served_over_http(first, port):
                await stop.wait()
            stopped.set()

        tasks.start_soon(run_first)
        async with Crib(f"http://127.0.0.1:{port}/mcp", mode=mode) as crib:
            assert await crib.search("time")
            stop.set()
            await stopped.wait()
            with pytest.raises(SourceUnavailable, match="cannot be reached"):
                await crib.search("time")
            result = await crib.call("echo__back")
            assert isinstance(result.error, SourceUnavailable)
            async with served_over_http(second, port):
                assert await crib.search("time")
                assert (await crib.call("echo__back", {"a": 1})).unwrap() == {"a": 1}


async def test_a_session_the_server_forgot_fails_one_call_without_making_it() -> None:
    with free_socket() as taken:
        port = taken.getsockname()[1]
    async with anyio.create_task_group() as tasks:
        first, second = SmallCrib(), SmallCrib()
        stop, stopped = anyio.Event(), anyio.Event()

        async def run_first() -> None:
            async with served_over_http(first, port):
                await stop.wait()
            stopped.set()

        tasks.start_soon(run_first)
        async with Crib(f"http://127.0.0.1:{port}/mcp", mode="legacy") as crib:
            stop.set()
            await stopped.wait()
            async with served_over_http(second, port):
                result = await crib.call("echo__back")
                assert isinstance(result.error, SourceUnavailable)
                assert second.calls["echo__back"] == 0
                assert not (await crib.call("echo__back")).is_error


async def test_one_request_that_cannot_be_sent_leaves_the_others_alone() -> None:
    refused = 0

    class Refusing:
        """Answers every second request in the name of a proxy that is too busy."""

        def __init__(self, app: object) -> None:
            self.app = app

        async def __call__(self, scope, receive, send) -> None:  # type: ignore[no-untyped-def]
            nonlocal refused
            if scope["type"] == "http" and dict(scope["headers"]).get(b"mcp-name") == b"call_tool":
                refused += 1
                if refused == 2:
                    busy = PlainTextResponse("busy", 503, {"retry-after": "7 s"})
                    await busy(scope, receive, send)
                    return
            await self.app(scope, receive, send)  # type: ignore[operator]

    small = SmallCrib()
    app = Refusing(small.server.streamable_http_app())
    results: list[Result] = []
    async with (
        served(app) as address,
        Crib(f"{address}/mcp") as crib,
        anyio.create_task_group() as tasks,
    ):

        async def meet() -> None:
            results.append(await crib.call("meet__left"))

        tasks.start_soon(meet)
        await small.started["meet__left"].wait()
        busy = await crib.call("meet__right")
        assert isinstance(busy.error, AtCapacity)
        assert "7 s" in busy.error.message
        assert not (await crib.call("meet__right")).is_error
    assert [result.unwrap() for result in results] == ["meet__left"]


@pytest.mark.parametrize(
    ("status", "expected", "words"),
    [
        (401, NeedsSignIn, "token="),
        (403, NotPermitted, "not allowed"),
        (404, BadAnswer, "is the path right"),
        (429, AtCapacity, "come back later"),
        (500, BadAnswer, "HTTP 500"),
        (502, SourceDisconnected, "HTTP 502"),
    ],
)
async def test_refusals_over_http_say_what_would_mend_them(
    status: int, expected: type[ToolError], words: str
) -> None:
    async with _answering(status) as url:
        with pytest.raises(expected, match=words):
            async with Crib(url):
                pass


async def test_token_and_headers_go_with_every_request() -> None:
    seen: list[tuple[str | None, str | None]] = []

    async def answer(request: Request) -> Response:
        seen.append((request.headers.get("authorization"), request.headers.get("x-team")))
        return PlainTextResponse("no", 500)

    routes = [Route("/mcp", answer, methods=["POST"])]
    async with served(Starlette(routes=routes)) as address:
        with pytest.raises(BadAnswer):
            async with Crib(f"{address}/mcp", token="secret", headers={"x-team": "a"}):
                pass
    assert set(seen) == {("Bearer secret", "a")}


@pytest.mark.parametrize("answer", [{"hello": "world"}, {"jsonrpc": "2.0", "id": 1, "result": {}}])
async def test_another_program_is_not_taken_for_a_crib(answer: dict[str, object]) -> None:
    async def answered(request: Request) -> Response:
        asked = await request.json()
        return JSONResponse({**answer, "id": asked.get("id")})

    routes = [Route("/mcp", answered, methods=["POST"])]
    async with served(Starlette(routes=routes)) as address:
        with pytest.raises(BadAnswer):
            async with Crib(f"{address}/mcp"):
                pass


async def test_another_program_is_not_taken_for_a_crib_of_the_newest_generation() -> None:
    async def answered(request: Request) -> Response:
        asked = await request.json()
        return JSONResponse({"jsonrpc": "2.0", "id": asked["id"], "result": {}})

    routes = [Route("/mcp", answered, methods=["POST"])]
    async with served(Starlette(routes=routes)) as address:
        with pytest.raises(BadAnswer, match="does not speak MCP"):
            async with Crib(f"{address}/mcp", mode="2026-07-28"):
                pass


@asynccontextmanager
async def _cut_at(words: bytes, url: str) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A relay before `url` that closes a connection over which `words` come, and what it cut."""
    cut: list[bytes] = []
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")

    async def relay(client: SocketStream) -> None:
        async with (
            client,
            await anyio.connect_tcp(host, int(port)) as server,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_pump, server, client, tasks.cancel_scope)
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for chunk in client:
                    if words in chunk:
                        cut.append(chunk)
                        break
                    await server.send(chunk)
            tasks.cancel_scope.cancel()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, relay)
        address = listener.extra(SocketAttribute.local_address)
        yield f"http://{address[0]}:{address[1]}/mcp", cut
        tasks.cancel_scope.cancel()


async def _pump(source: SocketStream, sink: SocketStream, scope: anyio.CancelScope) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for chunk in source:
            await sink.send(chunk)
    scope.cancel()


@pytest.mark.promise("client-never-repeats-calls")
async def test_a_call_cut_off_over_http_is_not_repeated(mode: Mode) -> None:
    async with (
        served_over_http(SmallCrib()) as url,
        _cut_at(b"cut__here", url) as (relay, cut),
        Crib(relay, mode=mode) as crib,
    ):
        result = await crib.call("cut__here")
        assert isinstance(result.error, OutcomeUnknown)
        assert len(cut) == 1
        # Other requests go on over connections of their own.
        assert await crib.search("time")


@pytest.mark.promise("ledger-key-at-every-door")
async def test_a_call_with_a_key_that_was_cut_off_is_made_once_more(mode: Mode) -> None:
    async with (
        served_over_http(SmallCrib()) as url,
        _cut_at(b"cut__here", url) as (relay, cut),
        Crib(relay, mode=mode) as crib,
    ):
        result = await crib.call("cut__here", key="k-1")
        # The crib knows the call by its key, so trying again later is harmless, too.
        assert isinstance(result.error, SourceDisconnected)
        assert result.error.kind is ErrorKind.RETRYABLE
        assert len(cut) == 2


@pytest.mark.promise("client-reconnects")
async def test_a_question_cut_off_over_http_is_asked_once_more(mode: Mode) -> None:
    async with (
        served_over_http(SmallCrib()) as url,
        _cut_at(b"cut here", url) as (relay, cut),
        Crib(relay, mode=mode) as crib,
    ):
        with pytest.raises(SourceDisconnected, match="lost before an answer came"):
            await crib.search("cut here")
        assert len(cut) == 2


async def test_a_fault_of_the_server_is_an_unknown_outcome_for_calls(any_crib: Crib) -> None:
    result = await any_crib.call("fail__inside")
    assert isinstance(result.error, OutcomeUnknown)
    assert result.error.details == {"cause": "internal"}


async def test_a_refused_question_is_told_with_the_servers_words(any_crib: Crib) -> None:
    with pytest.raises(BadAnswer, match="not like that"):
        await any_crib.search("refuse")


class OldServer:
    """Knows nothing of the newest generation."""

    def __init__(self) -> None:
        self.app = SmallCrib().server.streamable_http_app()

    async def __call__(self, scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"")
        if version.startswith(b"2026"):
            await PlainTextResponse("what?", 400)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


async def test_a_server_without_the_new_generation_is_spoken_to_in_the_old_one() -> None:
    async with served(OldServer()) as address, Crib(f"{address}/mcp") as crib:
        assert crib.protocol_version == "2025-11-25"
        assert await crib.search("time")


async def test_a_generation_that_is_insisted_on_is_not_exchanged() -> None:
    async with served(OldServer()) as address:
        with pytest.raises(BadAnswer, match="HTTP 400"):
            async with Crib(f"{address}/mcp", mode="2026-07-28"):
                pass


def test_the_package_knows_its_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Crip'"):
        _ = toolcrib_client.Crip


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("localhost:8765", "not an http"),
        ("ftp://host/mcp", "not an http"),
        ([], "the command is empty"),
        (7, "by a int"),
    ],
)
def test_what_cannot_be_a_crib_is_refused_with_what_can(given: object, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        Crib(given)  # type: ignore[arg-type]


def test_a_token_for_a_command_is_refused(small: SmallCrib) -> None:
    with pytest.raises(ToolError, match="for URLs"):
        Crib(["toolcrib"], token="secret")


def test_secrets_of_a_target_are_not_shown() -> None:
    crib = Crib("https://user:pass@host/mcp?key=k", token="secret")
    shown = f"{crib._connection.target} {crib._connection.target!r}"
    assert str(crib._connection.target) == "https://host/mcp"
    assert "secret" not in shown


async def test_any_object_with_a_server_is_reached_in_process() -> None:
    async with Crib(SmallCrib()) as by_holder, Crib(SmallCrib().server) as by_server:
        assert await by_holder.search("time")
        assert await by_server.search("time")


async def test_a_plain_mcp_server_is_told_apart_from_a_crib() -> None:
    async with Crib(Server("other")) as crib:
        with pytest.raises(NotPermitted, match="does not offer"):
            await crib.search("time")
