"""Whether SQLite's file is sound; for `toolcrib doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_adapters.stores.sql.database import open_database

if TYPE_CHECKING:
    from pathlib import Path


def unsound(url: str | None, home: Path) -> str | None:
    """What SQLite finds wrong inside the database; None if nothing, or if it is another database.

    Raises:
        ToolError: it cannot be read at all.
    """
    database = open_database(url, home)
    if not database.is_sqlite:
        return None
    try:
        with database.reading() as connection:
            said = connection.exec_driver_sql("PRAGMA quick_check(3)").scalars().all()
    finally:
        database.engine.dispose()
    lines = [str(line) for line in said if line != "ok"]
    return "; ".join(lines) or None
