"""Brings a database to the schema this toolcrib knows, or refuses it clearly.

Alembic is loaded only when there is something to do, so that a command on a current database does
not wait for it. Processes that start at the same time queue on a lock; the first migrates, the
others find it done.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import inspect, text

from toolcrib_adapters.extras import load
from toolcrib_adapters.stores.migrations import CURRENT
from toolcrib_adapters.stores.sql.faults import OTHER_HOME
from toolcrib_protocol.errors import NEWER_STORE, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from toolcrib_adapters.stores.sql.database import Database

MIGRATIONS: Final = Path(__file__).parent.parent / "migrations"
_LOCK_KEY: Final = 0x746F6F6C63726962
"""`toolcrib` in ASCII: the key of the PostgreSQL advisory lock."""


def migrate(database: Database) -> None:
    """Make the schema current.

    Raises:
        ToolError: `newer_store` if a newer toolcrib wrote it; it is left as it is.
    """
    with database.reading() as connection:
        found = _version(connection)
    if _is_current(found, database):
        return
    with _locked(database) as connection:
        if not _is_current(_version(connection), database):
            load("store.upgrade")(connection)


def _is_current(found: str | None, database: Database) -> bool:
    if found is not None and found > CURRENT:
        raise ToolError(
            NEWER_STORE,
            f"{database.label} was written by a newer toolcrib (schema {found}, this one knows "
            f"{CURRENT}); upgrade toolcrib, or {OTHER_HOME}. Nothing was changed",
            ErrorKind.NEEDS_HUMAN,
        )
    return found == CURRENT


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return found


@contextmanager
def _locked(database: Database) -> Iterator[Connection]:
    """A transaction that no other process of toolcrib migrates beside."""
    with database.writing() as connection:
        if not database.is_sqlite:  # SQLite's writing transaction is the lock
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
        yield connection
