"""Records of calls in a SQL database, over the same connections as the catalogue.

Written a batch at a time in one transaction, on a thread of their own: what they cost is not paid
by any call.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from anyio import CapacityLimiter, to_thread
from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from toolcrib_adapters.stores.sql.tables import call_records, captures
from toolcrib_protocol.result import Status
from toolcrib_registry.memory_call_records import FAILED
from toolcrib_registry.ports import CallRecord, Capture

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Table

    from toolcrib_adapters.stores.sql.database import Database
    from toolcrib_registry.ports import CallQuery

T = TypeVar("T")

_READERS: Final = 2


class SqlCallRecords:
    """A `CallRecordStore` over SQLAlchemy; the database has been migrated."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = CapacityLimiter(1)
        self._readers = CapacityLimiter(_READERS)

    async def write(self, records: Sequence[CallRecord], captures: Sequence[Capture]) -> None:
        """Keep all of them, or none.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        work = partial(self._write, records, captures)
        await to_thread.run_sync(work, limiter=self._writer)

    async def find(self, query: CallQuery) -> Sequence[CallRecord]:
        """The records that match, the newest first."""
        return await self._read(partial(self._find, query))

    async def record(self, call: str) -> CallRecord | None:
        """The record of one call."""
        return await self._read(partial(self._record, call))

    async def capture(self, call: str) -> Capture | None:
        """What was captured of one call."""
        return await self._read(partial(self._capture, call))

    async def _read(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._readers)

    def _write(self, records: Sequence[CallRecord], made: Sequence[Capture]) -> None:
        with self._database.writing() as connection:
            self._add(connection, call_records, [_row(record) for record in records])
            body = [{"call": each.call, "at": each.at, "body": each.body} for each in made]
            self._add(connection, captures, body)

    def _add(
        self, connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]
    ) -> None:
        if not rows:
            return
        # A batch whose commit was lost on its way back is written once more.
        dialect = sqlite if self._database.is_sqlite else postgresql
        connection.execute(dialect.insert(table).on_conflict_do_nothing(), rows)

    def _find(self, query: CallQuery) -> Sequence[CallRecord]:
        columns = call_records.c
        wanted = select(call_records).where(*_conditions(query))
        wanted = wanted.order_by(columns.began.desc(), columns.id.desc()).limit(query.limit)
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(wanted)]

    def _record(self, call: str) -> CallRecord | None:
        wanted = select(call_records).where(call_records.c.id == call)
        with self._database.reading() as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else _record(row)

    def _capture(self, call: str) -> Capture | None:
        wanted = select(captures).where(captures.c.call == call)
        with self._database.reading() as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else Capture(row.call, row.at, row.body)


def _conditions(query: CallQuery) -> list[ColumnElement[bool]]:
    columns = call_records.c
    equal = {"tool": query.tool, "source": query.source, "caller": query.caller}
    found = [columns[name] == value for name, value in equal.items() if value is not None]
    if query.status == FAILED:
        found.append(columns.status != Status.SUCCESS.value)
    elif query.status is not None:
        found.append(columns.status == query.status)
    if query.since is not None:
        found.append(columns.began >= query.since)
    if query.until is not None:
        found.append(columns.began <= query.until)
    return found


def _row(record: CallRecord) -> dict[str, object]:
    # In ASCII, as all JSON here: see `tables`.
    return {
        "id": record.id,
        "began": record.began,
        "seconds": record.seconds,
        "caller": record.caller,
        "asked": record.asked,
        "tool": record.tool,
        "version": record.version,
        "source": record.source,
        "status": record.status,
        "code": record.code,
        "facts": json.dumps(record.facts, separators=(",", ":")),
    }


def _record(row: Row[Any]) -> CallRecord:
    return CallRecord(
        row.id,
        row.began,
        row.seconds,
        row.caller,
        row.asked,
        row.tool,
        row.version,
        row.source,
        row.status,
        row.code,
        json.loads(row.facts),
    )
