"""The ledger in memory: for tests and trials, and the reference of how a ledger's store behaves.

Nothing survives the process. Several ledgers of one process may share it, as processes share a
database.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from toolcrib_registry.ports import EntryState, LedgerEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class MemoryLedger:
    """A `LedgerStore` without a file."""

    def __init__(self) -> None:
        self._entries: dict[str, LedgerEntry] = {}

    async def begin(self, entry: LedgerEntry) -> LedgerEntry | None:
        """Write `entry` down, or return the one that has its key."""
        await checkpoint()
        found = self._of_key(entry)
        if found is None:
            self._entries[entry.id] = entry
        return found

    async def take_over(self, found: LedgerEntry, entry: LedgerEntry) -> bool:
        """Put `entry` in the place of `found`."""
        await checkpoint()
        known = self._entries.get(found.id)
        if known is None or known.state is not found.state:
            return False
        del self._entries[found.id]
        self._entries[entry.id] = entry
        return True

    async def finish(self, entry_id: str, answer: bytes | None, at: float) -> None:
        """The call was carried out."""
        await checkpoint()
        self._change(entry_id, EntryState.DONE, at, answer=answer)

    def doubt(self, entry_id: str, why: str, at: float) -> None:
        """The call may have been carried out."""
        known = self._entries.get(entry_id)
        if known is not None and known.state is EntryState.RUNNING:
            self._change(entry_id, EntryState.UNKNOWN, at, why=why)

    def forget(self, entry_id: str) -> None:
        """Nothing is left to be known about the call."""
        self._entries.pop(entry_id, None)

    def renew(self, entry_ids: Collection[str], lease: float) -> None:
        """The owner of these entries lives."""
        for entry_id in self._entries.keys() & {*entry_ids}:
            self._entries[entry_id] = replace(self._entries[entry_id], lease=lease)

    async def entries(
        self, states: Collection[EntryState], limit: int, *, named: str | None = None
    ) -> Sequence[LedgerEntry]:
        """Entries, the newest first, without their answers."""
        await checkpoint()
        found = [
            replace(entry, answer=None)
            for entry in self._entries.values()
            if entry.state in states and named in {None, entry.key, entry.id}
        ]
        return sorted(found, key=_newest)[:limit]

    async def aclose(self) -> None:
        """Nothing is left to be written."""
        await checkpoint()

    def _of_key(self, wanted: LedgerEntry) -> LedgerEntry | None:
        if wanted.key is None:
            return None
        whose = (wanted.caller, wanted.key)
        entries = self._entries.values()
        return next((entry for entry in entries if (entry.caller, entry.key) == whose), None)

    def _change(
        self,
        entry_id: str,
        state: EntryState,
        at: float,
        *,
        answer: bytes | None = None,
        why: str = "",
    ) -> None:
        known = self._entries.get(entry_id)
        if known is not None:
            self._entries[entry_id] = replace(known, state=state, ended=at, answer=answer, why=why)


def _newest(entry: LedgerEntry) -> tuple[float, str]:
    return (-entry.began, entry.id)
