"""How a process learns that another one committed.

SQLite: `PRAGMA data_version`, every 250 ms: it changes when any other connection commits, and costs microseconds.
PostgreSQL: LISTEN on a connection of its own, with the revision itself as safety net.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from toolcrib_adapters.stores.sql.database import Database

CHANNEL: Final = "toolcrib_changed"
POLL_SECONDS: Final = 0.25
_LISTEN_SECONDS: Final = 1.0


def notify(connection: Connection) -> None:
    """Tell PostgreSQL's listeners, when the transaction commits."""
    connection.execute(text(f"NOTIFY {CHANNEL}"))


class Notices:
    """One connection that waits; used by one thread at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._seen: int | None = None

    def wait(self) -> None:
        """Return when something may have changed, at the latest after a short while.

        Raises:
            ToolError: `store_unavailable`.
        """
        connection = self._open()
        if self._database.is_sqlite:
            self._poll(connection)
        else:
            self._listen(connection)

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _open(self) -> Connection:
        if self._connection is None:
            connection = self._database.engine.connect().execution_options(
                isolation_level="AUTOCOMMIT"
            )
            if not self._database.is_sqlite:
                connection.execute(text(f"LISTEN {CHANNEL}"))
            self._connection = connection
        return self._connection

    def _poll(self, connection: Connection) -> None:
        version: int = connection.exec_driver_sql("PRAGMA data_version").scalar_one()
        if self._seen in {None, version}:
            time.sleep(POLL_SECONDS)
        self._seen = version

    def _listen(self, connection: Connection) -> None:
        driver = connection.connection.driver_connection
        for _ in driver.notifies(timeout=_LISTEN_SECONDS, stop_after=1):  # type: ignore[union-attr]
            return
