"""A database: its engine, how transactions begin, and what its faults mean.

SQLite: WAL, so that readers never wait; `BEGIN IMMEDIATE` for writers, so that a lock is taken at the start and not in
the middle; `synchronous=FULL`, because a commit that was acknowledged must survive a power cut: names and versions are for ever.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, OperationalError

from toolcrib_protocol.errors import (
    INVALID_SETTINGS,
    MISSING_EXTRA,
    STORE_BUSY,
    STORE_UNAVAILABLE,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from sqlite3 import Connection as SqliteConnection

    from sqlalchemy import Connection

_BUSY_SECONDS: Final = 15
_WRITES: Final = "toolcrib_writes"
_PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000}",
)


@dataclass(frozen=True, slots=True)
class Database:
    """An engine and what to call the database in messages (never with a password)."""

    engine: Engine
    label: str

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
        with self._translated(), self.engine.connect() as connection, connection.begin():
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
            yield connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DatabaseError as error:
            raise self._told(error) from error

    def _told(self, error: DatabaseError) -> ToolError:
        text = str(error.orig).strip().split("\n")[0]
        if isinstance(error, OperationalError) and ("locked" in text or "busy" in text):
            return ToolError(
                STORE_BUSY,
                f"{self.label} was locked by another process for over {_BUSY_SECONDS} s; try again",
                ErrorKind.RETRYABLE,
            )
        return ToolError(
            STORE_UNAVAILABLE,
            f"{self.label} cannot be used: {text}; check that it exists, is a database of toolcrib, may be written and "
            "has room on its disk",
        )


def open_database(url: str | None, home: Path) -> Database:
    """The database at `url`, or the SQLite file in `home`; nothing is read yet.

    Raises:
        ToolError: `invalid_settings`, `missing_extra`, or `store_unavailable` if the folder cannot be made.
    """
    if url is None:
        return _sqlite(home)
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        engine = create_engine(parsed, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError) as error:
        raise ToolError(
            INVALID_SETTINGS,
            "the database URL cannot be understood; write postgresql://user@host/name or sqlite:////path",
        ) from error
    except ModuleNotFoundError as error:
        raise ToolError(
            MISSING_EXTRA, "PostgreSQL needs another package; run: pip install 'toolcrib[postgres]'"
        ) from error
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    return Database(engine, parsed.render_as_string(hide_password=True))


def _sqlite(home: Path) -> Database:
    path = home / "crib.db"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
    except OSError as error:
        raise ToolError(
            STORE_UNAVAILABLE,
            f"the home folder {home} cannot be used: {error.strerror}; choose another with --home or TOOLCRIB_HOME",
        ) from error
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": _BUSY_SECONDS})
    _prepare_sqlite(engine)
    return Database(engine, str(path))


def _prepare_sqlite(engine: Engine) -> None:
    def on_connect(connection: SqliteConnection, _: object) -> None:
        # The driver would begin transactions by its own rules; ours begin in `on_begin`.
        connection.isolation_level = None
        for pragma in _PRAGMAS:
            connection.execute(pragma)

    def on_begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
