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
)
