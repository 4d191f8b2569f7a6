"""The HTTP client under the MCP transport: a request's failure stays its own.

The SDK's transport ends as a whole, with every request in flight, when one request cannot be sent,
and tells a refused credential and a crashed server with the same words. So failures become JSON-RPC
errors here, which the transport hands to their own request, and which say whether the request can
have arrived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import httpx2

from toolcrib_client.failures import failure
from toolcrib_protocol.errors import (
    AT_CAPACITY,
    NEEDS_SIGN_IN,
    NOT_PERMITTED,
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    UPSTREAM_PROTOCOL,
    ErrorKind,
)

if TYPE_CHECKING:
    from toolcrib_client.target import HttpTarget
    from toolcrib_protocol.errors import ToolError

HTTP_FAILED: Final = -31_000
"""The JSON-RPC code of failures made here: outside the range that JSON-RPC and MCP reserve."""
_CONNECT_SECONDS: Final = 10.0
# A server pings an open answer every few seconds; longer silence is a dead one. Calls have limits
# of their own.
_SILENCE_SECONDS: Final = 300.0
_FIRST_ERROR_STATUS: Final = 400
_FIRST_SERVER_ERROR: Final = 500
GAVE_UP: Final = "http_status"
"""The detail of an error whose request may have run before the server gave up."""
_NOT_FOUND: Final = 404
SESSION_OVER: Final = "session_over"
"""In the details of the error that says: the server no longer knows our session."""
_NEVER_LEFT: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
)


class McpHttpClient(httpx2.AsyncClient):
    """An HTTP client for one endpoint that answers with a JSON-RPC error instead of raising."""

    def __init__(self, target: HttpTarget) -> None:
        super().__init__(
            headers=dict(target.headers),
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_SILENCE_SECONDS),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        )
        self._target = target

    # The options are httpx's own, passed on as they are; it does not export their types.
    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The response; a failed POST gets a JSON-RPC error with the facts in `data`."""
        if request.method != "POST":
            return await super().send(request, **options)
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            return _told(request, self._unanswered(error))
        if not _is_refusal(response):
            return response
        try:
            return _told(request, self._refused(response))
        finally:
            await response.aclose()

    def _unanswered(self, error: httpx2.TransportError) -> ToolError:
        reason = str(error) or type(error).__name__
        if isinstance(error, _NEVER_LEFT):
            text = f"the crib at {self._target} cannot be reached ({reason}); is it running there?"
            return failure(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)
        text = (
            f"the connection to the crib at {self._target} was lost before an answer came "
            f"({reason})"
        )
        return failure(SOURCE_DISCONNECTED, text, ErrorKind.RETRYABLE)

    def _refused(self, response: httpx2.Response) -> ToolError:
        status = response.status_code
        if _is_session_over(response):
            text = (
                f"the crib at {self._target} no longer knows this session (restarted?); "
                "nothing was called"
            )
            return failure(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE, {SESSION_OVER: True})
        said = (
            f"the crib at {self._target} answered with HTTP {status} {response.reason_phrase}"
        ).rstrip()
        match status:
            case 401:
                return failure(
                    NEEDS_SIGN_IN,
                    f"{said}: pass a valid token, Crib(url, token=...)",
                    ErrorKind.NEEDS_HUMAN,
                )
            case 403 | 421:
                return failure(
                    NOT_PERMITTED, f"{said}: this caller or host name is not allowed there"
                )
            case 404 | 405:
                return failure(
                    UPSTREAM_PROTOCOL,
                    f"{said}: there is no MCP endpoint; is the path right (/mcp)?",
                )
            case 429 | 503:
                wait = response.headers.get("retry-after")
                when = f"come back after {wait}" if wait else "come back later"
                return failure(AT_CAPACITY, f"{said}: {when}", ErrorKind.RETRYABLE)
            case 502 | 504:
                # A proxy answered; the request may have reached the crib behind it.
                return failure(SOURCE_DISCONNECTED, said, ErrorKind.RETRYABLE)
            case _ if status >= _FIRST_SERVER_ERROR:
                # The crib gave up in the middle, for example because it was stopped.
                return failure(UPSTREAM_PROTOCOL, said, details={GAVE_UP: status})
            case _:
                return failure(UPSTREAM_PROTOCOL, said)


def _is_session_over(response: httpx2.Response) -> bool:
    return response.status_code == _NOT_FOUND and "mcp-session-id" in response.request.headers


def _is_refusal(response: httpx2.Response) -> bool:
    if response.status_code < _FIRST_ERROR_STATUS:
        return False
    # An MCP server says what is wrong in the body; a proxy or another program does not.
    is_json = response.headers.get("content-type", "").lower().startswith("application/json")
    return _is_session_over(response) or not is_json


def _told(request: httpx2.Request, error: ToolError) -> httpx2.Response:
    body = {"code": HTTP_FAILED, "message": error.message, "data": error.as_json()}
    return httpx2.Response(502, json={"jsonrpc": "2.0", "id": None, "error": body}, request=request)
