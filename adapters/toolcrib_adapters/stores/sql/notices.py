"""How a process learns that another one committed.

SQLite: `PRAGMA data_version` every 250 ms: it changes when any other connection commits, and costs
microseconds. PostgreSQL: LISTEN on a connection of its own; a bound on each wait is the safety net.
Between looks no thread is held, so waiting ends at once when it is cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, PoolProxiedConnection

    from toolcrib_adapters.stores.sql.database import Database

T = TypeVar("T")

_CHANNEL: Final = "toolcrib_changed"
POLL_SECONDS: Final = 0.25
_LISTEN_SECONDS: Final = 2.0


def notify(connection: Connection) -> None:
    """Tell PostgreSQL's listeners, when the transaction commits."""
    connection.execute(text(f"NOTIFY {_CHANNEL}"))


class Notices(Protocol):
    """A bell that rings for commits; used by one task at a time."""

    async def wait(self) -> None:
        """Return when something may have changed since the last call.

        The first call returns at once.
        """
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


def notices_of(database: Database) -> Notices:
    """The bell of a database."""
    return _DataVersion(database) if database.is_sqlite else _Listen(database)


class _OwnConnection:
    """A driver's connection outside transactions, opened again when it broke."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pooled: PoolProxiedConnection | None = None
        self._thread = CapacityLimiter(1)

    @property
    def _faults(self) -> tuple[type[Exception], ...]:
        return (DBAPIError, self._database.engine.dialect.loaded_dbapi.Error)

    def _driver(self) -> Any:
        if self._pooled is None:
            self._pooled = self._database.engine.raw_connection()
        return self._pooled.driver_connection

    def close(self) -> None:
        if self._pooled is not None:
            self._pooled.invalidate()
            self._pooled = None

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._thread)

    async def _broken(self) -> None:
        # The caller asks for the revision next, and that tells what is wrong; the next wait
        # connects anew.
        await self._in_thread(self.close)
        await anyio.sleep(POLL_SECONDS)


class _DataVersion(_OwnConnection):
    """SQLite's counter of commits by others."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._seen: int | None = None

    async def wait(self) -> None:
        try:
            # A file has no event to wait for.
            while not await self._in_thread(self._has_moved):  # noqa: ASYNC110
                await anyio.sleep(POLL_SECONDS)
        except self._faults:
            await self._broken()

    def _has_moved(self) -> bool:
        version: int = self._driver().execute("PRAGMA data_version").fetchone()[0]
        seen, self._seen = self._seen, version
        return version != seen

    def close(self) -> None:
        # The counter belongs to the connection: another one's numbers cannot be compared with it.
        self._seen = None
        super().close()


class _Listen(_OwnConnection):
    """PostgreSQL's notifications."""

    async def wait(self) -> None:
        try:
            if self._pooled is None:
                await self._in_thread(self._listen)
                return
            with anyio.move_on_after(_LISTEN_SECONDS):
                await anyio.wait_readable(self._driver().fileno())
            await self._in_thread(self._take)
        except self._faults:
            await self._broken()

    def _listen(self) -> None:
        driver = self._driver()
        driver.autocommit = True
        driver.execute(f"LISTEN {_CHANNEL}")

    def _take(self) -> None:
        for _ in self._driver().notifies(timeout=0):
            pass
