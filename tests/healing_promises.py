"""What toolcrib promises of retries, breakers, fallbacks and time limits; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

HEALING: Final = (
    Promise(
        "healing-classification",
        "Each failure has a cause, an effect and a kind: the contract's own codes decide first, "
        "then how the transport ended, HTTP status, JSON-RPC code, a structured error, and words "
        "last; codes that nobody declared and words never make a write repeatable.",
        "issue 4, section 3",
    ),
    Promise(
        "field-o45-writes-once",
        "A call is repeated only if its tool only reads or is idempotent, if it provably never "
        "ran, or if the contract says how its key travels; a lost write is of unknown outcome.",
        "field case O-45",
    ),
    Promise(
        "healing-retry",
        "A harmless call is repeated after pauses with full jitter, within its time limit, as "
        "often as the operator allows; the answer tells how often, why, and how long it waited.",
        "issue 4, section 3",
    ),
    Promise(
        "healing-retry-after",
        "A source that says when to come back is not called sooner; if that is too late for the "
        "call, its caller is told at once.",
        "issue 4, section 3",
    ),
    Promise(
        "healing-retry-budget",
        "A source gets retries for a fifth of its calls, and always a few: no storm builds.",
        "issue 4, section 3",
    ),
    Promise(
        "healing-rejected-arguments",
        "Arguments that a source refuses go once more through repair, and the call is repeated "
        "once if it provably had no effect.",
        "issue 4, section 3",
    ),
    Promise(
        "healing-breaker",
        "A tool whose source keeps failing is not called for a while and says when it is tried "
        "again; one call at a time looks whether it works, and what it finds is always booked.",
        "issue 4, section 3",
    ),
    Promise(
        "healing-fallback",
        "Equivalent tools, declared or derived, answer where a tool that only reads cannot; a "
        "write goes to a declared one if it provably did nothing; then a degraded form answers. "
        "The answer says so.",
        "issue 4, section 3",
    ),
    Promise(
        "field-o42-fallback",
        "No fallback reaches a tool that its caller may not use or does not see.",
        "field case O-42",
    ),
    Promise(
        "healing-time-limits",
        "The caller, the tool, its group, its source and a default decide in this order how long "
        "a call may take; queues, pauses and attempts count; nothing goes beyond the cap.",
        "field case O-30",
    ),
    Promise(
        "healing-shape",
        "A result of the wrong shape that can be brought into shape without loss is; otherwise it "
        "is delivered with a flag. It is never called for again.",
        "issue 4, section 3",
    ),
    Promise(
        "field-o30-progress",
        "Where it is set, progress begins the time anew, up to an absolute cap; a time-out says "
        "that the call may have run, and the source is told to cancel.",
        "field case O-30",
    ),
    Promise(
        "field-o17-silence",
        "A source that dies or falls silent during a call ends the call at once or at its "
        "deadline, classified.",
        "field case O-17",
    ),
    Promise(
        "healing-defaults",
        "One table has all defaults of the path of a call, and `toolcrib show` says what holds "
        "for a tool and who decided it.",
        "issue 4, section 3",
    ),
    Promise(
        "cli-rules-unreadable",
        "Rules that cannot be read, or that a newer release wrote, stop no command and no crib: "
        "careful ones hold in their place, `rules list` and `doctor` say so, and they can be set "
        "and dropped.",
        "issue 4, section 3",
    ),
)
