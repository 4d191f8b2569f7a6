"""Looking through the ledger, and settling by hand what nobody else can know.

For a person: which calls were lost, and the word of somebody who looked whether they took effect.
Calls themselves are booked by `ledger.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import CONFLICT, INVALID_SETTINGS, ErrorKind, ToolError
from toolcrib_registry.ports import EntryState

if TYPE_CHECKING:
    from toolcrib_registry.ports import LedgerEntry, LedgerStore, Owners

OWNER_ENDED: Final = "the process that carried it out ended before the answer came"
_MOST_OF_ONE_NAME: Final = 100


def is_alive(entry: LedgerEntry, owners: Owners, now: float) -> bool:
    """Whether whoever carries a call out still does."""
    return entry.lease > now and owners.runs(entry.owner) is not False


def as_known(entry: LedgerEntry, owners: Owners, now: float) -> LedgerEntry:
    """The entry with what can be told of it: one whose owner is dead is of unknown outcome."""
    if entry.state is not EntryState.RUNNING or is_alive(entry, owners, now):
        return entry
    return replace(entry, state=EntryState.UNKNOWN, why=OWNER_ENDED)


async def listed(
    store: LedgerStore, owners: Owners, now: float, *, limit: int, only_unknown: bool
) -> list[LedgerEntry]:
    """Entries as they are known, the newest first."""
    doubtful = {EntryState.RUNNING, EntryState.UNKNOWN}
    states = doubtful if only_unknown else {*EntryState}
    known = [as_known(entry, owners, now) for entry in await store.entries(states, limit)]
    return [entry for entry in known if not only_unknown or entry.state is EntryState.UNKNOWN]


async def settle(
    store: LedgerStore,
    owners: Owners,
    now: float,
    named: str,
    *,
    caller: str | None,
    was_done: bool,
) -> LedgerEntry:
    """The lost call with that key or id, settled: it took effect, or may be made again.

    Raises:
        ToolError: `invalid_settings` if there is no such lost call, or several callers have one;
            `conflict` if it still runs.
    """
    entry = await _lost(store, owners, now, named, caller)
    if was_done and entry.key is not None:
        await store.finish(entry.id, None, now)
    else:
        store.forget(entry.id)
    return entry


async def _lost(
    store: LedgerStore, owners: Owners, now: float, named: str, caller: str | None
) -> LedgerEntry:
    states = {EntryState.RUNNING, EntryState.UNKNOWN}
    found = [
        as_known(entry, owners, now)
        for entry in await store.entries(states, _MOST_OF_ONE_NAME, named=named)
        if caller in {None, entry.caller}
    ]
    if not found:
        text = (
            f"no lost call has the key or id {named!r}; `toolcrib ledger list --unknown` shows them"
        )
        raise ToolError(INVALID_SETTINGS, text)
    if len(found) > 1:
        callers = ", ".join(sorted(entry.caller for entry in found))
        text = f"several callers used the key {named!r}; choose one with --caller: {callers}"
        raise ToolError(INVALID_SETTINGS, text)
    if found[0].state is EntryState.RUNNING:
        text = f"the call {named!r} of {found[0].tool} still runs; wait for its end"
        raise ToolError(CONFLICT, text, ErrorKind.RETRYABLE)
    return found[0]
