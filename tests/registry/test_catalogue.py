"""The catalogue of a process: one applier, many writers, followers that never miss a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.samples import next_version, published, source, version
from toolcrib_protocol.errors import CONFLICT, STORE_UNAVAILABLE, UNKNOWN_SOURCE, ToolError
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import DropSource, PutSource
from toolcrib_registry.memory_store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import ChangeFeed
    from toolcrib_registry.snapshot import Snapshot


class Diary:
    """A follower that notes the revisions it was told of; it can be made to take its time."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []
        self.started = anyio.Event()
        self.may_go_on = anyio.Event()
        self.may_go_on.set()

    async def catalogue_changed(self, before: Snapshot, after: Snapshot) -> None:
        self.started.set()
        await self.may_go_on.wait()
        self.steps.append((before.revision, after.revision))


async def test_a_change_is_in_the_snapshot_when_it_returns() -> None:
    catalogue = await Catalogue.open(MemoryStore())

    after = await catalogue.change(lambda _: [PutSource(source())])

    assert after is catalogue.snapshot
    assert (after.revision, [*after.sources]) == (1, ["mail"])


async def test_no_changes_make_no_revision_and_tell_nobody() -> None:
    diary = Diary()
    catalogue = await Catalogue.open(MemoryStore(), (diary,))

    await catalogue.change(lambda _: [])

    assert catalogue.snapshot.revision == 0
    assert diary.steps == []


async def test_writers_that_wait_together_share_a_commit_and_see_each_other() -> None:
    diary = Diary()
    catalogue = await Catalogue.open(MemoryStore(), (diary,))

    def join(snapshot: Snapshot) -> list[Change]:
        return [PutSource(source(f"s{len(snapshot.sources)}"))]

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(catalogue.change, join)

    assert len(catalogue.snapshot.sources) == 20
    # At most the first goes alone; the others come while it is at it.
    assert catalogue.snapshot.revision <= 2
    assert len(diary.steps) <= 2


async def test_a_refused_writer_does_not_fail_those_that_share_its_commit() -> None:
    catalogue = await Catalogue.open(MemoryStore())
    refusals: list[Exception] = []

    def refuse(snapshot: Snapshot) -> list[Change]:
        snapshot.source("nobody")
        return []

    def stumble(_: Snapshot) -> list[Change]:
        raise ZeroDivisionError

    def contradict(snapshot: Snapshot) -> list[Change]:
        return [*published(version("tool")), *published(version("tool", text="Different."))]

    async def attempt(decide: object) -> None:
        try:
            await catalogue.change(decide)  # type: ignore[arg-type]
        except (ToolError, ZeroDivisionError) as error:
            refusals.append(error)

    async with anyio.create_task_group() as tasks:
        for decide in (lambda _: [PutSource(source())], refuse, stumble, contradict):
            tasks.start_soon(attempt, decide)
        tasks.start_soon(attempt, lambda _: published(version()))

    assert [*catalogue.snapshot.tools] == [version().tool]
    assert [*catalogue.snapshot.sources] == ["mail"]
    codes = [getattr(error, "code", "fault") for error in refusals]
    assert sorted(codes) == sorted([UNKNOWN_SOURCE, "fault", CONFLICT])


@pytest.mark.promise("catalogue-no-starving-writer")
async def test_a_writer_decides_on_the_newest_state_however_fast_others_commit() -> None:
    class Rushed(MemoryStore):
        """Somebody else always commits just before."""

        async def commit(self, changes: Sequence[Change], expected_revision: int) -> int:
            rival = source(f"rival{expected_revision}")
            await super().commit([PutSource(rival)], expected_revision)
            return await super().commit(changes, expected_revision)

        async def commit_next(self, decide: object, known: Snapshot) -> Snapshot:
            # What commits inside is this store's own and has no rivals.
            commit, self.commit = self.commit, super().commit  # type: ignore[method-assign]
            try:
                return await super().commit_next(decide, known)  # type: ignore[arg-type]
            finally:
                self.commit = commit  # type: ignore[method-assign]

    diary = Diary()
    catalogue = await Catalogue.open(Rushed(), (diary,))
    seen: list[list[str]] = []

    def decide(snapshot: Snapshot) -> list[Change]:
        seen.append([*snapshot.sources])
        return [PutSource(source())]

    await catalogue.change(decide)

    assert seen == [[], ["rival0"]]
    assert [*catalogue.snapshot.sources] == ["rival0", "mail"]
    assert diary.steps == [(0, 2)]


async def test_a_change_that_is_there_already_when_it_is_decided_again_is_not_written() -> None:
    store = MemoryStore()
    mine, theirs = await Catalogue.open(store), await Catalogue.open(store)
    await theirs.change(lambda _: [PutSource(source())])

    await mine.change(lambda s: [] if "mail" in s.sources else [PutSource(source())])

    assert mine.snapshot == theirs.snapshot


@pytest.mark.promise("catalogue-followers-told")
async def test_a_writer_that_is_cancelled_during_its_commit_leaves_no_follower_behind() -> None:
    slow, last = Diary(), Diary()
    slow.may_go_on = anyio.Event()
    catalogue = await Catalogue.open(MemoryStore(), (slow, last))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(catalogue.change, lambda _: [PutSource(source())])
        await slow.started.wait()
        tasks.cancel_scope.cancel()
        slow.may_go_on.set()

    assert slow.steps == last.steps == [(0, 1)]
    assert (await catalogue.change(lambda _: [DropSource("mail")])).revision == 2
    assert last.steps == [(0, 1), (1, 2)]


async def test_a_writer_that_is_cancelled_while_it_waits_changes_nothing() -> None:
    slow = Diary()
    slow.may_go_on = anyio.Event()
    catalogue = await Catalogue.open(MemoryStore(), (slow,))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(catalogue.change, lambda _: [PutSource(source())])
        await slow.started.wait()
        async with anyio.create_task_group() as impatient:
            impatient.start_soon(catalogue.change, lambda _: [PutSource(source("late"))])
            await anyio.wait_all_tasks_blocked()
            impatient.cancel_scope.cancel()
        slow.may_go_on.set()
    await catalogue.change(lambda _: [PutSource(source("next"))])

    assert [*catalogue.snapshot.sources] == ["mail", "next"]


async def test_refreshing_brings_what_others_committed_and_tells_followers_once() -> None:
    store, diary = MemoryStore(), Diary()
    catalogue = await Catalogue.open(store, (diary,))
    await store.commit(published(version()), 0)
    await store.commit(next_version(version(number="1.1.0", text="Better.")), 1)

    await catalogue.refresh()
    await catalogue.refresh()

    assert catalogue.snapshot == await store.snapshot()
    assert diary.steps == [(0, 2)]


async def test_a_catalogue_too_far_behind_loads_the_whole_state() -> None:
    store = MemoryStore(remembered_revisions=1)
    catalogue = await Catalogue.open(store)
    for revision, name in enumerate("abc"):
        await store.commit([PutSource(source(name))], revision)

    assert await catalogue.refresh() is await store.snapshot()


class Flaky(MemoryStore):
    """A store that is away the first time it is asked what is new."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0

    async def changes_since(self, revision: int) -> ChangeFeed | None:
        if not self.failures:
            self.failures += 1
            raise ToolError(STORE_UNAVAILABLE, "the server restarts")
        return await super().changes_since(revision)


@pytest.mark.promise("catalogue-survives-outage")
async def test_following_goes_on_when_the_store_was_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, diary = Flaky(), Diary()
    catalogue = await Catalogue.open(store, (diary,))
    catalogue.retry_seconds = 0

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(catalogue.follow)
            await store.commit([PutSource(source())], 0)
            await diary.started.wait()
            tasks.cancel_scope.cancel()

    assert store.failures == 1
    assert "the server restarts" in caplog.text
    assert [*catalogue.snapshot.sources] == ["mail"]


async def test_following_goes_on_when_nothing_happens_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolcrib_registry.catalogue._WAIT_SECONDS", 0.001)
    store, diary = MemoryStore(), Diary()
    catalogue = await Catalogue.open(store, (diary,))
    quiet = anyio.Event()

    class Counting(MemoryStore):
        waits = 0

        async def wait_changed(self, revision: int, timeout_seconds: float) -> bool:
            has_changed = await store.wait_changed(revision, timeout_seconds)
            if not has_changed:
                quiet.set()
            return has_changed

        async def changes_since(self, revision: int) -> ChangeFeed | None:
            return await store.changes_since(revision)

    catalogue.store = Counting()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(catalogue.follow)
            await quiet.wait()
            await store.commit([PutSource(source())], 0)
            await diary.started.wait()
            tasks.cancel_scope.cancel()

    assert diary.steps == [(0, 1)]
