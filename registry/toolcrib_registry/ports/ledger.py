"""Where it is written down, before anything is sent, that a call is about to change something."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class EntryState(StrEnum):
    """What is known about a call in the ledger."""

    RUNNING = "running"
    """It was about to be sent; while its owner lives, it is under way."""
    DONE = "done"
    """It was carried out; what it brought is kept."""
    UNKNOWN = "unknown"
    """It may have been carried out; somebody has to look."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One call that may change something. Times are seconds since 1970, UTC.

    Attributes:
        id: of the call.
        caller: whose call it is.
        key: the caller's idempotency key, unique among its entries; None if it gave none.
        tool: `group/name`.
        version: of the tool.
        digest: of the arguments; only tells whether a key is used for two different calls.
        owner: the running crib that carries it out.
        lease: until when the owner counts as alive unless it says so again.
        began: when it was written down.
        state: what is known.
        ended: when that became known; None while it runs.
        answer: the sealed answer, if it is kept.
        why: why the outcome is unknown, in words.
    """

    id: str
    caller: str
    key: str | None
    tool: str
    version: str
    digest: str
    owner: str
    lease: float
    began: float
    state: EntryState = EntryState.RUNNING
    ended: float | None = None
    answer: bytes | None = None
    why: str = ""


class LedgerStore(Protocol):
    """Where the ledger is kept. What was asked first is written first."""

    async def begin(self, entry: LedgerEntry) -> LedgerEntry | None:
        """Write `entry` down, durably; or, if its caller used its key before, return that entry.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        ...

    async def take_over(self, found: LedgerEntry, entry: LedgerEntry) -> bool:
        """Put `entry` in the place of `found`, durably; False if that is not there as it was.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        ...

    async def finish(self, entry_id: str, answer: bytes | None, at: float) -> None:
        """The call was carried out.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        ...

    def doubt(self, entry_id: str, why: str, at: float) -> None:
        """The call may have been carried out. Written soon; nobody waits for it."""
        ...

    def forget(self, entry_id: str) -> None:
        """Nothing is left to be known about the call. Written soon; nobody waits for it."""
        ...

    def renew(self, entry_ids: Collection[str], lease: float) -> None:
        """The owner of these entries lives. Written soon; nobody waits for it."""
        ...

    async def entries(
        self, states: Collection[EntryState], limit: int, *, named: str | None = None
    ) -> Sequence[LedgerEntry]:
        """Entries, the newest first, without their answers.

        Args:
            states: in one of these.
            limit: at most so many.
            named: only those with this key or id.
        """
        ...

    async def aclose(self) -> None:
        """Write what is still to be written."""
        ...


class Owners(Protocol):
    """Who carries calls out, and whether they still live."""

    @property
    def me(self) -> str:
        """The name of this running crib."""
        ...

    def runs(self, owner: str) -> bool | None:
        """Whether an owner's process runs; None if that cannot be told from here."""
        ...
