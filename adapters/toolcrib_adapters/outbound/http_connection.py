"""One connection to an HTTP/1.1 server, which carries one request at a time.

It was made to an address that was checked, and is closed as soon as a request on it is given up:
on the stateless MCP wire that is how a call is cancelled. Which connection carries which request,
`http_pool` knows.
"""

from __future__ import annotations

import select
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import httpcore2
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSStream

from toolcrib_adapters.outbound.http_answer import HttpAnswer, OddAnswerError
from toolcrib_adapters.outbound.network import allowed_addresses

if TYPE_CHECKING:
    import socket

    from anyio.abc import ByteStream

    from toolcrib_adapters.outbound.addresses import Reach

_CONNECT_SECONDS: Final = 30.0
_NEXT_SECONDS: Final = 2.0
"""How long an address may take before the next one is tried."""
_BROKEN: Final = (anyio.BrokenResourceError, ssl.SSLError, OSError)


class BrokenExchangeError(Exception):
    """A request without a whole answer.

    Attributes:
        never_left: whether the request certainly did not reach the server.
        is_ours: whether the connection was closed from this side.
    """

    def __init__(self, reason: str, *, never_left: bool = False, is_ours: bool = False) -> None:
        super().__init__(reason)
        self.never_left = never_left
        self.is_ours = is_ours


class UnreachableError(BrokenExchangeError):
    """A server that no connection can be made to."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, never_left=True)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where requests go: scheme, host (without brackets) and port."""

    is_secure: bool
    host: str
    port: int


class HttpConnection:
    """An open connection.

    Attributes:
        idle_since: when its last answer was complete.
        answer: the answer to the request that was sent last.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.idle_since = 0.0
        self.answer = HttpAnswer()

    async def send(self, request: bytes) -> None:
        """Send a request, head and body.

        Raises:
            BrokenExchangeError: the connection was closed from this side.
        """
        self.answer = HttpAnswer()
        try:
            await self._stream.send(request)
        except anyio.ClosedResourceError as error:
            raise _closed_here() from error
        except _BROKEN:
            # A server may refuse a request before it has read all of it: the answer tells.
            return

    async def receive(self) -> None:
        """Feed the answer with what comes next.

        Raises:
            BrokenExchangeError: nothing more comes, and the answer is not whole.
        """
        try:
            data = await self._stream.receive()
        except anyio.EndOfStream:
            if self.answer.end():
                return
            raise BrokenExchangeError(self._told("the server closed the connection")) from None
        except anyio.ClosedResourceError as error:
            raise _closed_here() from error
        except _BROKEN as error:
            cause = error.__cause__ or error
            text = f"the connection was lost ({cause or type(cause).__name__})"
            raise BrokenExchangeError(self._told(text)) from error
        try:
            self.answer.feed(data)
        except OddAnswerError as error:
            raise BrokenExchangeError(str(error)) from error

    def _told(self, what: str) -> str:
        when = "in the middle of its answer" if self.answer.has_begun else "without an answer"
        return f"{what} {when}"

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has come since the last answer, not even the end of the connection."""
        raw = self._stream.extra(SocketAttribute.raw_socket, None)  # noqa: S610 - no Django
        return raw is not None and not _has_something(raw)

    async def aclose(self) -> None:
        """Close it at once, without a word; whoever waits for an answer is told."""
        with anyio.CancelScope(shield=True), suppress(*_BROKEN, anyio.ClosedResourceError):
            await anyio.aclose_forcefully(self._stream)


def _closed_here() -> BrokenExchangeError:
    return BrokenExchangeError("Connection closed", is_ours=True)


def _has_something(raw: socket.socket) -> bool:
    if not hasattr(select, "poll"):
        return bool(select.select([raw.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return bool(poll.poll(0))


async def connect(origin: Origin, reach: Reach, trust: ssl.SSLContext | None) -> HttpConnection:
    """A connection to the first address of `origin` that is allowed and answers.

    Args:
        origin: where to.
        reach: which addresses may be connected to.
        trust: whom to believe, for origins that are secure.

    Raises:
        UnreachableError: there is none; nothing was sent.
    """
    try:
        with anyio.fail_after(_CONNECT_SECONDS):
            stream: ByteStream = await _connected(origin, reach)
            if origin.is_secure:
                stream = await _secured(stream, origin.host, trust)
    except TimeoutError as error:
        text = f"{origin.host!r} did not accept a connection within {_CONNECT_SECONDS:g} s"
        raise UnreachableError(text) from error
    except (httpcore2.ConnectError, httpcore2.ConnectTimeout, anyio.EndOfStream, *_BROKEN) as error:
        raise UnreachableError(_reason(error)) from error
    return HttpConnection(stream)


def _reason(error: BaseException) -> str:
    cause = error.__cause__ if isinstance(error, anyio.BrokenResourceError) else error
    return str(cause or error) or type(error).__name__


async def _connected(origin: Origin, reach: Reach) -> ByteStream:
    allowed = await allowed_addresses(origin.host, origin.port, reach)
    # An address that leads nowhere, as IPv6 often does, must not eat the others' time.
    for address in allowed[:-1]:
        with suppress(OSError, TimeoutError), anyio.fail_after(_NEXT_SECONDS):
            return await anyio.connect_tcp(address, origin.port)
    return await anyio.connect_tcp(allowed[-1], origin.port)


async def _secured(stream: ByteStream, host: str, trust: ssl.SSLContext | None) -> ByteStream:
    try:
        return await TLSStream.wrap(
            stream, hostname=host, ssl_context=trust, server_side=False, standard_compatible=False
        )
    except BaseException:
        await anyio.aclose_forcefully(stream)
        raise
