"""What failures mean, as tables: one for each way in which a source can tell that a call failed.

Read by `classification.py`, which knows in which order they hold; `docs/reliable-calls.md` shows
them. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from toolcrib_protocol import errors
from toolcrib_protocol.errors import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Mapping


class Cause(StrEnum):
    """Why a call failed."""

    NOT_SENT = "not_sent"
    """It never left the crib: no connection, no place, an open breaker."""
    CONNECTION_LOST = "connection_lost"
    """It was sent, and the connection or the process ended before an answer."""
    TIMED_OUT = "timed_out"
    """No answer in time."""
    RATE_LIMITED = "rate_limited"
    """The source takes no more calls for now."""
    SOURCE_FAULT = "source_fault"
    """The source answered that it is broken."""
    UNREADABLE = "unreadable"
    """What came back is not an answer."""
    BAD_ARGUMENTS = "bad_arguments"
    """The source does not take these arguments."""
    NOT_ALLOWED = "not_allowed"
    """Credentials are missing, not valid, or not enough."""
    TOOL_GONE = "tool_gone"
    """The source has no such tool (any more)."""
    CONFLICT = "conflict"
    """What the call wants to change has changed meanwhile."""
    QUOTA = "quota"
    """What may be used up is used up; waiting a moment does not help."""
    CANCELLED = "cancelled"
    """Somebody ended the call."""
    ASKED = "asked"
    """The tool asked something, and got no answer."""
    TOOL_SAID = "tool_said"
    """The tool failed in a way of its own."""


class Effect(StrEnum):
    """What a failed call did to the world."""

    NONE = "none"
    """Nothing: it never reached the tool."""
    UNKNOWN = "unknown"
    """It may have run."""
    DONE = "done"
    """It ran; only its answer is lost or odd."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """One row: why, what it did, and what a caller may do."""

    cause: Cause
    effect: Effect
    kind: ErrorKind


WITHOUT_ANSWER: Final = frozenset(
    {
        Cause.CONNECTION_LOST,
        Cause.TIMED_OUT,
        Cause.SOURCE_FAULT,
        Cause.UNREADABLE,
        Cause.CANCELLED,
    }
)
"""Where no answer of the tool itself came."""
_AGAIN: Final = ErrorKind.RETRYABLE
_FATAL: Final = ErrorKind.FATAL
_PERSON: Final = ErrorKind.NEEDS_HUMAN
_NOT_SENT: Final = Meaning(Cause.NOT_SENT, Effect.NONE, _AGAIN)
_LOST: Final = Meaning(Cause.CONNECTION_LOST, Effect.UNKNOWN, _AGAIN)
_REFUSED: Final = Meaning(Cause.TOOL_SAID, Effect.NONE, _FATAL)
_SIGN_IN: Final = Meaning(Cause.NOT_ALLOWED, Effect.NONE, _PERSON)
_BROKEN: Final = Meaning(Cause.SOURCE_FAULT, Effect.UNKNOWN, _AGAIN)
_BUSY: Final = Meaning(Cause.RATE_LIMITED, Effect.NONE, _AGAIN)
_GONE: Final = Meaning(Cause.TOOL_GONE, Effect.NONE, _FATAL)
_BAD: Final = Meaning(Cause.BAD_ARGUMENTS, Effect.NONE, _FATAL)
SAID: Final = Meaning(Cause.TOOL_SAID, Effect.UNKNOWN, _FATAL)
"""The tool answered that it failed, and nothing says more."""

BY_CODE: Final[Mapping[str, Meaning]] = {
    errors.SOURCE_UNAVAILABLE: _NOT_SENT,
    errors.AT_CAPACITY: _NOT_SENT,
    errors.BREAKER_OPEN: _NOT_SENT,
    errors.RATE_LIMITED: _BUSY,
    errors.SOURCE_FAILED: _BROKEN,
    errors.SOURCE_DISCONNECTED: _LOST,
    errors.TOOL_CRASHED: _LOST,
    errors.CALL_INTERRUPTED: Meaning(Cause.CANCELLED, Effect.UNKNOWN, _AGAIN),
    errors.TOOL_TIMED_OUT: Meaning(Cause.TIMED_OUT, Effect.UNKNOWN, _AGAIN),
    errors.OUTCOME_UNKNOWN: Meaning(Cause.CONNECTION_LOST, Effect.UNKNOWN, _PERSON),
    errors.UPSTREAM_PROTOCOL: Meaning(Cause.UNREADABLE, Effect.UNKNOWN, _FATAL),
    errors.NEEDS_SIGN_IN: _SIGN_IN,
    errors.NOT_PERMITTED: _SIGN_IN,
    errors.NEEDS_INPUT: Meaning(Cause.ASKED, Effect.UNKNOWN, _PERSON),
    errors.INVALID_ARGUMENTS: _BAD,
    errors.UNKNOWN_TOOL: _GONE,
    errors.NO_SUCH_VERSION: _GONE,
    errors.NOT_CALLABLE: _GONE,
}
"""What the codes of toolcrib itself mean: what adapters and stages say, and cribs behind this."""

BY_HTTP_STATUS: Final[Mapping[int, Meaning]] = {
    400: _BAD,
    401: _SIGN_IN,
    402: Meaning(Cause.QUOTA, Effect.NONE, _PERSON),
    403: _SIGN_IN,
    404: _GONE,
    405: _REFUSED,
    406: _REFUSED,
    408: Meaning(Cause.TIMED_OUT, Effect.NONE, _AGAIN),
    409: Meaning(Cause.CONFLICT, Effect.NONE, _FATAL),
    410: _GONE,
    412: Meaning(Cause.CONFLICT, Effect.NONE, _FATAL),
    413: _BAD,
    415: _REFUSED,
    422: _BAD,
    425: _BUSY,
    429: _BUSY,
    500: _BROKEN,
    501: Meaning(Cause.SOURCE_FAULT, Effect.NONE, _FATAL),
    502: _BROKEN,
    503: _BROKEN,
    504: Meaning(Cause.TIMED_OUT, Effect.UNKNOWN, _AGAIN),
    505: Meaning(Cause.SOURCE_FAULT, Effect.NONE, _FATAL),
    507: Meaning(Cause.QUOTA, Effect.UNKNOWN, _PERSON),
}
REFUSED_FOR_NOW: Final = _BUSY
"""A 503 that says when to come back: it did not try."""
OTHER_REFUSAL: Final = _REFUSED
"""Any other 4xx."""
OTHER_FAULT: Final = _BROKEN
"""Any other 5xx."""

REFUSED_ARGUMENTS: Final = _BAD
NO_SUCH_TOOL: Final = _GONE
BY_JSONRPC_CODE: Final[Mapping[int, Meaning]] = {
    -32700: _REFUSED,
    -32600: _REFUSED,
    -32601: _GONE,
    -32602: _BAD,
    -32603: Meaning(Cause.SOURCE_FAULT, Effect.UNKNOWN, _AGAIN),
    -32042: Meaning(Cause.ASKED, Effect.UNKNOWN, _PERSON),
}

_SAID_BUSY: Final = Meaning(Cause.RATE_LIMITED, Effect.UNKNOWN, _AGAIN)
_SAID_BROKEN: Final = Meaning(Cause.SOURCE_FAULT, Effect.UNKNOWN, _AGAIN)
_SAID_LATE: Final = Meaning(Cause.TIMED_OUT, Effect.UNKNOWN, _AGAIN)
_SAID_BAD: Final = Meaning(Cause.BAD_ARGUMENTS, Effect.UNKNOWN, _FATAL)
_SAID_SIGN_IN: Final = Meaning(Cause.NOT_ALLOWED, Effect.UNKNOWN, _PERSON)
_SAID_CONFLICT: Final = Meaning(Cause.CONFLICT, Effect.UNKNOWN, _FATAL)
_SAID_QUOTA: Final = Meaning(Cause.QUOTA, Effect.UNKNOWN, _PERSON)
_SAID_GONE: Final = Meaning(Cause.TOOL_GONE, Effect.UNKNOWN, _FATAL)

_WORDS: Final = (
    (
        _SAID_BUSY,
        "rate_limited rate_limit rate_limit_exceeded ratelimited too_many_requests throttled "
        "throttling throttling_exception resource_exhausted at_capacity overloaded busy",
    ),
    (_SAID_LATE, "timeout timed_out time_out deadline_exceeded gateway_timeout request_timeout"),
    (
        _SAID_BROKEN,
        "unavailable service_unavailable temporarily_unavailable internal internal_error "
        "internal_server_error server_error bad_gateway transient_error upstream_error",
    ),
    (
        _SAID_BAD,
        "invalid_arguments invalid_argument invalid_params invalid_parameters validation_error "
        "bad_request unprocessable_entity invalid_request invalid_input schema_error",
    ),
    (
        _SAID_SIGN_IN,
        "unauthorized unauthenticated forbidden permission_denied access_denied not_authorized "
        "authentication_required auth_required invalid_token token_expired invalid_api_key",
    ),
    (
        _SAID_CONFLICT,
        "conflict version_conflict precondition_failed already_exists stale aborted etag_mismatch",
    ),
    (_SAID_QUOTA, "quota quota_exceeded payment_required insufficient_funds insufficient_quota"),
    (_SAID_GONE, "tool_not_found method_not_found unknown_tool not_implemented unimplemented"),
    (Meaning(Cause.CANCELLED, Effect.UNKNOWN, _FATAL), "cancelled canceled"),
)
BY_WORD: Final[Mapping[str, Meaning]] = {
    word: meaning for meaning, words in _WORDS for word in words.split()
}
"""What codes in a structured error mean that no contract declares. The tool ran: what it did
before it failed nobody can say, so none of them makes a write repeatable."""

_UNKNOWN_TOOL: Final = r"\bunknown tool\b|\btool .{0,140}not found\b"
UNKNOWN_TOOL_WORDS: Final = re.compile(_UNKNOWN_TOOL, re.IGNORECASE)
_HTTP_IN_TEXT: Final = r"\b(?:http|status|code|error)(?:\s{1,3}(?:status|code|error)){0,3}\W{0,3}"
BY_TEXT: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), meaning)
    for pattern, meaning in (
        (_UNKNOWN_TOOL + r"|-32601", _SAID_GONE),
        (
            r"-32602|input validation error|validation errors? for\b|invalid (?:arguments?|param"
            r"eters?|params)\b|is a required property|missing (?:a )?required "
            r"(?:argument|param|field|propert)|is not of type|unexpected (?:keyword )?argument",
            _SAID_BAD,
        ),
        (
            r"\brate[- ]?limit(?:ed|s? exceeded|s? reached|ing| error)|too many requests|"
            r"\bthrottl(?:ed|ing)\b|" + _HTTP_IN_TEXT + r"429\b",
            _SAID_BUSY,
        ),
        (r"\bquota (?:is |was |has been )?exceeded|payment required|insufficient (?:funds|quota|cre"
         r"dits?)", _SAID_QUOTA),
        (
            r"\bunauthori[sz]ed\b|unauthenticated|authentication (?:is )?(?:required|failed)|"
            r"(?:invalid|expired|bad) (?:api.?key|token|credentials)|permission denied|"
            r"access denied|" + _HTTP_IN_TEXT + r"40[13]\b",
            _SAID_SIGN_IN,
        ),
        (
            r"\btimed?[- ]?out\b|deadline exceeded|" + _HTTP_IN_TEXT + r"(?:408|504)\b",
            _SAID_LATE,
        ),
        (
            r"temporar(?:y|ily) (?:unavailable|failure|error|overloaded)|service unavailable|"
            r"bad gateway|internal server error|connection (?:reset|refused|aborted|closed)|"
            r"socket hang up|econnre(?:set|fused)|try again later|" + _HTTP_IN_TEXT + r"50[023]\b",
            _SAID_BROKEN,
        ),
    )
)  # fmt: skip
"""What a tool's own words sound like, read last. They never make a write repeatable, either."""
LONGEST_TEXT: Final = 2_000
"""How much of a tool's words is looked at."""

WHAT_TO_DO: Final[Mapping[Cause, str]] = {
    Cause.NOT_SENT: "nothing was called; the same call may be made again",
    Cause.CONNECTION_LOST: "the connection ended before an answer came",
    Cause.TIMED_OUT: "ask for less at once, or allow more time (`io.toolcrib/timeout_seconds`)",
    Cause.RATE_LIMITED: "wait before calling this source again",
    Cause.SOURCE_FAULT: "the source is broken; another tool may do the same",
    Cause.UNREADABLE: "the source does not speak MCP correctly; its operator has to look",
    Cause.BAD_ARGUMENTS: "compare the arguments with the tool's input schema and change them",
    Cause.NOT_ALLOWED: "somebody has to give this source valid credentials or rights",
    Cause.TOOL_GONE: "search for a tool that does the same",
    Cause.CONFLICT: "read the present state again, then decide anew",
    Cause.QUOTA: "somebody has to raise or wait out the quota",
    Cause.CANCELLED: "the call was ended on purpose",
    Cause.ASKED: "answer the question, or call with arguments that leave none",
    Cause.TOOL_SAID: "read the tool's own words",
}
