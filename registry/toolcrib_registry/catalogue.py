"""The catalogue of this process: an immutable snapshot, and the one applier that moves it forward.

Readers take `catalogue.snapshot` (no I/O, no lock). Writers pass a function from snapshot to changes; when another
process was first, it is asked again with the newer snapshot. Writers that wait at the same time share one
commit. After each step the followers are told in their fixed order (keyword index, vectors, notification).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from toolcrib_protocol.errors import STORE_BUSY, ErrorKind, ToolError

from toolcrib_registry.ports import RevisionConflict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import CatalogueStore
    from toolcrib_registry.snapshot import Snapshot

    Decide = Callable[[Snapshot], Sequence[Change]]

# Each lost race means that somebody else's commit succeeded, so the crowd always moves; a writer that loses this
# often faces a store that is busy rather than a race.
_MOST_ATTEMPTS: Final = 200
_WAIT_SECONDS: Final = 5.0


class Follower(Protocol):
    """Whoever keeps something that has to agree with the catalogue."""

    async def catalogue_changed(self, before: Snapshot, after: Snapshot) -> None:
        """The catalogue moved from `before` to `after`. Long work belongs into a task of the follower's own."""
        ...


@dataclass(slots=True, eq=False)
class _Wish:
    """A change that waits for the next commit, and what became of it."""

    decide: Decide
    is_done: bool = False
    error: Exception | None = None


@dataclass(slots=True)
class Catalogue:
    """The newest snapshot this process knows, and the way to change it."""

    store: CatalogueStore
    snapshot: Snapshot
    followers: tuple[Follower, ...] = ()
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _wishes: list[_Wish] = field(default_factory=list)

    @classmethod
    async def open(cls, store: CatalogueStore, followers: tuple[Follower, ...] = ()) -> Catalogue:
        """The catalogue of `store`, with its state loaded."""
        return cls(store, await store.snapshot(), followers)

    async def change(self, decide: Decide) -> Snapshot:
        """Commit what `decide` says about the newest snapshot; no changes, no commit.

        `decide` may be called several times and must not have effects of its own.

        Returns:
            The snapshot that holds the change.

        Raises:
            ToolError: what `decide` raised, or `store_busy`, `store_unavailable`.
        """
        wish = _Wish(decide)
        self._wishes.append(wish)
        try:
            async with self._turn:
                if not wish.is_done:
                    await self._grant_all()
        finally:
            self._wishes.remove(wish)
        if wish.error is not None:
            raise wish.error
        return self.snapshot

    async def refresh(self) -> Snapshot:
        """Catch up with what other processes committed."""
        async with self._turn:
            await self._catch_up()
        return self.snapshot

    async def follow(self) -> None:
        """Keep catching up until cancelled."""
        while True:
            if await self.store.wait_changed(self.snapshot.revision, _WAIT_SECONDS):
                await self.refresh()

    async def _grant_all(self) -> None:
        # The list stays as it is until each writer takes its own wish out: if this writer is cancelled in the
        # middle, the next one grants what is left.
        for _ in range(_MOST_ATTEMPTS):
            try:
                await self._commit([wish for wish in self._wishes if not wish.is_done])
            except RevisionConflict:
                await self._catch_up()
            else:
                return
        raise ToolError(
            STORE_BUSY,
            f"the catalogue changed {_MOST_ATTEMPTS} times while this change was tried; try again",
            ErrorKind.RETRYABLE,
        )

    async def _commit(self, wishes: list[_Wish]) -> None:
        before, after, changes = self.snapshot, self.snapshot, []
        for wish in wishes:
            decided, wish.error = _decided(wish.decide, after)
            changes.extend(decided)
            after = after.with_changes(decided, after.revision) if decided else after
        if changes:
            revision = await self.store.commit(changes, before.revision)
            await self._move(before.with_changes(changes, revision))
        for wish in wishes:
            wish.is_done = True

    async def _catch_up(self) -> None:
        before = self.snapshot
        feed = await self.store.changes_since(before.revision)
        if feed is None:
            await self._move(await self.store.snapshot())
        elif feed.changes:
            await self._move(before.with_changes(feed.changes, feed.revision))

    async def _move(self, after: Snapshot) -> None:
        before, self.snapshot = self.snapshot, after
        for follower in self.followers:
            await follower.catalogue_changed(before, after)


def _decided(decide: Decide, snapshot: Snapshot) -> tuple[Sequence[Change], Exception | None]:
    # One writer's refusal must not fail the others that share its commit.
    try:
        return decide(snapshot), None
    except ToolError as error:
        return (), error
