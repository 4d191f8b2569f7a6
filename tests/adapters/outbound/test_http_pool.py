"""Requests over kept connections, to servers that end, stall and break them."""

from __future__ import annotations

import anyio
import httpx2
import pytest

from tests.adapters.outbound.scripted_server import CLOSE, RESET, answer, scripted
from toolcrib_adapters.outbound.addresses import Reach
from toolcrib_adapters.outbound.http_answer import LONGEST_HEAD
from toolcrib_adapters.outbound.http_connection import (
    BrokenExchangeError,
    Origin,
    UnreachableError,
)
from toolcrib_adapters.outbound.http_endpoint import HeaderError, HttpEndpoint
from toolcrib_adapters.outbound.http_pool import HttpPool

PATIENCE = 30


def at(port: int) -> Origin:
    return Origin(is_secure=False, host="127.0.0.1", port=port)


async def exchanged(pool: HttpPool, port: int) -> tuple[int, bytes]:
    """Status and body of one request."""
    request = HttpEndpoint.of(f"http://127.0.0.1:{port}/mcp", {}, {}).request({}, b"{}")
    with anyio.fail_after(PATIENCE):
        async with pool.sending(at(port), request) as connection:
            while not connection.answer.is_whole:
                await connection.receive()
            return connection.answer.status, connection.answer.taken()


@pytest.mark.promise("http-connections")
async def test_a_connection_carries_one_request_after_the_other() -> None:
    chunks = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"0\r\n\r\n"]
    async with scripted([answer(b"one")], chunks, [answer(b"two")]) as server:
        pool = HttpPool(Reach.LOCAL)
        told = [await exchanged(pool, server.port) for _ in range(3)]
        assert told == [(200, b"one"), (200, b"abc"), (200, b"two")]
        assert server.connections == 1
        await pool.aclose()


@pytest.mark.promise("http-connections")
@pytest.mark.parametrize(
    ("first", "body"),
    [
        ([answer(b"a", "200 OK", "Connection: close"), CLOSE], b"a"),
        ([b"HTTP/1.1 200 OK\r\n\r\nuntil ", b"the end", CLOSE], b"until the end"),
        ([b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", CLOSE], b"a"),
        ([answer(b"a") + b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"], b"a"),
        ([answer(b"a") + b"rubbish"], b"a"),
        ([b"HTTP/1.1 100 Go on\r\n\r\n", answer(b"a", "200 OK", "Connection: close")], b"a"),
    ],
    ids=["close", "until closed", "1.0", "two answers", "rubbish behind", "interim"],
)
async def test_an_answer_after_which_the_connection_is_of_no_use(
    first: list[bytes], body: bytes
) -> None:
    async with scripted(first, [answer(b"next")]) as server:
        pool = HttpPool(Reach.LOCAL)
        assert await exchanged(pool, server.port) == (200, body)
        assert await exchanged(pool, server.port) == (200, b"next")
        assert server.connections == 2
        await pool.aclose()


@pytest.mark.promise("http-connections")
@pytest.mark.parametrize("ending", [CLOSE, RESET])
@pytest.mark.parametrize(
    ("pieces", "told"),
    [([], "without an answer"), ([answer(b"abc")[:-2]], "in the middle of its answer")],
)
async def test_a_connection_that_breaks_is_told_and_may_have_carried_the_request(
    ending: bytes, pieces: list[bytes], told: str
) -> None:
    async with scripted([*pieces, ending], [answer()]) as server:
        pool = HttpPool(Reach.LOCAL)
        with pytest.raises(BrokenExchangeError, match=told) as broken:
            await exchanged(pool, server.port)
        assert not broken.value.never_left
        assert await exchanged(pool, server.port) == (200, b"{}")
        await pool.aclose()


@pytest.mark.promise("http-connections")
@pytest.mark.parametrize(
    ("piece", "told"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * (LONGEST_HEAD + 1), "headers of its answer are longer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "not HTTP/1.1"),
    ],
    ids=["another protocol", "upgrade", "endless head", "two lengths"],
)
async def test_what_is_no_answer_is_told(piece: bytes, told: str) -> None:
    async with scripted([piece]) as server:
        with pytest.raises(BrokenExchangeError, match=told):
            await exchanged(HttpPool(Reach.LOCAL), server.port)


@pytest.mark.promise("http-connections")
async def test_a_server_where_nobody_listens_was_never_reached() -> None:
    with pytest.raises(UnreachableError) as told:
        await exchanged(HttpPool(Reach.LOCAL), 1)
    assert told.value.never_left


@pytest.mark.promise("http-connections")
async def test_a_request_that_is_given_up_closes_its_connection() -> None:
    async with scripted([b"HTTP/1.1 200 OK\r\n\r\n"]) as server:
        pool = HttpPool(Reach.LOCAL)
        with anyio.move_on_after(0.2):
            await exchanged(pool, server.port)
        with anyio.fail_after(PATIENCE):
            await server.gone.wait()


@pytest.mark.promise("http-connections")
async def test_a_pool_that_closes_tells_those_who_wait() -> None:
    async with scripted([b"HTTP/1.1 200 OK\r\n\r\n"]) as server:
        pool, told = HttpPool(Reach.LOCAL), []

        async def wait() -> None:
            with pytest.raises(BrokenExchangeError, match="Connection closed") as broken:
                await exchanged(pool, server.port)
            told.append(broken.value.is_ours)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            while not server.requests:
                await anyio.lowlevel.checkpoint()
            await pool.aclose()
        assert told == [True]
        with pytest.raises(BrokenExchangeError, match="Connection closed") as broken:
            await exchanged(pool, server.port)
        assert broken.value.never_left


@pytest.mark.promise("http-connections")
async def test_a_pool_that_retires_carries_what_is_under_way_to_its_end() -> None:
    async with scripted([answer(b"abc")[:-1]], [b"c"]) as server:
        pool = HttpPool(Reach.LOCAL)
        endpoint = HttpEndpoint.of(f"http://127.0.0.1:{server.port}/", {}, {})
        async with pool.sending(endpoint.origin, endpoint.request({}, b"")) as connection:
            while not connection.answer.has_head:
                await connection.receive()
            await pool.retire()
            # The server goes on with its script at any further request.
            await connection._stream.send(endpoint.request({}, b""))
            with anyio.fail_after(PATIENCE):
                while not connection.answer.is_whole:
                    await connection.receive()
            assert connection.answer.taken() == b"abc"


async def test_connections_that_nobody_uses_are_closed() -> None:
    async with scripted([answer()]) as server:
        pool = HttpPool(Reach.LOCAL)
        await exchanged(pool, server.port)
        for idle in pool._idle.values():
            idle[0].idle_since -= 60
        await pool.sweep()
        with anyio.fail_after(PATIENCE):
            await server.gone.wait()


@pytest.mark.promise("http-connections")
def test_a_header_that_would_be_two_is_refused() -> None:
    for headers in ({"X-A": "a\r\nX-B: b"}, {"X A": "a"}, {"X-A": "中"}):
        with pytest.raises(HeaderError):
            HttpEndpoint.of("http://127.0.0.1/", headers, {})
    endpoint = HttpEndpoint.of("http://127.0.0.1/", {}, {})
    with pytest.raises(HeaderError, match="X-A"):
        endpoint.request({"X-A": "s3cret\n"}, b"")


def test_the_head_of_a_request_says_what_the_settings_say() -> None:
    url = "https://ann:s%40cret@Example.com:8443/a b?q=1"
    headers = {"x-team": "blue", "Content-Length": "7", "Accept": "x"}
    endpoint = HttpEndpoint.of(url, headers, {"Accept": "application/json"})
    assert endpoint.origin == Origin(is_secure=True, host="example.com", port=8443)
    lines = endpoint.request({"X-Team": "red"}, b"{}").split(b"\r\n")
    assert lines[0] == b"POST /a%20b?q=1 HTTP/1.1"
    assert sorted(lines[1:]) == sorted(
        [
            b"Host: example.com:8443",
            b"Accept-Encoding: gzip, deflate",
            b"Authorization: Basic YW5uOnNAY3JldA==",
            b"Accept: application/json",
            b"X-Team: red",
            b"Content-Length: 2",
            b"",
            b"{}",
        ]
    )


@pytest.mark.parametrize(
    ("status", "location", "leads_to"),
    [
        (307, "/other", "http://a.test/other"),
        (308, "http://a.test/x", "http://a.test/x"),
        (307, "https://a.test/mcp", "https://a.test/mcp"),
        (307, "http://b.test/mcp", None),
        (307, "http://a.test:81/mcp", None),
        (307, "http://eve@a.test/mcp", None),
        (302, "/other", None),
        (200, "/other", None),
        (307, "http://[", None),
        (307, "file:///etc", None),
    ],
)
def test_a_redirect_is_followed_within_its_server_only(
    status: int, location: str, leads_to: str | None
) -> None:
    following = HttpEndpoint.of("http://a.test/mcp", {}, {}).led_to(status, location)
    assert (None if following is None else following.url) == (
        None if leads_to is None else httpx2.URL(leads_to)
    )
