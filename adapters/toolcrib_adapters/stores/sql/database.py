"""A database: its engine and how transactions begin.

SQLite: WAL, so that readers never wait; `BEGIN IMMEDIATE` for writers, so that a lock is taken at
the start and not in the middle; `synchronous=FULL`, because a commit that was acknowledged must
survive a power cut: names and versions are for ever.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from toolcrib_adapters.stores import SQLITE_FILE
from toolcrib_adapters.stores.sql.faults import BUSY_SECONDS, OTHER_HOME, as_tool_error
from toolcrib_protocol.errors import (
    INVALID_SETTINGS,
    MISSING_EXTRA,
    STORE_UNAVAILABLE,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection as SqliteConnection

    from sqlalchemy import Connection

_WRITES: Final = "toolcrib_writes"
_BARE: Final = "toolcrib_bare"
_PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
)
# A server that vanished without a word is noticed after about a minute, not after hours.
_POSTGRESQL_OPTIONS: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


@dataclass(frozen=True, slots=True)
class Database:
    """An engine, what to call the database in messages (never with a password), and its patience.

    `busy_seconds` is how long a write waits for another process's lock.
    """

    engine: Engine
    label: str
    busy_seconds: float = BUSY_SECONDS

    @property
    def is_sqlite(self) -> bool:
        """Whether this is a SQLite file."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads one consistent state.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        # SQLite's transactions always see one state.
        options = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with (
            self._translated(),
            self.engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes; committed at the end, rolled back on any error.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        with (
            self._translated(),
            self.engine.connect().execution_options(**{_WRITES: True}) as connection,
            connection.begin(),
        ):
            if not self.is_sqlite:
                connection.exec_driver_sql(
                    f"SET LOCAL lock_timeout = {self.busy_seconds * 1000:.0f}"
                )
            yield connection

    def size(self) -> int:
        """How many bytes it takes on its disk, as far as the database itself knows.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        with self.reading() as connection:
            if not self.is_sqlite:
                asked = "SELECT pg_database_size(current_database())"
                return int(connection.exec_driver_sql(asked).scalar_one())
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            return int(pages * connection.exec_driver_sql("PRAGMA page_size").scalar_one())

    @contextmanager
    def outside_transactions(self) -> Iterator[Connection]:
        """A connection for the few statements that a transaction does not admit.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        with (
            self._translated(),
            self.engine.connect().execution_options(**{_BARE: True}) as connection,
        ):
            yield connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise as_tool_error(error, self.label) from error


def open_database(url: str | None, home: Path, *, busy_seconds: float = BUSY_SECONDS) -> Database:
    """The database at `url`, or the SQLite file in `home`; nothing is read yet.

    Raises:
        ToolError: `invalid_settings`, `missing_extra`, or `store_unavailable` if the folder cannot
            be made.
    """
    if url is None:
        return _sqlite_file(home / SQLITE_FILE, busy_seconds)
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise _not_understood() from error
    backend = parsed.get_backend_name()
    if backend in {"postgresql", "postgres"}:
        return _postgresql(parsed, busy_seconds)
    if backend != "sqlite":
        raise _not_understood()
    return _sqlite(parsed, busy_seconds)


def _not_understood() -> ToolError:
    # Without the URL itself: it may hold a password.
    return ToolError(
        INVALID_SETTINGS,
        "the database URL cannot be used; write postgresql://USER@HOST/DATABASE or sqlite:////PATH/TO/FILE.db",
    )


def _postgresql(url: URL, busy_seconds: float) -> Database:
    url = url.set(drivername="postgresql+psycopg")
    try:
        engine = create_engine(url, pool_pre_ping=True, connect_args=_POSTGRESQL_OPTIONS)
    except ModuleNotFoundError as error:
        raise ToolError(
            MISSING_EXTRA, "PostgreSQL needs another package; run: pip install 'toolcrib[postgres]'"
        ) from error
    return Database(engine, url.render_as_string(hide_password=True), busy_seconds)


def _sqlite(url: URL, busy_seconds: float) -> Database:
    if not url.database or ":memory:" in url.database:
        raise ToolError(
            INVALID_SETTINGS,
            "a database in memory cannot be shared by the threads of a crib; write sqlite:////PATH/TO/FILE.db",
        )
    if url.database.startswith("file:"):
        return _prepared(url, url.database, busy_seconds)
    return _sqlite_file(Path(url.database), busy_seconds)


def _sqlite_file(path: Path, busy_seconds: float) -> Database:
    if path.is_file() and not _may_write(path):
        return _prepared(_unwritten(path), str(path), busy_seconds, is_written=False)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite would make the file readable for everybody; what it makes beside it gets the same
        # mode.
        os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o600))
    except OSError as error:
        raise ToolError(
            STORE_UNAVAILABLE,
            f"{path} cannot be used: {error.strerror}; {OTHER_HOME}",
            ErrorKind.NEEDS_HUMAN,
        ) from error
    return _prepared(URL.create("sqlite", database=str(path)), str(path), busy_seconds)


def _may_write(path: Path) -> bool:
    # SQLite keeps files beside it.
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _unwritten(path: Path) -> URL:
    """A file that can only be read, on a disk or in a folder that is not this user's to change."""
    log = path.with_name(f"{path.name}-wal")
    # Who writes it now keeps beside it what a reader needs; where nobody does there is nothing to
    # share, and SQLite would refuse because it cannot make these files.
    is_shared = log.is_file() and log.stat().st_size > 0
    query = {"mode": "ro", "uri": "true", **({} if is_shared else {"immutable": "1"})}
    return URL.create("sqlite", database=path.absolute().as_uri(), query=query)


def _prepared(url: URL, label: str, busy_seconds: float, *, is_written: bool = True) -> Database:
    engine = create_engine(url)

    def on_connect(connection: SqliteConnection, _: object) -> None:
        # The driver would begin transactions by its own rules; ours begin in `on_begin`.
        connection.isolation_level = None
        # Before all else, so that processes that open a new file at once wait for each other.
        connection.execute(f"PRAGMA busy_timeout={busy_seconds * 1000:.0f}")
        if is_written and _is_empty(connection):
            # So that it can give room back; it counts only before the first write.
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        for pragma in _PRAGMAS if is_written else ():
            connection.execute(pragma)

    def on_begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if not options.get(_BARE):
            connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(_WRITES) else "BEGIN")

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return Database(engine, label, busy_seconds)


def _is_empty(connection: SqliteConnection) -> bool:
    pages: tuple[int] = connection.execute("PRAGMA page_count").fetchone()
    return pages == (0,)
