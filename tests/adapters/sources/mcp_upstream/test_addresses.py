"""Servers at addresses that must not be connected to, however they are written."""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute

from tests.adapters.sources.listening_host import running
from tests.adapters.sources.mcp_upstream.bay import Bay, BayHost, http_server
from toolcrib_adapters.outbound.addresses import Reach
from toolcrib_adapters.outbound.network import check_addresses, check_written_address
from toolcrib_adapters.sources.mcp_upstream import McpUpstream
from toolcrib_adapters.sources.mcp_upstream.forwarding import HttpAccess
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.ports import SourceStatus
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import SocketStream

    from toolcrib_protocol.json_value import JsonObject


@asynccontextmanager
async def bay_within(
    reach: Reach, spec: JsonObject, environment: dict[str, str] | None = None
) -> AsyncIterator[Bay]:
    clock, host = HandClock(), BayHost()
    source = McpUpstream(
        SourceRecord("bay", SourceKind.MCP, spec, "bay"),
        environment=environment or {},
        clock=clock,
        connect_gate=anyio.CapacityLimiter(4),
        roll=lambda: 0.5,
        access=HttpAccess(reach),
    )
    made = Bay(source, host, clock)
    async with running(made.source, host):
        made.state = await host.settled()
        yield made


def names_mean(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Let the system's resolver give these addresses, one after the other; who was asked for."""
    asked: list[str] = []
    real = socket.getaddrinfo
    pending = list(answers)

    def resolve(host: bytes, port: int, *more: Any, **options: Any) -> Any:
        asked.append(host.decode())
        return real(pending.pop(0), port, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


@pytest.mark.promise("field-o31-addresses")
@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://169.254.169.254./",
    ],
)
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_an_address_of_credentials_is_refused_in_every_spelling(
    url: str, transport: str
) -> None:
    async with bay_within(Reach.LOCAL, {"transport": transport, "url": url}) as made:
        assert made.state.status is SourceStatus.FAILED
        assert "clouds keep credentials" in made.state.reason


@pytest.mark.promise("field-o31-addresses")
async def test_a_name_is_judged_by_what_it_means(monkeypatch: pytest.MonkeyPatch) -> None:
    names_mean(monkeypatch, "169.254.169.254", "169.254.169.254")
    spec: JsonObject = {"transport": "http", "url": "http://metadata.google.internal./"}
    async with bay_within(Reach.LOCAL, spec) as made:
        assert "'metadata.google.internal.' (169.254.169.254)" in made.state.reason


@pytest.mark.promise("field-o31-addresses")
@pytest.mark.parametrize(
    ("reach", "is_ready"), [(Reach.LOCAL, True), (Reach.LAN, False), (Reach.PUBLIC, False)]
)
async def test_a_server_on_this_machine_is_for_a_local_crib_only(
    reach: Reach, is_ready: bool
) -> None:
    async with http_server("http") as server, bay_within(reach, server.spec()) as made:
        assert (made.state.status is SourceStatus.READY) is is_ready
        if not is_ready:
            assert "an address of this machine itself" in made.state.reason
            assert "TOOLCRIB_UPSTREAM_ADDRESSES" in made.state.reason


@pytest.mark.promise("field-o31-addresses")
async def test_the_connection_goes_to_the_address_that_was_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with http_server("http") as server:
        # A second look would find another address.
        asked = names_mean(monkeypatch, "127.0.0.1", "169.254.169.254")
        async with httpx2.AsyncClient(trust_env=False) as http:
            check_addresses(http, Reach.LOCAL)
            url = server.url.replace("127.0.0.1", "rebind.test")
            assert (await http.get(url)).status_code > 0
            assert asked == ["rebind.test"]
            with pytest.raises(httpx2.ConnectError, match="clouds keep credentials"):
                await http.get(url.replace("rebind.test", "other.test"))


async def test_of_several_addresses_the_first_that_is_allowed_and_answers_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with http_server("http") as server:
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, int(server.port)))
            for address in ("169.254.169.254", "127.0.0.2", "127.0.0.1")
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: found)
        async with httpx2.AsyncClient(trust_env=False) as http:
            check_addresses(http, Reach.LOCAL)
            url = server.url.replace("127.0.0.1", "several.test")
            assert (await http.get(url)).status_code > 0


async def test_a_name_without_an_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_args: object, **_more: object) -> None:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    spec: JsonObject = {"transport": "http", "url": "http://nowhere.test/"}
    async with bay_within(Reach.LOCAL, spec) as made:
        assert "'nowhere.test' has no address" in made.state.reason


@asynccontextmanager
async def answering(answer: Callable[[bytes], bytes]) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that answers each connection's first request with what `answer` says."""
    heard: list[bytes] = []

    async def serve(stream: SocketStream) -> None:
        async with stream:
            request = await stream.receive()
            heard.append(request)
            await stream.send(answer(request))

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield f"http://127.0.0.1:{port}", heard
        tasks.cancel_scope.cancel()


def redirect_to(url: str) -> Callable[[bytes], bytes]:
    head = f"HTTP/1.1 307 Go\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    return lambda _request: head.encode()


@pytest.mark.promise("field-o31-addresses")
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_redirect_leads_to_no_other_server(transport: str) -> None:
    nothing = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    async with (
        answering(lambda _request: nothing) as (inner, inner_heard),
        answering(redirect_to(inner)) as (outer, outer_heard),
    ):
        headers: JsonObject = {"X-Api-Key": "s3cret-key"}
        spec: JsonObject = {"transport": transport, "url": outer, "headers": headers}
        async with bay_within(Reach.LOCAL, spec) as made:
            assert made.state.status is SourceStatus.FAILED
        assert outer_heard
        assert not inner_heard


@pytest.mark.promise("field-o31-addresses")
@pytest.mark.parametrize(
    "where",
    [
        "file:///etc/passwd",
        "http://0251.0376.0251.0376/",
        "http://x:99999/",
        "http:///a",
    ],
)
async def test_what_is_no_web_address_is_refused_without_showing_it(where: str) -> None:
    spec: JsonObject = {"transport": "http", "url": "${WHERE}"}
    async with bay_within(Reach.LOCAL, spec, {"WHERE": where}) as made:
        assert made.state.status is SourceStatus.FAILED
        assert "'${WHERE}'" in made.state.reason
        assert where not in made.state.reason


async def test_behind_a_proxy_written_addresses_are_judged_all_the_same() -> None:
    with pytest.raises(httpx2.ConnectError, match="this machine itself"):
        check_written_address(httpx2.URL("http://0x7f000001/"), Reach.PUBLIC)
    check_written_address(httpx2.URL("http://name.example/"), Reach.PUBLIC)
