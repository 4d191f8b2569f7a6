"""What a failure of an upstream means: the errors of SDK, HTTP and processes as ours.

Pure: an exception in, a `ToolError` out. Texts are bounded; secrets are hidden by the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, REQUEST_TIMEOUT

from toolcrib_protocol.errors import (
    AT_CAPACITY,
    INVALID_ARGUMENTS,
    NEEDS_SIGN_IN,
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    TOOL_FAILED,
    TOOL_TIMED_OUT,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from toolcrib_adapters.sources.mcp_upstream.http_answers import HttpAnswer

_LONGEST_TEXT: Final = 2_000
_SIGN_IN: Final = frozenset({401, 403})
_BUSY: Final = frozenset({429, 503})
_GONE: Final = frozenset({404, 410})


def call_failure(
    error: MCPError, source: str, answer: HttpAnswer | None, timeout_seconds: float
) -> ToolError:
    """What a failed `tools/call` means to its caller."""
    if error.code == REQUEST_TIMEOUT:
        text = f"{source} gave no answer within {timeout_seconds:g} s; the call may have run"
        return ToolError(TOOL_TIMED_OUT, text, ErrorKind.RETRYABLE)
    if error.code == CONNECTION_CLOSED:
        return ToolError(
            SOURCE_DISCONNECTED, f"the connection to {source} ended during the call", ErrorKind.RETRYABLE
        )
    if answer is not None:
        return _http_failure(answer, source, error.message)
    code = INVALID_ARGUMENTS if error.code == INVALID_PARAMS else TOOL_FAILED
    return ToolError(
        code,
        f"{source} refused the call: {error.message[:_LONGEST_TEXT]}",
        details={"jsonrpc_code": error.code},
    )


def _http_failure(answer: HttpAnswer, source: str, message: str) -> ToolError:
    status = answer.status
    details = {"http_status": status, "retry_after": answer.retry_after}
    if status in _SIGN_IN:
        text = f"{source} answered HTTP {status}: its credentials are missing or not valid any more"
        return ToolError(NEEDS_SIGN_IN, text, ErrorKind.NEEDS_HUMAN, {**details})
    if status in _BUSY:
        when = f"; it asks to come back after {answer.retry_after} s" if answer.retry_after else ""
        text = f"{source} is at capacity (HTTP {status}){when}"
        return ToolError(AT_CAPACITY, text, ErrorKind.RETRYABLE, {**details})
    text = f"{source} answered HTTP {status}: {message[:_LONGEST_TEXT]}"
    return ToolError(TOOL_FAILED, text, ErrorKind.FATAL, {**details})


def is_lost_session(answer: HttpAnswer | None) -> bool:
    """Whether the server has forgotten this connection's session."""
    return answer is not None and answer.status in _GONE


def connect_failure(error: BaseException, answer: HttpAnswer | None, seconds: float) -> ToolError:
    """Why a connection could not be made or kept."""
    cause = _innermost(error)
    if answer is not None and answer.status in _SIGN_IN:
        return _http_failure(answer, "the server", "")
    if isinstance(cause, ToolError):
        return cause
    if isinstance(cause, TimeoutError):
        text = f"the server did not answer within {seconds:g} s"
    elif isinstance(cause, httpx2.HTTPError | OSError):
        text = f"the server cannot be reached: {str(cause) or type(cause).__name__}"
    elif isinstance(cause, MCPError) and cause.code == CONNECTION_CLOSED:
        text = "the server ended before it answered"
    elif isinstance(cause, MCPError):
        text = f"the server refused: {cause.message[:_LONGEST_TEXT]}"
    else:
        text = f"{type(cause).__name__}: {str(cause)[:_LONGEST_TEXT]}"
    if answer is not None:
        text += f" (HTTP {answer.status})"
    return ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
