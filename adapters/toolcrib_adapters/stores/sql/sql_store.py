"""The catalogue in a SQL database: SQLite in the home folder, or PostgreSQL for many cribs.

Plain synchronous SQLAlchemy on threads: one thread writes at a time, a few read. The revision comes
from the one-row head, locked in the transaction that writes (a sequence could commit out of order).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from sqlalchemy import delete, insert, select, update

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.stores.sql import rows, tables
from toolcrib_adapters.stores.sql.change_rows import change_row, read_feed
from toolcrib_adapters.stores.sql.database import Database, open_database
from toolcrib_adapters.stores.sql.notices import notices_of, notify
from toolcrib_adapters.stores.sql.reading import read_revision, read_snapshot
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.writing import write_changes
from toolcrib_registry.ports import FAILURES, RevisionConflict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import ColumnElement, Connection, Row

    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import ChangeFeed, Clock, SourceState
    from toolcrib_registry.snapshot import Snapshot

T = TypeVar("T")

KEPT_REVISIONS: Final = 10_000
"""How far back followers can catch up; beyond it they reload."""
_TRIM_SLACK: Final = 0.05
"""How much more than that is kept, so that not every commit trims."""
_READERS: Final = 4
_SILENT_SECONDS: Final = 45.0
"""A crib that has not reported for so long is not running any more; it reports every 10 s."""
_ENDED: Final = ""
"""Stands for cribs that have ended, where the board keeps how their sources failed."""
_NEVER: Final = -1.0


async def open_store(url: str | None, home: Path) -> SqlStore:
    """The store at `url` (default: SQLite in `home`), migrated.

    Raises:
        ToolError: `newer_store`, `store_busy`, `store_unavailable`, `invalid_settings`,
            `missing_extra`.
    """

    def opened() -> Database:
        database = open_database(url, home)
        migrate(database)
        return database

    return SqlStore(await to_thread.run_sync(opened), SystemClock())


class SqlStore:
    """A `CatalogueStore` and `SourceStates` over SQLAlchemy."""

    def __init__(
        self, database: Database, clock: Clock, *, kept_revisions: int = KEPT_REVISIONS
    ) -> None:
        """A store on a database that has been migrated."""
        self._database = database
        self._clock = clock
        self._kept = kept_revisions
        self._writer = CapacityLimiter(1)
        self._readers = CapacityLimiter(_READERS)
        self._notices = notices_of(database)
        self._listening = anyio.Lock()
        self._rung = anyio.Event()

    @property
    def database(self) -> Database:
        """Where it is kept, for the other parts of a crib that store something."""
        return self._database

    async def snapshot(self) -> Snapshot:
        """The whole state at its present revision."""
        return await self._read(self._snapshot)

    async def commit(self, changes: Sequence[Change], expected_revision: int) -> int:
        """Make `changes` durable as one new revision.

        Raises:
            RevisionConflict: somebody else was first.
            ToolError: `conflict`, `store_busy`, `store_unavailable`.
        """
        revision = await self._write(partial(self._commit, changes, expected_revision))
        self._ring()
        return revision

    async def commit_next(
        self, decide: Callable[[Snapshot], Sequence[Change]], known: Snapshot
    ) -> Snapshot:
        """Commit what `decide` says about the newest state, while other writers wait.

        Raises:
            ToolError: `conflict`, `store_busy`, `store_unavailable`, or what `decide` raised.
        """
        after = await self._write(partial(self._commit_next, decide, known))
        self._ring()
        return after

    async def changes_since(self, revision: int) -> ChangeFeed | None:
        """What was committed after `revision`; None if its rows are gone."""
        return await self._read(partial(self._changes_since, revision))

    async def wait_changed(self, revision: int, timeout_seconds: float) -> bool:
        """True as soon as the store is beyond `revision`."""
        with anyio.move_on_after(timeout_seconds):
            while True:
                # Taken before the revision is read, so that no ring is missed in between.
                rung = self._rung
                if await self._read(self._revision) > revision:
                    return True
                await self._next_ring(rung)
        return False

    async def report(self, crib: str, states: Mapping[str, SourceState]) -> None:
        """Replace what `crib` says about its sources."""
        await self._write(partial(self._report, crib, states))

    async def reported(self) -> Mapping[str, SourceState]:
        """The newest state of each source, from cribs that still report."""
        return await self._read(self._reported)

    async def last_failures(self) -> Mapping[str, SourceState]:
        """How sources failed last, in cribs that run no more."""
        return await self._read(self._last_failures)

    async def withdraw(self, crib: str) -> None:
        """Remove what `crib` said."""
        await self._write(partial(self._report, crib, {}))

    async def aclose(self) -> None:
        """Close all connections."""
        async with self._listening:
            await to_thread.run_sync(self._notices.close)
        await to_thread.run_sync(self._database.engine.dispose)

    async def _read(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._readers)

    async def _write(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._writer)

    def _ring(self) -> None:
        rung, self._rung = self._rung, anyio.Event()
        rung.set()

    async def _next_ring(self, rung: anyio.Event) -> None:
        """Wait for a commit of this process, or for a sign that another process committed."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen)
            await rung.wait()
            tasks.cancel_scope.cancel()

    async def _listen(self) -> None:
        # One task listens for all that wait: it rings for them.
        async with self._listening:
            await self._notices.wait()
            self._ring()

    def _snapshot(self) -> Snapshot:
        with self._database.reading() as connection:
            return read_snapshot(connection)

    def _revision(self) -> int:
        with self._database.reading() as connection:
            return read_revision(connection)

    def _commit(self, changes: Sequence[Change], expected_revision: int) -> int:
        with self._database.writing() as connection:
            head = _locked_head(connection)
            if head.revision != expected_revision:
                raise RevisionConflict(head.revision)
            return self._write_changes(connection, changes, head)

    def _commit_next(
        self, decide: Callable[[Snapshot], Sequence[Change]], known: Snapshot
    ) -> Snapshot:
        with self._database.writing() as connection:
            head = _locked_head(connection)
            newest = _caught_up(connection, known)
            changes = decide(newest)
            if not changes:
                return newest
            revision = self._write_changes(connection, changes, head)
        return newest.with_changes(changes, revision)

    def _write_changes(
        self, connection: Connection, changes: Sequence[Change], head: Row[Any]
    ) -> int:
        revision: int = head.revision + 1
        write_changes(connection, changes, revision)
        log = [
            {"revision": revision, "position": position, **change_row(change)}
            for position, change in enumerate(changes)
        ]
        if log:
            connection.execute(insert(tables.changes), log)
        connection.execute(update(tables.head).values(revision=revision))
        self._trim(connection, revision, head.trimmed_to)
        if not self._database.is_sqlite:
            notify(connection)
        return revision

    def _trim(self, connection: Connection, revision: int, trimmed_to: int) -> None:
        oldest = revision - self._kept
        if oldest - trimmed_to > self._kept * _TRIM_SLACK:
            connection.execute(delete(tables.changes).where(tables.changes.c.revision <= oldest))
            connection.execute(update(tables.head).values(trimmed_to=oldest))

    def _changes_since(self, revision: int) -> ChangeFeed | None:
        with self._database.reading() as connection:
            return read_feed(connection, revision)

    def _report(self, crib: str, states: Mapping[str, SourceState]) -> None:
        now = self._clock.now().timestamp()
        table = tables.source_states
        with self._database.writing() as connection:
            if not self._database.is_sqlite:
                # Two cribs that clean up at once would lock each other's rows in different orders.
                connection.exec_driver_sql("LOCK TABLE source_states IN SHARE ROW EXCLUSIVE MODE")
            gone = (table.c.crib == crib) | _is_silent(now)
            ended = connection.execute(select(table).where(gone)).all()
            connection.execute(delete(table).where(gone))
            known = table.c.source.in_([*states])
            connection.execute(delete(table).where((table.c.crib == _ENDED) & known))
            _keep_failures(connection, [row for row in ended if row.source not in states])
            written = [
                {"crib": crib, "source": source, "facts": rows.state_facts(state), "heartbeat": now}
                for source, state in states.items()
            ]
            if written:
                connection.execute(insert(table), written)

    def _reported(self) -> Mapping[str, SourceState]:
        table = tables.source_states
        oldest = self._clock.now().timestamp() - _SILENT_SECONDS
        with self._database.reading() as connection:
            found = connection.execute(select(table).where(table.c.heartbeat >= oldest)).all()
        return _newest(found)

    def _last_failures(self) -> Mapping[str, SourceState]:
        table = tables.source_states
        now = self._clock.now().timestamp()
        with self._database.reading() as connection:
            ended = connection.execute(
                select(table).where((table.c.crib == _ENDED) | _is_silent(now))
            ).all()
        failed = {name: s for name, s in _newest(ended).items() if s.status in FAILURES}
        running = self._reported()
        return {name: state for name, state in failed.items() if name not in running}


def _is_silent(now: float) -> ColumnElement[bool]:
    heartbeat = tables.source_states.c.heartbeat
    return (heartbeat != _NEVER) & (heartbeat < now - _SILENT_SECONDS)


def _newest(found: Sequence[Row[Any]]) -> dict[str, SourceState]:
    read = [(row.source, rows.source_state(row.facts)) for row in found]
    return dict(sorted(read, key=lambda pair: pair[1].since))


def _keep_failures(connection: Connection, ended: Sequence[Row[Any]]) -> None:
    """What cribs that ended last said about sources that had failed."""
    table = tables.source_states
    failed = [row for row in ended if rows.source_state(row.facts).status in FAILURES]
    if not failed:
        return
    names = {row.source: row.facts for row in failed}
    connection.execute(delete(table).where((table.c.crib == _ENDED) & table.c.source.in_([*names])))
    kept = [
        {"crib": _ENDED, "source": source, "facts": facts, "heartbeat": _NEVER}
        for source, facts in names.items()
    ]
    connection.execute(insert(table), kept)


def _locked_head(connection: Connection) -> Row[Any]:
    """The head, ours until the transaction ends. PostgreSQL grants it in the order of asking."""
    return connection.execute(select(tables.head).with_for_update()).one()


def _caught_up(connection: Connection, known: Snapshot) -> Snapshot:
    feed = read_feed(connection, known.revision)
    if feed is None:
        return read_snapshot(connection)
    return known.with_changes(feed.changes, feed.revision)
