"""The ledger in a SQL database, over the same connections as the catalogue."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from anyio import CapacityLimiter, to_thread
from sqlalchemy import bindparam, delete, insert, select, update

from toolcrib_adapters.stores.escaped_text import escaped
from toolcrib_adapters.stores.sql.group_commit import GroupCommit
from toolcrib_adapters.stores.sql.tables import ledger
from toolcrib_registry.ports import EntryState, LedgerEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection, CursorResult, Delete, Insert, Row

    from toolcrib_adapters.stores.sql.database import Database

_READERS: Final = 2
_IF_NEW: Final = " ON CONFLICT DO NOTHING RETURNING id"
_WITHOUT_ANSWER: Final = tuple(column for column in ledger.c if column.name != "answer")


class _Written:
    """A statement as the driver takes it: a third of the work of one that is put together anew."""

    def __init__(self, statement: Insert | Delete, database: Database, more: str = "") -> None:
        """A statement whose parameters are all plain values, and what comes after it."""
        compiled = statement.compile(dialect=database.engine.dialect)
        self._text = f"{compiled}{more}"
        self._order: Sequence[str] | None = compiled.positiontup if compiled.positional else None

    def execute(self, connection: Connection, values: dict[str, Any]) -> CursorResult[Any]:
        """Carry it out."""
        order = self._order
        given = values if order is None else tuple(values[name] for name in order)
        return connection.exec_driver_sql(self._text, given)


class SqlLedger:
    """A `LedgerStore` over SQLAlchemy; the database has been migrated."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = GroupCommit(database)
        self._readers = CapacityLimiter(_READERS)
        # Every call that may write passes these, so they are put into words once. Both databases
        # know the addition; SQLAlchemy's own would have every crib load PostgreSQL's dialect.
        self._insert = _Written(insert(ledger), database)
        self._insert_new = _Written(insert(ledger), database, _IF_NEW)
        self._delete = _Written(delete(ledger).where(ledger.c.id == bindparam("id")), database)

    async def begin(self, entry: LedgerEntry) -> LedgerEntry | None:
        """Write `entry` down, or return the one that has its key.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        return await self._writer.write(partial(self._begin, entry))

    async def take_over(self, found: LedgerEntry, entry: LedgerEntry) -> bool:
        """Put `entry` in the place of `found`.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        return await self._writer.write(partial(_take_over, found, entry))

    async def finish(self, entry_id: str, answer: bytes | None, at: float) -> None:
        """The call was carried out.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        values = {"state": EntryState.DONE.value, "ended": at, "answer": answer, "why": ""}
        await self._writer.write(partial(_change, entry_id, values))

    def doubt(self, entry_id: str, why: str, at: float) -> None:
        """The call may have been carried out."""
        values = {"state": EntryState.UNKNOWN.value, "ended": at, "why": why}
        self._writer.write_soon(partial(_change, entry_id, values, only=EntryState.RUNNING))

    def forget(self, entry_id: str) -> None:
        """Nothing is left to be known about the call."""
        self._writer.write_soon(partial(self._forget, entry_id))

    def renew(self, entry_ids: Collection[str], lease: float) -> None:
        """The owner of these entries lives."""
        self._writer.write_soon(partial(_renew, [*entry_ids], lease))

    async def entries(
        self, states: Collection[EntryState], limit: int, *, named: str | None = None
    ) -> Sequence[LedgerEntry]:
        """Entries, the newest first, without their answers."""
        read = partial(self._entries, states, limit, named)
        return await to_thread.run_sync(read, limiter=self._readers)

    async def aclose(self) -> None:
        """Write what is still to be written."""
        await self._writer.aclose()

    def _begin(self, entry: LedgerEntry, connection: Connection) -> LedgerEntry | None:
        if entry.key is None:
            self._insert.execute(connection, _escaped_row(entry))
            return None
        if self._insert_new.execute(connection, _escaped_row(entry)).first() is not None:
            return None
        same = (ledger.c.caller == entry.caller) & (ledger.c.key == entry.key)
        found = connection.execute(select(ledger).where(same)).one_or_none()
        # Gone in the same moment: to be asked again.
        return self._begin(entry, connection) if found is None else _entry(found)

    def _forget(self, entry_id: str, connection: Connection) -> None:
        self._delete.execute(connection, {"id": escaped(entry_id)})

    def _entries(
        self, states: Collection[EntryState], limit: int, named: str | None
    ) -> list[LedgerEntry]:
        newest = select(*_WITHOUT_ANSWER).where(
            ledger.c.state.in_([state.value for state in states])
        )
        if named is not None:
            newest = newest.where((ledger.c.key == named) | (ledger.c.id == named))
        with self._database.reading() as connection:
            ordered = newest.order_by(ledger.c.began.desc(), ledger.c.id).limit(limit)
            return [_entry(row) for row in connection.execute(ordered)]


def _take_over(found: LedgerEntry, entry: LedgerEntry, connection: Connection) -> bool:
    same = (ledger.c.id == found.id) & (ledger.c.state == found.state.value)
    done = connection.execute(update(ledger).where(same).values(_row(entry)))
    return done.rowcount == 1


def _change(
    entry_id: str,
    values: dict[str, Any],
    connection: Connection,
    *,
    only: EntryState | None = None,
) -> None:
    changed = update(ledger).where(ledger.c.id == entry_id).values(values)
    if only is not None:
        changed = changed.where(ledger.c.state == only.value)
    connection.execute(changed)


def _renew(entry_ids: list[str], lease: float, connection: Connection) -> None:
    connection.execute(update(ledger).where(ledger.c.id.in_(entry_ids)).values(lease=lease))


def _row(entry: LedgerEntry) -> dict[str, Any]:
    return {**asdict(entry), "state": entry.state.value}


def _escaped_row(entry: LedgerEntry) -> dict[str, Any]:
    """The row as the driver takes it; `AnyText` is not asked there."""
    return {
        "id": escaped(entry.id),
        "caller": escaped(entry.caller),
        "key": None if entry.key is None else escaped(entry.key),
        "tool": escaped(entry.tool),
        "version": entry.version,
        "digest": entry.digest,
        "owner": entry.owner,
        "lease": entry.lease,
        "began": entry.began,
        "state": entry.state.value,
        "ended": None,
        "answer": None,
        "why": "",
    }


def _entry(row: Row[Any]) -> LedgerEntry:
    facts = row._asdict()
    entry = LedgerEntry(**{**facts, "state": EntryState(facts["state"])})
    return entry if entry.answer is None else replace(entry, answer=bytes(entry.answer))
