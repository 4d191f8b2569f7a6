"""What the ledger says when it lets a call not go on: each in words that say what to do.

Pure; used by the ledger only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import (
    ANSWER_NOT_KEPT,
    KEY_CONFLICT,
    OUTCOME_UNKNOWN,
    STORE_BUSY,
    TOOL_TIMED_OUT,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import Result
from toolcrib_registry.ledger_settling import OWNER_ENDED

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import LedgerEntry

NONE_TO_KEEP: Final = (
    "it was too large, the key ring could not seal it, or a person said that the call was done"
)
BROKEN_OFF: Final = "it was broken off before the answer came"


def conflict(entry: LedgerEntry, found: LedgerEntry) -> Result:
    """The key belongs to another call."""
    other = f"of {found.tool}" if found.tool != entry.tool else "with other arguments"
    return _refusal(
        KEY_CONFLICT,
        f"the key {entry.key!r} belongs to another call, {other}; nothing was called",
        "use a new key for a new call, and the old arguments to repeat the old one",
        ErrorKind.FATAL,
    )


def unknown(found: LedgerEntry) -> Result:
    """A call with the key was lost."""
    settle = f"toolcrib ledger settle {found.key}"
    return _refusal(
        OUTCOME_UNKNOWN,
        f"the call of {found.tool} with the key {found.key!r} was made before, and what came of it "
        f"is unknown: {found.why or OWNER_ENDED}. It was not made again",
        f"look whether it took effect; then `{settle} --done` or `{settle} --not-done`",
        ErrorKind.NEEDS_HUMAN,
    )


def still_runs(entry: LedgerEntry) -> Result:
    """The first call with the key takes longer than this one waits."""
    return _refusal(
        TOOL_TIMED_OUT,
        f"the first call of {entry.tool} with the key {entry.key!r} still runs; this one was not "
        "made, and waited as long as it may",
        "call again with the same key and arguments: the answer will be that of the first call",
        ErrorKind.RETRYABLE,
    )


def not_in_time(entry: LedgerEntry) -> Result:
    """The store took too long."""
    return _refusal(
        STORE_BUSY,
        f"the call of {entry.tool} could not be written down in time, so it was not made",
        "try again; if that happens often, look what else writes to the database",
        ErrorKind.RETRYABLE,
    )


def not_written(entry: LedgerEntry, error: ToolError) -> Result:
    """The store refused."""
    return _refusal(
        error.code,
        f"the call of {entry.tool} could not be written down, so it was not made: {error.message}",
        "mend the database; tools that are declared to only read can be called all the same",
        error.kind,
    )


def answer_not_kept(found: LedgerEntry, reason: str) -> Result:
    """The call was carried out, and nothing more is known."""
    return _refusal(
        ANSWER_NOT_KEPT,
        f"the call of {found.tool} with the key {found.key!r} was carried out before; its answer "
        f"is not kept ({reason}). It was not made again",
        "go on as after a success, or ask the tool's source for what you need of the answer",
        ErrorKind.FATAL,
    )


def _refusal(code: str, text: str, what_to_do: str, kind: ErrorKind) -> Result:
    # "why" marks an error that says itself what it did: nothing.
    details: JsonObject = {"why": "ledger", "what_to_do": what_to_do, "sent": False}
    return Result.failed(ToolError(code, f"{text}; {what_to_do}", kind, details))
