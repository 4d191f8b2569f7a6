"""One POST of the stateless HTTP wire, and whatever comes as its answer.

JSON or a stream of events, an error of the server's own or one of the HTTP layer, a redirect within
the same server. What came is told as the SDK's client tells it, so that both are judged in one
place (`failures`). Runs in the task of its caller.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolcrib_adapters.outbound.event_stream import EventStream, LongEventError
from toolcrib_adapters.outbound.http_connection import BrokenExchangeError
from toolcrib_adapters.outbound.http_endpoint import shown
from toolcrib_adapters.outbound.packed_body import PackedBodyError, Unpacking
from toolcrib_adapters.sources.mcp_upstream.http_client import failure_of
from toolcrib_adapters.sources.mcp_upstream.stateless_messages import (
    OddMessageError,
    error_of,
    message_in,
    result_of,
)
from toolcrib_adapters.sources.mcp_upstream.stdio_messages import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from toolcrib_adapters.outbound.http_connection import HttpConnection
    from toolcrib_adapters.outbound.http_endpoint import HttpEndpoint
    from toolcrib_adapters.outbound.http_pool import HttpPool
    from toolcrib_adapters.sources.mcp_upstream.http_client import HttpFailures
    from toolcrib_protocol.json_value import JsonObject

_log = logging.getLogger(__name__)

SILENT_SECONDS: Final = 960.0
"""The longest call waits for 900 s, and a server may be silent for all of them."""
_ACCEPTED: Final = 202
_FAILED: Final = 400
_NOT_FOUND: Final = 404
_MOST_REDIRECTS: Final = 20
_LONGEST_KIND: Final = 100


class PostedRequest:
    """One request.

    Attributes:
        silence: ends the request when nothing has come for a while; moved on by all that comes.
    """

    def __init__(
        self,
        request_id: types.RequestId,
        body: bytes,
        headers: Mapping[str, str],
        failures: HttpFailures,
        heard: Callable[[JsonObject], Awaitable[None]],
    ) -> None:
        """A request that was not sent yet.

        Args:
            request_id: what its answer has to be numbered with.
            body: what is posted.
            headers: of this request only.
            failures: where HTTP failures are noted.
            heard: told the notifications before the answer.
        """
        self._id = request_id
        self._body = body
        self._headers = headers
        self._failures = failures
        self._heard = heard
        self.silence: anyio.CancelScope | None = None

    async def carry(self, endpoint: HttpEndpoint, pool: HttpPool) -> dict[str, Any]:
        """The result, wherever within its server the request is sent on to.

        Raises:
            MCPError: there is none, but something that stands for one.
            BrokenExchangeError: the connection failed.
            HeaderError: a header cannot be sent.
        """
        for _ in range(_MOST_REDIRECTS + 1):
            request = endpoint.request(self._headers, self._body)
            async with pool.sending(endpoint.origin, request) as connection:
                answer = connection.answer
                while not answer.has_head:
                    await connection.receive()
                _log.debug("POST %s: HTTP %d", endpoint.url, answer.status)
                location = answer.headers.get("location")
                target = endpoint.target(answer.status, location)
                if target is None:
                    return await self._answered(_Body(connection, self))
            following = endpoint.led_to(answer.status, location)
            refusal = MCPError(types.INVALID_REQUEST, f"Redirect to {shown(target)} not followed")
            if following is None:
                break
            endpoint = following
        raise refusal

    async def _answered(self, body: _Body) -> dict[str, Any]:
        status, kind = body.status, body.kind
        if status >= _FAILED:
            self._failures.note(self._id, failure_of(status, body.headers))
            raise await self._refused(body)
        if status == _ACCEPTED:
            text = "server answered a request with 202 Accepted"
            raise MCPError(types.INVALID_REQUEST, text)
        try:
            if kind.startswith("application/json"):
                return result_of(message_in(await body.whole()), self._id)
            if kind.startswith("text/event-stream"):
                return await self._streamed(body)
        except (OddMessageError, PackedBodyError, LongEventError) as error:
            raise MCPError(types.PARSE_ERROR, str(error)) from error
        text = f"HTTP {status} with {kind[:_LONGEST_KIND] or 'no'} content instead of JSON"
        raise MCPError(types.PARSE_ERROR, text)

    async def _refused(self, body: _Body) -> MCPError:
        """The error that came with a failed status, or what the SDK says where there is none."""
        if body.kind.startswith("application/json"):
            try:
                error = error_of(message_in(await body.whole()), self._id)
            except (OddMessageError, PackedBodyError):
                error = None
            if error is not None:
                return error
        if body.status == _NOT_FOUND:
            return MCPError(types.METHOD_NOT_FOUND, "Not Found")
        return MCPError(types.INTERNAL_ERROR, "Server returned an error response")

    async def _streamed(self, body: _Body) -> dict[str, Any]:
        """The result at the end of a stream of events, whose other messages are handed on."""
        events = EventStream(LONGEST_LINE)
        while part := await body.part():
            for data in filter(None, events.data_of(part)):
                message = message_in(data)
                if "method" not in message:
                    return result_of(message, self._id)
                if "id" not in message:
                    await self._heard(message)
        raise BrokenExchangeError("its stream of events ended without an answer")


class _Body:
    """The body of an answer, unpacked, as it comes."""

    def __init__(self, connection: HttpConnection, request: PostedRequest) -> None:
        self._connection = connection
        self._answer = connection.answer
        self._request = request
        self._unpacking: Unpacking | None = None
        self.status = connection.answer.status
        self.headers = connection.answer.headers
        self.kind = self.headers.get("content-type", "").lower()

    async def part(self) -> bytes:
        """What comes next; nothing at the end.

        Raises:
            OddMessageError: it unpacks to more than anybody should read.
            PackedBodyError: it is not packed as it says.
            BrokenExchangeError: the connection failed.
        """
        if self._unpacking is None:
            self._unpacking = Unpacking(self.headers.get("content-encoding", ""))
        while True:
            part = self._unpacking.unpacked(self._answer.taken(), LONGEST_LINE)
            if len(part) > LONGEST_LINE:
                raise OddMessageError(f"it is longer than {LONGEST_LINE:,} bytes")
            if part or self._answer.is_whole:
                return part
            await self._connection.receive()
            if self._request.silence is not None:
                self._request.silence.deadline = anyio.current_time() + SILENT_SECONDS

    async def whole(self) -> bytes:
        """All of it.

        Raises:
            OddMessageError: it is too long.
            PackedBodyError, BrokenExchangeError: see `part`.
        """
        parts, size = [], 0
        while part := await self.part():
            size += len(part)
            if size > LONGEST_LINE:
                raise OddMessageError(f"it is longer than {LONGEST_LINE:,} bytes")
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
