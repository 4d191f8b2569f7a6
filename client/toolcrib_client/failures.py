"""The typed errors: one class for each thing a caller may want to catch by itself.

All of them are `ToolError`s and carry the same facts (code, message, kind, details); the class only
spares comparing codes. `typed` chooses the class, when an error is read from the wire or made by
the client.
"""

# Named for what happened, as they are read in `except`: an "Error" at the end would say nothing.
# ruff: noqa: N818
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol import errors
from toolcrib_protocol.errors import ErrorKind, ToolError

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result


class UnknownTool(ToolError):
    """No such tool, group, or version of it; `details["nearest"]` may name some that exist."""


class InvalidArguments(ToolError):
    """The arguments do not fit, or name what there is not; nothing was sent to the source."""


class InvalidContract(ToolError):
    """What was to be published, or asked for, is not formed as it must be."""


class NotPermitted(ToolError):
    """The crib, or this endpoint of it, does not let this caller do that."""


class NotCallable(ToolError):
    """The tool is catalogued for reading only."""


class SourceUnavailable(ToolError):
    """The tool's source, or the crib itself, cannot be reached; the call was not made."""


class SourceDisconnected(SourceUnavailable):
    """The source, or the crib, went away during a call that is harmless to repeat."""


class AtCapacity(ToolError):
    """A queue is full, or a limit reached; the message says when to come back."""


class ToolTimedOut(ToolError):
    """A call that is harmless to repeat, or a question, got no answer in time."""


class ToolFailed(ToolError):
    """The tool ran and failed; the code is `tool_failed` or one that its contract declares."""


class ToolCrashed(ToolFailed):
    """The process that ran the tool ended during the call."""


class BadAnswer(ToolError):
    """Something that is not a valid answer came back."""


class NeedsHuman(ToolError):
    """A person has to act or look before anything is repeated."""


class OutcomeUnknown(NeedsHuman):
    """A call that may have had an effect was sent and no answer came: look before repeating it."""


class NeedsSignIn(NeedsHuman):
    """Credentials are missing or no longer valid."""


class NeedsInput(NeedsHuman):
    """The tool asks something before it can go on, and nobody answered."""


_CLASSES: Final[dict[str, type[ToolError]]] = {
    errors.UNKNOWN_TOOL: UnknownTool,
    errors.UNKNOWN_GROUP: UnknownTool,
    errors.UNKNOWN_PROFILE: UnknownTool,
    errors.NO_SUCH_VERSION: UnknownTool,
    errors.INVALID_ARGUMENTS: InvalidArguments,
    errors.INVALID_REFERENCE: InvalidArguments,
    errors.INVALID_VERSION: InvalidArguments,
    errors.INVALID_NAME: InvalidArguments,
    errors.INVALID_JSON: InvalidArguments,
    errors.INVALID_CONTRACT: InvalidContract,
    errors.NOT_PERMITTED: NotPermitted,
    errors.NOT_CALLABLE: NotCallable,
    errors.SOURCE_UNAVAILABLE: SourceUnavailable,
    errors.SOURCE_DISCONNECTED: SourceDisconnected,
    errors.CALL_INTERRUPTED: SourceDisconnected,
    errors.AT_CAPACITY: AtCapacity,
    errors.RATE_LIMITED: AtCapacity,
    errors.BREAKER_OPEN: SourceUnavailable,
    errors.SOURCE_FAILED: BadAnswer,
    errors.UNKNOWN_HANDLE: InvalidArguments,
    errors.INVALID_EXPRESSION: InvalidArguments,
    errors.EXPRESSION_BUDGET: InvalidArguments,
    errors.REPEATED_CALL: ToolError,
    errors.KEY_CONFLICT: ToolError,
    errors.ANSWER_NOT_KEPT: ToolError,
    errors.TOOL_TIMED_OUT: ToolTimedOut,
    errors.TOOL_FAILED: ToolFailed,
    errors.TOOL_CRASHED: ToolCrashed,
    errors.UPSTREAM_PROTOCOL: BadAnswer,
    errors.OUTCOME_UNKNOWN: OutcomeUnknown,
    errors.NEEDS_SIGN_IN: NeedsSignIn,
    errors.NEEDS_INPUT: NeedsInput,
    # Faults of the crib's keeper: nothing a caller could do differently, so no class of their own.
    errors.UNKNOWN_SOURCE: ToolError,
    errors.NOT_OFFERED: ToolError,
    errors.CALL_NOT_HERE: ToolError,
    errors.INVALID_SETTINGS: ToolError,
    errors.CONFLICT: ToolError,
    errors.NEWER_STORE: ToolError,
    errors.STORE_BUSY: ToolError,
    errors.STORE_UNAVAILABLE: ToolError,
    errors.MISSING_EXTRA: ToolError,
    errors.INTERNAL: ToolError,
}


def class_of(code: str, kind: ErrorKind) -> type[ToolError]:
    """The class for a code; a code that is none of the crib's own was declared by the tool."""
    known = _CLASSES.get(code)
    if known is not None and (known is not ToolError or kind is not ErrorKind.NEEDS_HUMAN):
        return known
    return NeedsHuman if kind is ErrorKind.NEEDS_HUMAN else ToolFailed


def failure(
    code: str, message: str, kind: ErrorKind = ErrorKind.FATAL, details: JsonObject | None = None
) -> ToolError:
    """A new error of the class that belongs to `code`."""
    return class_of(code, kind)(code, message, kind, details)


def typed(error: ToolError) -> ToolError:
    """The same error, as the class that belongs to its code."""
    return failure(error.code, error.message, error.kind, error.details)


def with_typed_error(result: Result) -> Result:
    """The same result, whose error, if it has one, is of the class that belongs to its code."""
    return result if result.error is None else replace(result, error=typed(result.error))
