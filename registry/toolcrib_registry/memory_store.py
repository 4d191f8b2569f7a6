"""The catalogue in memory: for tests and trials, and the reference of how a store behaves.

Nothing survives the process. Several catalogues of one process may share it, as replicas share a
database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_registry.ports import FAILURES, ChangeFeed, RevisionConflict
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import SourceState

_REMEMBERED_REVISIONS: Final = 1_000


class MemoryStore:
    """A `CatalogueStore` and `SourceStates` without a file."""

    def __init__(self, *, remembered_revisions: int = _REMEMBERED_REVISIONS) -> None:
        self._state = Snapshot()
        self._log: list[tuple[Change, ...]] = []
        self._remembered = remembered_revisions
        self._changed = anyio.Event()
        self._reports: dict[str, Mapping[str, SourceState]] = {}
        self._ended: dict[str, SourceState] = {}

    async def snapshot(self) -> Snapshot:
        """The whole state at its present revision."""
        return self._state

    async def commit(self, changes: Sequence[Change], expected_revision: int) -> int:
        """Apply all `changes` as one new revision.

        Raises:
            RevisionConflict: the state is not at `expected_revision`.
            ToolError: `conflict` for a change to what is published for ever.
        """
        if expected_revision != self._state.revision:
            raise RevisionConflict(self._state.revision)
        self._state = self._state.with_changes(changes, expected_revision + 1)
        self._log.append(tuple(changes))
        del self._log[: -self._remembered]
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        return self._state.revision

    async def commit_next(
        self,
        decide: Callable[[Snapshot], Sequence[Change]],
        known: Snapshot,  # noqa: ARG002 - the port's signature
    ) -> Snapshot:
        """Commit what `decide` says about the newest state; nobody can come in between here."""
        changes = decide(self._state)
        if changes:
            await self.commit(changes, self._state.revision)
        return self._state

    async def changes_since(self, revision: int) -> ChangeFeed | None:
        """What was committed after `revision`; None beyond the remembered revisions."""
        behind = self._state.revision - revision
        if not 0 <= behind <= self._remembered:
            return None
        recent = self._log[len(self._log) - behind :]
        return ChangeFeed(
            self._state.revision, tuple(change for changes in recent for change in changes)
        )

    async def wait_changed(self, revision: int, timeout_seconds: float) -> bool:
        """True as soon as the state is beyond `revision`."""
        with anyio.move_on_after(timeout_seconds):
            while self._state.revision <= revision:
                await self._changed.wait()
        return self._state.revision > revision

    async def report(self, crib: str, states: Mapping[str, SourceState]) -> None:
        """Replace what `crib` says about its sources."""
        self._reports[crib] = states
        for source in states:
            self._ended.pop(source, None)

    async def reported(self) -> Mapping[str, SourceState]:
        """The newest state of each source."""
        newest: dict[str, SourceState] = {}
        for states in self._reports.values():
            for source, state in states.items():
                if source not in newest or newest[source].since <= state.since:
                    newest[source] = state
        return newest

    async def withdraw(self, crib: str) -> None:
        """Forget what `crib` said, but for how its sources failed."""
        said = self._reports.pop(crib, {})
        self._ended.update({k: state for k, state in said.items() if state.status in FAILURES})

    async def last_failures(self) -> Mapping[str, SourceState]:
        """How sources failed last, in cribs that run no more."""
        running = await self.reported()
        return {name: state for name, state in self._ended.items() if name not in running}

    async def aclose(self) -> None:
        """Nothing to let go of."""
