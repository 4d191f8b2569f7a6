"""What a failed request means to its sender, as a `ToolError` of the right class.

The point is honesty about calls: a request that may have been carried out without an answer is an
unknown outcome unless repeating it is harmless. Used by `connection`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
)

from toolcrib_client.failures import failure
from toolcrib_client.http_client import GAVE_UP
from toolcrib_protocol.errors import (
    INTERNAL,
    NOT_PERMITTED,
    OUTCOME_UNKNOWN,
    SOURCE_DISCONNECTED,
    TOOL_TIMED_OUT,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from mcp.shared.exceptions import MCPError

    from toolcrib_client.target import Target
    from toolcrib_protocol.json_value import Json

_KINDS: Final = frozenset(ErrorKind)
# What a server says before it begins with anything. Any other code may come from the middle of it.
_REFUSALS: Final = frozenset(
    {
        *(PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, HEADER_MISMATCH),
        *(MISSING_REQUIRED_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION),
    }
)
_WITHOUT_ANSWER: Final = frozenset({SOURCE_DISCONNECTED, TOOL_TIMED_OUT, INTERNAL})


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that failed after it was handed to the transport.

    Attributes:
        target: where it went.
        what: what it was, in words (`the call of 'time__now'`).
        may_repeat: whether sending it twice is harmless.
    """

    target: Target
    what: str
    may_repeat: bool

    def failed(self, error: MCPError) -> ToolError:
        """What the server's or the transport's error means."""
        told = read_error(error.data)
        if told is not None:
            return self._honest(told)
        if is_closed(error):
            text = f"the connection to {self.target} was lost before {self.what} was answered"
            return self._honest(failure(SOURCE_DISCONNECTED, text, ErrorKind.RETRYABLE))
        if error.code == METHOD_NOT_FOUND:
            text = f"{self.target} does not offer {self.what} ({error.message})"
            return failure(NOT_PERMITTED, text)
        if error.code in _REFUSALS:
            text = f"{self.target} refused {self.what}: {error.message} (JSON-RPC {error.code})"
            return failure(UPSTREAM_PROTOCOL, text)
        reason = f"JSON-RPC {error.code} {error.message}".rstrip()
        text = f"{self.target} failed at {self.what} ({reason}); its log has the details"
        return self._honest(failure(INTERNAL, text))

    def timed_out(self, seconds: float) -> ToolError:
        """What it means that no answer came in time."""
        text = f"{self.target} gave no answer to {self.what} within {seconds:g} s"
        return self._honest(failure(TOOL_TIMED_OUT, text, ErrorKind.RETRYABLE))

    def _honest(self, error: ToolError) -> ToolError:
        may_have_run = error.code in _WITHOUT_ANSWER or GAVE_UP in error.details
        if self.may_repeat or not may_have_run:
            return error
        return failure(
            OUTCOME_UNKNOWN,
            f"{error.message}. It may have been carried out: look before repeating it",
            ErrorKind.NEEDS_HUMAN,
            {**error.details, "cause": error.code},
        )


def is_closed(error: MCPError) -> bool:
    """Whether the SDK tells that the connection ended.

    It uses -32000 for that, which is also what many servers send for any error of their own; only
    the text tells the two apart.
    """
    return error.code == CONNECTION_CLOSED and error.message == "Connection closed"


def read_error(facts: Json) -> ToolError | None:
    """The error that `{code, message, kind, details?}` writes; None for anything else."""
    if not isinstance(facts, dict):
        return None
    code, message, kind, details = (
        facts.get(key) for key in ("code", "message", "kind", "details")
    )
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    known_kind = ErrorKind(kind) if isinstance(kind, str) and kind in _KINDS else ErrorKind.FATAL
    return failure(code, message, known_kind, details if isinstance(details, dict) else None)
