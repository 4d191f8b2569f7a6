"""What can go wrong, in one shape that people, programs and models can act on.

`ToolError` is both an exception inside the crib and the `error` of a `Result`. A code is stable and
documented; the message says what failed, with which value, and what would mend it; the kind says
what a caller may do next. Nothing here knows transports: adapters translate their failures into
these codes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


class ErrorKind(StrEnum):
    """What a caller may do about an error."""

    RETRYABLE = "retryable"
    """The same call may work later; repeating it is safe."""
    FATAL = "fatal"
    """The same call will fail again; change the call."""
    NEEDS_HUMAN = "needs_human"
    """A person has to act or look (sign in, approve, verify a write of unknown outcome)."""


UNKNOWN_TOOL: Final = "unknown_tool"
"""No tool of that name or reference is known to this caller."""
UNKNOWN_SOURCE: Final = "unknown_source"
"""No source of that name is registered."""
UNKNOWN_GROUP: Final = "unknown_group"
"""No group of that name is known to this caller."""
UNKNOWN_PROFILE: Final = "unknown_profile"
"""No profile of that name exists."""
NO_SUCH_VERSION: Final = "no_such_version"
"""The tool exists, but no callable version lies in the range that was asked for."""
INVALID_NAME: Final = "invalid_name"
"""A source, group or tool name that cannot be used."""
INVALID_REFERENCE: Final = "invalid_reference"
"""Text that is not `group/tool` or `group/tool@range`."""
INVALID_VERSION: Final = "invalid_version"
"""Text that is not a semantic version or range."""
INVALID_ARGUMENTS: Final = "invalid_arguments"
"""The arguments do not fit the input schema; nothing was sent to the source."""
INVALID_CONTRACT: Final = "invalid_contract"
"""A contract or tool definition that cannot be registered."""
INVALID_SETTINGS: Final = "invalid_settings"
"""A configuration file, option or environment value that cannot be used."""
INVALID_JSON: Final = "invalid_json"
"""Text that is not JSON, or is beyond the limits for JSON from outside."""
NOT_CALLABLE: Final = "not_callable"
"""The tool is catalogued for reading only (a snapshot or contract file has no running source)."""
NOT_OFFERED: Final = "not_offered"
"""The source offers no such thing (resources, prompts, completions, log messages)."""
NOT_PERMITTED: Final = "not_permitted"
"""The policy refuses this caller."""
SOURCE_UNAVAILABLE: Final = "source_unavailable"
"""The source is not connected; the call did not leave the crib."""
SOURCE_DISCONNECTED: Final = "source_disconnected"
"""The source went away after the call was sent; for a tool that only reads, repeating is safe."""
OUTCOME_UNKNOWN: Final = "outcome_unknown"
"""A call that may have had an effect was sent and no answer came; verify before repeating."""
NEEDS_SIGN_IN: Final = "needs_sign_in"
"""The source asks for credentials that are missing or no longer valid."""
NEEDS_INPUT: Final = "needs_input"
"""The tool asks its caller something before it can go on, and got no answer."""
CALL_NOT_HERE: Final = "call_not_here"
"""An answer came for a call that waits in another process, or does not wait any more."""
TOOL_TIMED_OUT: Final = "tool_timed_out"
"""No answer inside the time limit; the call may have run."""
TOOL_FAILED: Final = "tool_failed"
"""The tool ran and reported an error of its own."""
TOOL_CRASHED: Final = "tool_crashed"
"""The process that ran the tool ended during the call."""
CALL_INTERRUPTED: Final = "call_interrupted"
"""The crib was told to end while the call ran; the call may have run."""
UPSTREAM_PROTOCOL: Final = "upstream_protocol"
"""The source answered with something that is not a valid result."""
AT_CAPACITY: Final = "at_capacity"
"""A queue is full; come back after the stated time."""
RATE_LIMITED: Final = "rate_limited"
"""The source says that it is called too often (HTTP 429); come back after the stated time."""
SOURCE_FAILED: Final = "source_failed"
"""The source answered that something is wrong with itself (HTTP 5xx)."""
BREAKER_OPEN: Final = "breaker_open"
"""The tool failed again and again and is not called for a while; nothing was sent."""
REPEATED_CALL: Final = "repeated_call"
"""The same call had the same answer before; nothing was sent."""
KEY_CONFLICT: Final = "key_conflict"
"""The idempotency key belongs to another call; nothing was sent."""
ANSWER_NOT_KEPT: Final = "answer_not_kept"
"""The call with this key was carried out, and its answer is not kept; nothing was sent."""
UNKNOWN_HANDLE: Final = "unknown_handle"
"""No kept result of that name is known to this caller; it may have expired."""
INVALID_EXPRESSION: Final = "invalid_expression"
"""An expression that cannot be read, or that fails on this data."""
EXPRESSION_BUDGET: Final = "expression_budget"
"""An expression that would take too much time or room."""
CONFLICT: Final = "conflict"
"""Somebody else changed the same thing first, or the name is already taken by another."""
NEWER_STORE: Final = "newer_store"
"""The database was written by a newer toolcrib."""
STORE_BUSY: Final = "store_busy"
"""The database is locked by another writer for longer than the wait allows."""
STORE_UNAVAILABLE: Final = "store_unavailable"
"""The database cannot be opened or reached."""
MISSING_EXTRA: Final = "missing_extra"
"""An optional part is not installed; the message names the extra."""
INTERNAL: Final = "internal"
"""A fault of toolcrib itself; the log has the details."""


class ToolError(Exception):
    """A failure with a stable code, a message that teaches, and what may be done next.

    Attributes:
        code: one of the constants of this module, or a code the tool's contract declares.
        message: what failed, with which value, and what would mend it.
        kind: whether to retry, change the call, or ask a person.
        details: facts for programs (for example `{"nearest": [...]}`); JSON values only.
    """

    def __init__(
        self,
        code: str,
        message: str,
        kind: ErrorKind = ErrorKind.FATAL,
        details: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.kind = kind
        self.details: JsonObject = details or {}

    def __repr__(self) -> str:
        return f"ToolError({self.code!r}, {self.message!r}, {self.kind.value!r})"

    def as_json(self) -> JsonObject:
        """The error as `{code, message, kind, details?}`, for wires and files."""
        facts: JsonObject = {"code": self.code, "message": self.message, "kind": self.kind.value}
        if self.details:
            facts["details"] = self.details
        return facts
