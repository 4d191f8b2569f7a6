"""The catalogue in a SQL database: SQLite in the home folder, or PostgreSQL for many cribs.

Plain synchronous SQLAlchemy on threads: one thread writes at a time, a few read. The revision comes from the one-row head,
locked in the transaction that writes (a sequence could commit out of order).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.stores.sql import rows, tables
from toolcrib_adapters.stores.sql.change_rows import change_row, read_change
from toolcrib_adapters.stores.sql.database import Database, open_database
from toolcrib_adapters.stores.sql.notices import POLL_SECONDS, Notices, notify
from toolcrib_adapters.stores.sql.reading import read_revision, read_snapshot
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.writing import write_changes
from toolcrib_registry.ports import ChangeFeed, RevisionConflict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import Clock, SourceState
    from toolcrib_registry.snapshot import Snapshot

T = TypeVar("T")

KEPT_REVISIONS: Final = 10_000
"""How far back followers can catch up; beyond it they reload."""
_TRIM_EVERY: Final = 500
_READERS: Final = 4
_SILENT_SECONDS: Final = 45.0
"""A crib that has not reported for so long is not running any more; it reports every 10 s."""


async def open_store(url: str | None, home: Path) -> SqlStore:
    """The store at `url` (default: SQLite in `home`), migrated.

    Raises:
        ToolError: `newer_store`, `store_busy`, `store_unavailable`, `invalid_settings`, `missing_extra`.
    """

    def opened() -> Database:
        database = open_database(url, home)
        migrate(database)
        return database

    return SqlStore(await to_thread.run_sync(opened), SystemClock())


class SqlStore:
    """A `CatalogueStore` and `SourceStates` over SQLAlchemy."""

    def __init__(self, database: Database, clock: Clock, *, kept_revisions: int = KEPT_REVISIONS) -> None:
        """A store on a database that has been migrated."""
        self._database = database
        self._clock = clock
        self._kept = kept_revisions
        self._writer = CapacityLimiter(1)
        self._readers = CapacityLimiter(_READERS)
        self._listener = CapacityLimiter(1)
        self._notices = Notices(database)
        self._committed = anyio.Event()

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
        committed, self._committed = self._committed, anyio.Event()
        committed.set()
        return revision

    async def changes_since(self, revision: int) -> ChangeFeed | None:
        """What was committed after `revision`; None if its rows are gone."""
        return await self._read(partial(self._changes_since, revision))

    async def wait_changed(self, revision: int, timeout_seconds: float) -> bool:
        """True as soon as the store is beyond `revision`."""
        with anyio.move_on_after(timeout_seconds):
            while await self._read(self._revision) <= revision:
                await self._next_notice()
        return await self._read(self._revision) > revision

    async def report(self, crib: str, states: Mapping[str, SourceState]) -> None:
        """Replace what `crib` says about its sources."""
        await self._write(partial(self._report, crib, states))

    async def reported(self) -> Mapping[str, SourceState]:
        """The newest state of each source, from cribs that still report."""
        return await self._read(self._reported)

    async def withdraw(self, crib: str) -> None:
        """Remove what `crib` said."""
        await self._write(partial(self._report, crib, {}))

    async def aclose(self) -> None:
        """Close all connections."""
        async with self._listener:
            await to_thread.run_sync(self._notices.close)
        await to_thread.run_sync(self._database.engine.dispose)

    async def _read(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._readers)

    async def _write(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._writer)

    async def _next_notice(self) -> None:
        """Wait for a commit of this process or a notice from another, at most about a second."""
        async with anyio.create_task_group() as tasks:

            async def stop_at(wait: Callable[[], T]) -> None:
                await wait()  # type: ignore[misc]
                tasks.cancel_scope.cancel()

            tasks.start_soon(stop_at, self._committed.wait)
            tasks.start_soon(stop_at, self._noticed)

    async def _noticed(self) -> None:
        try:
            await to_thread.run_sync(
                self._notices.wait, limiter=self._listener, abandon_on_cancel=False
            )
        except DBAPIError:
            # The listening connection broke (a restarted server); the revision tells, and the next wait reconnects.
            await to_thread.run_sync(self._notices.close, limiter=self._listener)
            await anyio.sleep(POLL_SECONDS)

    def _snapshot(self) -> Snapshot:
        with self._database.reading() as connection:
            if not self._database.is_sqlite:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            return read_snapshot(connection)

    def _revision(self) -> int:
        with self._database.reading() as connection:
            return read_revision(connection)

    def _commit(self, changes: Sequence[Change], expected_revision: int) -> int:
        with self._database.writing() as connection:
            locked = select(tables.head.c.revision).with_for_update()
            current: int = connection.execute(locked).scalar_one()
            if current != expected_revision:
                raise RevisionConflict(current)
            revision = current + 1
            write_changes(connection, changes)
            log = [
                {"revision": revision, "position": position, **change_row(change)}
                for position, change in enumerate(changes)
            ]
            if log:
                connection.execute(insert(tables.changes), log)
            connection.execute(update(tables.head).values(revision=revision))
            if revision % _TRIM_EVERY == 0:
                self._trim(connection, revision)
            if not self._database.is_sqlite:
                notify(connection)
            return revision

    def _trim(self, connection: tables.Connection, revision: int) -> None:
        oldest = revision - self._kept
        connection.execute(delete(tables.changes).where(tables.changes.c.revision <= oldest))
        connection.execute(update(tables.head).values(trimmed_to=max(oldest, 0)))

    def _changes_since(self, revision: int) -> ChangeFeed | None:
        with self._database.reading() as connection:
            head = connection.execute(select(tables.head)).one()
            if not head.trimmed_to <= revision <= head.revision:
                return None
            table = tables.changes
            log = connection.execute(
                select(table.c.kind, table.c.key)
                .where(table.c.revision > revision, table.c.revision <= head.revision)
                .order_by(table.c.revision, table.c.position)
            ).all()
            read = (read_change(connection, row.kind, row.key) for row in log)
            return ChangeFeed(head.revision, tuple(change for change in read if change is not None))

    def _report(self, crib: str, states: Mapping[str, SourceState]) -> None:
        now = self._clock.now().timestamp()
        table = tables.source_states
        with self._database.writing() as connection:
            connection.execute(
                delete(table).where((table.c.crib == crib) | (table.c.heartbeat < now - _SILENT_SECONDS))
            )
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
            found = connection.execute(
                select(table).where(table.c.heartbeat >= oldest).order_by(table.c.heartbeat)
            ).all()
        return {row.source: rows.source_state(row.facts) for row in found}
