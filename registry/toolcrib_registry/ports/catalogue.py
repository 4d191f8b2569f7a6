"""Where the catalogue and the states of sources are kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolcrib_registry.changes import Change
    from toolcrib_registry.snapshot import Snapshot


class RevisionConflict(Exception):  # noqa: N818 - it is an answer, not a fault
    """Somebody else committed first; read their changes and decide again."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the catalogue is at revision {current} already")
        self.current = current


@dataclass(frozen=True, slots=True)
class ChangeFeed:
    """All changes after the revision that was asked about, up to `revision`, in commit order."""

    revision: int
    changes: tuple[Change, ...]


class CatalogueStore(Protocol):
    """Where the catalogue is kept. The store is the truth; snapshots and indexes follow it."""

    async def snapshot(self) -> Snapshot:
        """The whole state at its present revision."""
        ...

    async def commit(self, changes: Sequence[Change], expected_revision: int) -> int:
        """Make all `changes` durable at once, as one new revision, and return its number.

        Raises:
            RevisionConflict: the catalogue is not at `expected_revision` any more; nothing was
                written.
            ToolError: `conflict`, `store_busy` or `store_unavailable`.
        """
        ...

    async def commit_next(
        self, decide: Callable[[Snapshot], Sequence[Change]], known: Snapshot
    ) -> Snapshot:
        """Let `decide` choose the changes on the newest state while others wait, and commit them.

        For a writer that keeps losing: one that commits without a pause always sees the newest
        state first. `decide` is called at most once, maybe on another thread, and no longer than
        others can wait; if it wants no changes, nothing is written. `known` spares reading again.

        Returns:
            The newest state, with the changes.

        Raises:
            ToolError: `store_busy` or `store_unavailable`, or what `decide` raised.
        """
        ...

    async def changes_since(self, revision: int) -> ChangeFeed | None:
        """What was committed after `revision`; None if that is too long ago to tell (reload)."""
        ...

    async def wait_changed(self, revision: int, timeout_seconds: float) -> bool:
        """Return True as soon as the store is beyond `revision`, False when the time is up."""
        ...

    async def aclose(self) -> None:
        """Let go of files and connections."""
        ...


class SourceStatus(StrEnum):
    """What a source is doing."""

    CONNECTING = "connecting"
    READY = "ready"
    IDLE = "idle"
    """Nothing runs; the first call starts it."""
    NEEDS_SIGN_IN = "needs_sign_in"
    FAILED = "failed"
    STOPPED = "stopped"


FAILURES: Final = frozenset({SourceStatus.FAILED, SourceStatus.NEEDS_SIGN_IN})
"""The states that somebody has to do something about."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """What a source is doing, since when (UTC, ISO 8601), why, and when it is tried again."""

    status: SourceStatus
    since: str
    reason: str = ""
    retry_at: str | None = None
    answered: int = 0  # the number of the newest `AskAgain` that it has answered


class SourceStates(Protocol):
    """A board where each running crib pins the states of its sources, for other processes to read.

    Not part of the catalogue: no revision, no history.
    """

    async def report(self, crib: str, states: Mapping[str, SourceState]) -> None:
        """Replace what the crib called `crib` (one running process) says."""
        ...

    async def reported(self) -> Mapping[str, SourceState]:
        """The newest state of each source, from cribs that are still running."""
        ...

    async def last_failures(self) -> Mapping[str, SourceState]:
        """How sources failed last in cribs that run no more.

        None of a source that a running crib reports, or that was well when its crib ended.
        """
        ...

    async def withdraw(self, crib: str) -> None:
        """Remove what the crib said; it is ending."""
        ...


class CribStore(CatalogueStore, SourceStates, Protocol):
    """Both in one database, as a crib is composed."""
