"""What a failure of an upstream means: the errors of SDK, HTTP and processes as ours.

An exception in, a `ToolError` out. Secrets are hidden before texts come here.
"""

from __future__ import annotations

import logging
import re
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    URL_ELICITATION_REQUIRED,
)
from pydantic import ValidationError

from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    NEEDS_INPUT,
    NEEDS_SIGN_IN,
    RATE_LIMITED,
    SOURCE_DISCONNECTED,
    SOURCE_FAILED,
    SOURCE_UNAVAILABLE,
    TOOL_FAILED,
    TOOL_TIMED_OUT,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from toolcrib_adapters.expansion import Secrets
    from toolcrib_adapters.sources.mcp_upstream.http_client import HttpFailure
    from toolcrib_protocol.json_value import Json, JsonObject

_log = logging.getLogger(__name__)

LONGEST_TEXT: Final = 2_000
_TOO_MANY: Final = 429
_BUSY: Final = frozenset({_TOO_MANY, 503})
_GONE: Final = frozenset({404, 410})
_SERVER_FAULT: Final = 500
_STREAM_ENDED: Final = frozenset(
    {
        "SSE stream ended without a response",
        "SSE stream ended and reconnection attempts were exhausted",
    }
)
_NO_ANSWER: Final = (
    "Unexpected content type: ",
    "server answered a request with 202 Accepted",
    "SSE stream failed: ",
)
"""What the SDK says where an answer came that is none."""
_FORGOTTEN: Final = re.compile(
    r"(?:unknown|invalid|expired|no valid|missing|terminated).{0,20}\bsession\b"
    r"|\bsession\b.{0,60}(?:not found|unknown|invalid|expired|terminated|does not exist|closed)",
    re.IGNORECASE | re.DOTALL,
)
_BAD_REQUEST: Final = 400
_WANTS_CALLER: Final = frozenset({MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED})
"""The server asks for something that the caller cannot do, or has to do first."""
_STAND_INS: Final = frozenset(
    {
        (INTERNAL_ERROR, "Server returned an error response"),
        (METHOD_NOT_FOUND, "Not Found"),
        (INVALID_REQUEST, "Session terminated"),
    }
)
"""What the SDK says where an HTTP answer held no JSON-RPC error of the server's own."""


@dataclass(slots=True, eq=False)
class RequestError(Exception):
    """A request that brought no result.

    Attributes:
        code: a JSON-RPC error code; `REQUEST_TIMEOUT` and `CONNECTION_CLOSED` are the SDK's own.
        message: the server's or the SDK's words, bounded, without secrets.
        http: the HTTP failure behind it.
        is_modern: whether the connection speaks the stateless generation.
        data: what the server added to its error.
    """

    code: int
    message: str
    http: HttpFailure | None = None
    is_modern: bool = False
    data: Json = None

    def __str__(self) -> str:
        return self.message

    @property
    def is_lost_session(self) -> bool:
        """Whether the server has forgotten this connection."""
        if self.http is None:
            return False
        if self.http.status in _GONE:
            return not self.is_modern or self.is_stand_in
        # Some say so with the status of any bad request.
        is_refused = self.http.status == _BAD_REQUEST and self.code != INVALID_PARAMS
        said = f"{self.message} {self.http.reason}"
        return is_refused and self.http.had_session and _FORGOTTEN.search(said) is not None

    @property
    def is_stand_in(self) -> bool:
        """Whether the HTTP status is all that the server said."""
        return (self.code, self.message) in _STAND_INS


def call_failure(failed: RequestError, source: str, timeout_seconds: float) -> ToolError:
    """What a failed `tools/call` means to its caller."""
    if failed.code == REQUEST_TIMEOUT:
        text = f"{source} gave no answer within {timeout_seconds:g} s; the call may have run"
        return ToolError(TOOL_TIMED_OUT, text, ErrorKind.RETRYABLE, {"sent": True})
    if failed.http is not None and (told := _http_failure(failed, failed.http, source)) is not None:
        return told
    if _is_closed(failed):
        return _disconnected(f"the connection to {source} ended during the call")
    if failed.code == CONNECTION_CLOSED and failed.message in _STREAM_ENDED:
        return _disconnected(f"the answer of {source} ended before it was there")
    if failed.code == PARSE_ERROR or failed.message.startswith(_NO_ANSWER):
        text = f"{source} sent an answer that cannot be read: {failed.message}"
        return ToolError(UPSTREAM_PROTOCOL, text, details={"sent": True})
    if failed.code in _WANTS_CALLER:
        text = f"{source} needs its caller for this call: {failed.message}"
        facts: JsonObject = {
            "jsonrpc_code": failed.code,
            "jsonrpc_message": failed.message,
            "jsonrpc_data": failed.data,
        }
        return ToolError(NEEDS_INPUT, text, ErrorKind.NEEDS_HUMAN, facts)
    code = INVALID_ARGUMENTS if failed.code == INVALID_PARAMS else TOOL_FAILED
    text = f"{source} refused the call: {failed.message}"
    return ToolError(code, text, details=_in_its_words(failed))


def _in_its_words(failed: RequestError) -> JsonObject:
    """The server's own error, for surfaces that pass it on as it is."""
    told: JsonObject = {"jsonrpc_code": failed.code, "jsonrpc_message": failed.message}
    if failed.http is not None:
        told |= failed.http.details
    return told if failed.data is None else {**told, "jsonrpc_data": failed.data}


def _http_failure(failed: RequestError, http: HttpFailure, source: str) -> ToolError | None:
    if http.status is None:
        if http.never_left:
            text = f"{source} cannot be reached ({http.reason}); nothing was called"
            return ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE, {"sent": False})
        return _disconnected(f"the connection to {source} broke during the call: {http.reason}")
    if http.asks_sign_in:
        return _sign_in(http, source)
    if http.status in _BUSY:
        return _busy(http, http.status, source)
    if failed.is_lost_session:
        text = f"{source} has forgotten the connection; it is made anew, and nothing was called"
        return ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE, http.details)
    if not failed.is_stand_in:
        return None
    if http.status >= _SERVER_FAULT:
        text = f"{source} answered HTTP {http.status} instead of a result"
        told = {**http.details, "sent": True}
        return ToolError(SOURCE_FAILED, text, ErrorKind.RETRYABLE, told)
    text = f"{source} refused the request with HTTP {http.status}"
    return ToolError(UPSTREAM_PROTOCOL, text, details=http.details)


def _disconnected(text: str) -> ToolError:
    return ToolError(SOURCE_DISCONNECTED, text, ErrorKind.RETRYABLE, {"sent": True})


def _sign_in(http: HttpFailure, source: str) -> ToolError:
    text = (
        f"{source} answered HTTP {http.status}: its credentials are missing, not valid any more, "
        "or not enough; set them in the headers of the source"
    )
    return ToolError(NEEDS_SIGN_IN, text, ErrorKind.NEEDS_HUMAN, http.details)


def _busy(http: HttpFailure, status: int, source: str) -> ToolError:
    """A source that wants to be left alone for a while: called too often, or not able now."""
    after = http.retry_after_seconds
    when = "" if after is None else f"; it asks to come back after {after:g} s"
    if status == _TOO_MANY:
        text = f"{source} is called too often (HTTP {status}){when}"
        return ToolError(RATE_LIMITED, text, ErrorKind.RETRYABLE, {**http.details, "sent": True})
    text = f"{source} cannot answer at the moment (HTTP {status}){when}"
    return ToolError(SOURCE_FAILED, text, ErrorKind.RETRYABLE, {**http.details, "sent": True})


def connect_failure(error: Exception, http: HttpFailure | None, seconds: float) -> ToolError:
    """Why a connection could not be made or kept.

    Args:
        error: what was raised.
        http: the last HTTP failure while the connection was being made.
        seconds: how long a connection may take.
    """
    cause = innermost(error)
    if isinstance(cause, ToolError):
        return cause
    if http is not None and http.asks_sign_in:
        return _sign_in(http, "the server")
    text = _connect_text(cause, http, seconds)
    if http is None or http.status is None:
        return ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)
    text += f" (HTTP {http.status})"
    return ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE, http.details)


def _connect_text(cause: BaseException, http: HttpFailure | None, seconds: float) -> str:
    if isinstance(cause, TimeoutError):
        return f"the server did not answer within {seconds:g} s"
    if http is not None and http.status is None:
        return f"the server cannot be reached: {http.reason}"
    if isinstance(cause, httpx2.HTTPStatusError):
        return "the server refused the connection"
    if isinstance(cause, httpx2.HTTPError | OSError):
        return f"the server cannot be reached: {str(cause) or type(cause).__name__}"
    if isinstance(cause, ValidationError):
        return "the server's first answer is not valid MCP"
    if isinstance(cause, MCPError | RequestError):
        closed = _is_closed(cause)
        return (
            "the server ended before it answered"
            if closed
            else f"the server refused: {cause.message}"
        )
    return f"{type(cause).__name__}: {cause}"


def _is_closed(error: MCPError | RequestError) -> bool:
    """Whether the SDK tells that the connection ended.

    It uses -32000 for that, which is also what many servers send for any error of their own; only
    the text tells the two apart.
    """
    return error.code == CONNECTION_CLOSED and error.message == "Connection closed"


def is_fault_of_ours(error: Exception) -> bool:
    """Whether an exception is nothing that an upstream can cause."""
    expected = (ToolError, RequestError, MCPError, ValidationError, httpx2.HTTPError, OSError)
    # The SDK raises RuntimeError for a protocol version that it does not know.
    return not isinstance(innermost(error), (*expected, httpx2.SSEError, RuntimeError))


def tell_log(source: str, error: Exception, secrets: Secrets) -> None:
    """Log why a connection failed: loudly what is a fault of ours, and without secrets."""
    # Not `logger.exception`: what others wrote into their exceptions may hold a secret.
    level = logging.ERROR if is_fault_of_ours(error) else logging.DEBUG
    if _log.isEnabledFor(level):
        told = secrets.hidden("".join(traceback.format_exception(error)))
        _log.log(level, "the connection to %r failed: %s", source, told)


def innermost(error: BaseException) -> BaseException:
    """The first exception that is no group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
