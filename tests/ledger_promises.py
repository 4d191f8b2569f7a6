"""What toolcrib promises of the ledger, the repeat guard and the cache; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

LEDGER: Final = (
    Promise(
        "ledger-key-travels",
        "An idempotency key reaches the tool where its contract says: argument, header or `_meta`; "
        "a call without one gets a key of its own there, so that the crib may repeat it.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-odd-keys",
        "A key that cannot be one (empty, too long, with control characters, not ASCII in a "
        "header) is refused before anything is called.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-intent-first",
        "What is not declared to only read is written down durably before it is sent; if that "
        "fails, nothing is sent.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-retention",
        "Finished entries of the ledger are dropped after a day, those of unknown outcome after "
        "thirty, in bounded steps.",
        "issue 4, section 3",
    ),
    Promise(
        "ledger-once-per-key",
        "A call with an idempotency key is carried out once: a second one, in the same process or "
        "another, waits for the first and gets its answer, also after a restart.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-key-conflict",
        "A key that came with another tool or other arguments is a conflict; keys are each "
        "caller's own, and never made of arguments.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-failures-not-kept",
        "A failure that had no effect, or that the tool itself told, is not kept: the same call "
        "with the same key may be tried again.",
        "field case O-45",
    ),
    Promise(
        "ledger-lost-stays-unknown",
        "A write whose answer was lost is of unknown outcome, and is not made again with its key, "
        "until a person settles it.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-known-key-goes-again",
        "A lost write whose key the tool knows may be sent again with that key.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-dead-owner",
        "What a process was carrying out when it died is of unknown outcome, and told so at once "
        "on the same machine; a living one is never taken for dead while its lease is renewed.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-answers-sealed",
        "Answers in the ledger are encrypted and bounded; one that is not kept is told to be done, "
        "and is never brought about by calling again.",
        "issue 4, section 2",
    ),
    Promise(
        "field-o45-keys",
        "Same key and same arguments: one write however often it is called; other arguments: a "
        "conflict; lost: `outcome_unknown`, also across restarts.",
        "field case O-45",
    ),
)
