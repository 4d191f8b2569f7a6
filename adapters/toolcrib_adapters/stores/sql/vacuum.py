"""Takes out of the database what has lived long enough, and gives the room back.

A few rows at a time, each batch a transaction of its own, so that no call waits for it. Many
processes share a database: one at a time holds the chore, by a lease in the table `chores`. How
long what lives is said in `table_rules.py`.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from sqlalchemy import bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from toolcrib_adapters.stores.sql.table_rules import RULES
from toolcrib_adapters.stores.sql.tables import chores
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from toolcrib_adapters.retention import Retention
    from toolcrib_adapters.stores.sql.database import Database
    from toolcrib_adapters.stores.sql.table_rules import Condition, TableRule
    from toolcrib_registry.ports import Clock

T = TypeVar("T")

_log = logging.getLogger(__name__)

FIRST_SECONDS: Final = 60.0
"""How long a crib runs before it looks for the first time."""
EVERY_SECONDS: Final = 600.0
ROWS_AT_ONCE: Final = 500
_PAGES_AT_ONCE: Final = 200
_PAUSE_SECONDS: Final = 0.02
_LEASE_SECONDS: Final = 120.0
_CHORE: Final = "vacuum"
_INCREMENTAL: Final = 2


@dataclass(frozen=True, slots=True)
class Swept:
    """A table, and what was done with it.

    Attributes:
        table: its name.
        rows: how many it has.
        taken_out: how many went, or would go.
        kept: how long its rows live, in words.
        is_swept: whether rows go by themselves.
    """

    table: str
    rows: int
    taken_out: int
    kept: str
    is_swept: bool


class Vacuum:
    """Sweeps one database."""

    def __init__(
        self, database: Database, clock: Clock, keep: Retention, *, owner: str = "toolcrib"
    ) -> None:
        """A vacuum that is called `owner` where others see it."""
        self._database = database
        self._clock = clock
        self._keep = keep
        self._owner = owner
        self._thread = CapacityLimiter(1)
        self._leased = 0.0

    async def run(self) -> None:
        """Sweep now and then, for ever."""
        await self._clock.sleep(FIRST_SECONDS)
        while True:
            try:
                await self.sweep()
            except ToolError as error:
                _log.warning("the database was not swept: %s", error)
            await self._clock.sleep(EVERY_SECONDS)

    async def sweep(self) -> Sequence[Swept] | None:
        """Take out what has lived long enough; None if another process does it now.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        if not await self._in_thread(partial(self._lease, _LEASE_SECONDS)):
            return None
        taken = [(rule, await self._swept(rule)) for rule in RULES.values()]
        await self._shrink()
        found = await self.look()
        gone = {rule.table.name: rows for rule, rows in taken}
        swept = [replace(each, taken_out=gone[each.table]) for each in found]
        await self._in_thread(partial(self._lease, 0.0, swept))
        return swept

    async def look(self) -> Sequence[Swept]:
        """Every table with what a sweep would take out of it now."""
        return await self._in_thread(self._look)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._thread)

    async def _swept(self, rule: TableRule) -> int:
        if rule.gone is None:
            return 0
        # Once a sweep: to find the millionth record takes longer than to take some out.
        gone = await self._in_thread(partial(self._condition, rule.gone))
        total = 0
        while rows := await self._in_thread(partial(self._take_out, rule.table, gone)):
            total += rows
            await self._pause()
        return total

    async def _pause(self) -> None:
        """Let whoever waits to write have its turn, and say now and then that we still live."""
        if self._clock.monotonic() - self._leased > _LEASE_SECONDS / 4:
            await self._in_thread(partial(self._lease, _LEASE_SECONDS))
        await anyio.sleep(_PAUSE_SECONDS)

    def _condition(self, gone: Condition) -> ColumnElement[bool]:
        with self._database.reading() as connection:
            return gone(connection, self._keep, self._clock.now().timestamp())

    def _take_out(self, table: Table, gone: ColumnElement[bool]) -> int:
        columns = table.primary_key.columns
        chosen = select(*columns).where(gone).limit(ROWS_AT_ONCE)
        # One by one by their keys: SQLite finds rows by a list of pairs only by reading them all.
        one = delete(table).where(*(column == bindparam(f"k_{column.name}") for column in columns))
        with self._database.writing() as connection:
            keys = [
                {f"k_{column.name}": value for column, value in zip(columns, row, strict=True)}
                for row in connection.execute(chosen)
            ]
            if keys:
                connection.execute(one, keys)
        return len(keys)

    def _look(self) -> Sequence[Swept]:
        now = self._clock.now().timestamp()
        with self._database.reading() as connection:
            return [self._looked_at(connection, rule, now) for rule in RULES.values()]

    def _looked_at(self, connection: Connection, rule: TableRule, now: float) -> Swept:
        count = select(func.count()).select_from(rule.table)
        rows = connection.execute(count).scalar_one()
        gone = 0
        if rule.gone is not None and rows:
            condition = rule.gone(connection, self._keep, now)
            gone = connection.execute(count.where(condition)).scalar_one()
        kept = rule.kept.format(**asdict(self._keep))
        return Swept(rule.table.name, rows, gone, kept, rule.gone is not None)

    def _lease(self, seconds: float, swept: Sequence[Swept] = ()) -> bool:
        """Hold the chore for some seconds; whether it is ours. With what was done, let it go."""
        now, self._leased = self._clock.now().timestamp(), self._clock.monotonic()
        dialect = sqlite if self._database.is_sqlite else postgresql
        free = {"name": _CHORE, "owner": "", "until": 0.0, "facts": "{}"}
        with self._database.writing() as connection:
            connection.execute(dialect.insert(chores).on_conflict_do_nothing(), free)
            held = connection.execute(
                select(chores).where(chores.c.name == _CHORE).with_for_update()
            ).one()
            if held.owner != self._owner and held.until > now:
                return False
            row: dict[str, object] = {"owner": self._owner, "until": now + seconds}
            if swept:
                taken = {each.table: each.taken_out for each in swept if each.taken_out}
                row["facts"] = json.dumps({"at": now, "taken_out": taken})
            connection.execute(update(chores).where(chores.c.name == _CHORE).values(row))
        return True

    async def _shrink(self) -> None:
        """Give free pages of SQLite's file back, some at a time; PostgreSQL does that by itself."""
        before = None
        while (free := await self._in_thread(self._free_pages)) and free != before:
            before = free
            await self._in_thread(self._give_back)
            await self._pause()

    def _give_back(self) -> None:
        with self._database.outside_transactions() as connection:
            # Gives back a page a step; only a script is stepped to its end by the driver.
            cursor = connection.connection.cursor()
            cursor.executescript(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")
            cursor.close()

    def _free_pages(self) -> int:
        if not self._database.is_sqlite:
            return 0
        with self._database.reading() as connection:
            pages: int = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
        return pages

    async def rebuild(self) -> bool:
        """Write SQLite's file anew if it cannot give room back otherwise; whether that was done.

        Raises:
            ToolError: `store_busy`: somebody else writes.
        """
        return await self._in_thread(self._rebuild)

    def _rebuild(self) -> bool:
        if not self._database.is_sqlite:
            return False
        with self._database.outside_transactions() as connection:
            mode = connection.exec_driver_sql("PRAGMA auto_vacuum").scalar_one()
            if mode == _INCREMENTAL:
                return False
            connection.exec_driver_sql("PRAGMA auto_vacuum=INCREMENTAL")
            connection.exec_driver_sql("VACUUM")
        return True
