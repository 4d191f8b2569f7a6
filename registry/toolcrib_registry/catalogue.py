"""The catalogue of this process: an immutable snapshot, and the one applier that moves it forward.

Readers take `catalogue.snapshot` (no I/O, no lock). Writers pass a function from snapshot to
changes; when another process was first, it is asked again with the newer snapshot. Writers that
wait at the same time share one commit. After each step the followers are told in their fixed order
(keyword index, vectors, notification).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from toolcrib_protocol.errors import ToolError
from toolcrib_registry.ports import RevisionConflict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import CatalogueStore
    from toolcrib_registry.snapshot import Snapshot

    Decide = Callable[[Snapshot], Sequence[Change]]

_log = logging.getLogger(__name__)

_WAIT_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 2.0


class Follower(Protocol):
    """Whoever keeps something that has to agree with the catalogue."""

    async def catalogue_changed(self, before: Snapshot, after: Snapshot) -> None:
        """The catalogue moved from `before` to `after`.

        Long work belongs into a task of the follower's own.
        """
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
    retry_seconds: float = _RETRY_SECONDS
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _wishes: list[_Wish] = field(default_factory=list)

    @classmethod
    async def open(cls, store: CatalogueStore, followers: tuple[Follower, ...] = ()) -> Catalogue:
        """The catalogue of `store`, with its state loaded."""
        return cls(store, await store.snapshot(), followers)

    async def change(self, decide: Decide) -> Snapshot:
        """Commit what `decide` says about the newest snapshot; no changes, no commit.

        `decide` may be called several times, also on another thread, and must not have effects of
        its own.

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
        """Keep catching up until cancelled; a store that is away for a while is waited for.

        Calls and searches need the snapshot only, so they go on meanwhile.
        """
        while True:
            try:
                await self._follow_once()
            except ToolError as error:
                _log.warning("cannot follow the catalogue, trying again: %s", error.message)
                await anyio.sleep(self.retry_seconds)

    async def _follow_once(self) -> None:
        if await self.store.wait_changed(self.snapshot.revision, _WAIT_SECONDS):
            await self.refresh()

    async def _grant_all(self) -> None:
        # The list stays as it is until each writer takes its own wish out: if this writer is
        # cancelled in the middle, the next one grants what is left.
        wishes = [wish for wish in self._wishes if not wish.is_done]
        try:
            await self._commit(wishes)
        except RevisionConflict:
            # Racing on would never end beside a process that commits without a pause: its state
            # is always the newest.
            await self._commit_next(wishes)

    async def _commit(self, wishes: list[_Wish]) -> None:
        before = self.snapshot
        changes = _decided(wishes, before)
        # A writer that is cancelled now must not leave a commit that only some of us know of.
        with anyio.CancelScope(shield=True):
            revision = before.revision
            if changes:
                revision = await self.store.commit(changes, revision)
            after = before.with_changes(changes, revision) if changes else before
            await self._grant(wishes, after)

    async def _commit_next(self, wishes: list[_Wish]) -> None:
        with anyio.CancelScope(shield=True):
            decide = partial(_decided, wishes)
            await self._grant(wishes, await self.store.commit_next(decide, self.snapshot))

    async def _grant(self, wishes: list[_Wish], after: Snapshot) -> None:
        for wish in wishes:
            wish.is_done = True
        if after.revision != self.snapshot.revision:
            await self._move(after)

    async def _catch_up(self) -> None:
        before = self.snapshot
        feed = await self.store.changes_since(before.revision)
        if feed is None:
            await self._move(await self.store.snapshot())
        elif feed.revision != before.revision:
            await self._move(before.with_changes(feed.changes, feed.revision))

    async def _move(self, after: Snapshot) -> None:
        before, self.snapshot = self.snapshot, after
        # All followers or none: one that missed a step would disagree with the catalogue from then
        # on.
        with anyio.CancelScope(shield=True):
            for follower in self.followers:
                await follower.catalogue_changed(before, after)


def _decided(wishes: Sequence[_Wish], snapshot: Snapshot) -> list[Change]:
    """The changes of all wishes, each decided on the state that the ones before it leave."""
    changes: list[Change] = []
    for wish in wishes:
        wish.error = None
        try:
            wanted = wish.decide(snapshot)
            snapshot = snapshot.with_changes(wanted, snapshot.revision) if wanted else snapshot
        except Exception as error:  # noqa: BLE001 - raised where the wish came from; others share this commit
            wish.error = error
        else:
            changes.extend(wanted)
    return changes
