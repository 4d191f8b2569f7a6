"""Vectors by content, in a SQLite file of the index folder: what was encoded once stays encoded.

A cache: a file that cannot be read is thrown away. Several threads and processes may use it at the
same time; each use opens the file anew, which costs little beside the encoding of a batch.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_log = logging.getLogger(__name__)
_BUSY_SECONDS: Final = 10.0
_MOST_KEYS: Final = 500
_SPARE: Final = 2_000
"""So many vectors of former tools are kept: sources come back with the tools that they had."""


class VectorCache:
    """A `toolcrib_registry.ports.VectorCache` over SQLite."""

    def __init__(self, path: Path, spare: int = _SPARE) -> None:
        """The cache in the file `path`, which is made when it is first used.

        Args:
            path: the file.
            spare: how many vectors that no tool needs are kept when others are forgotten.
        """
        self._path = path
        self._spare = spare
        self._most = 2 * spare

    def get(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that are known."""
        found: dict[str, NDArray[np.float32]] = {}
        try:
            with self._opened() as connection:
                for start in range(0, len(keys), _MOST_KEYS):
                    found |= _selected(connection, keys[start : start + _MOST_KEYS])
        except sqlite3.DatabaseError as error:
            self._throw_away(error)
        return found

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Remember vectors; a cache that cannot be written is no reason to stop."""
        rows = [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()]
        try:
            with self._opened() as connection, connection:
                connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
                keys = [(key,) for key in vectors]
                connection.executemany("INSERT OR IGNORE INTO made (key) VALUES (?)", keys)
        except sqlite3.DatabaseError as error:
            self._throw_away(error)

    def prune(self, live: Callable[[], Collection[str]]) -> None:
        """Forget all but the live vectors and the newest others, if there are many others."""
        try:
            with self._opened() as connection:
                if _size(connection) > self._most:
                    keys = live()
                    self._most = len(keys) + 2 * self._spare
                    if _size(connection) > self._most:
                        _keep_only(connection, keys, self._spare)
        except sqlite3.DatabaseError as error:
            self._throw_away(error)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            # What a power cut takes can be made again.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB) "
                "WITHOUT ROWID"
            )
            # In the order in which they were made; vectors of before this table are the oldest.
            connection.execute(
                "CREATE TABLE IF NOT EXISTS made (number INTEGER PRIMARY KEY, key TEXT UNIQUE)"
            )
            yield connection
        finally:
            connection.close()

    def _throw_away(self, error: sqlite3.DatabaseError) -> None:
        # A busy or full disk passes; only what is no database stays so.
        if isinstance(error, sqlite3.OperationalError):
            _log.warning("the vector cache %s cannot be used now: %s", self._path, error)
            return
        _log.warning("the vector cache %s is damaged and is made anew: %s", self._path, error)
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _size(connection: sqlite3.Connection) -> int:
    row: tuple[int] = connection.execute("SELECT count(*) FROM vectors").fetchone()
    return row[0]


def _keep_only(connection: sqlite3.Connection, live: Collection[str], spare: int) -> None:
    with connection:
        connection.execute("CREATE TEMP TABLE kept (key TEXT PRIMARY KEY)")
        connection.executemany("INSERT INTO kept VALUES (?)", [(key,) for key in live])
        connection.execute(
            "INSERT INTO kept SELECT key FROM made WHERE key NOT IN (SELECT key FROM kept) "
            "ORDER BY number DESC LIMIT ?",
            (spare,),
        )
        for table in ("vectors", "made"):
            connection.execute(
                f"DELETE FROM {table} WHERE key NOT IN (SELECT key FROM kept)"  # noqa: S608 - above
            )
    connection.execute("VACUUM")


def _selected(
    connection: sqlite3.Connection, keys: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    places = ",".join("?" * len(keys))
    statement = f"SELECT key, vector FROM vectors WHERE key IN ({places})"  # noqa: S608 - places
    return {
        key: np.frombuffer(blob, np.float32) for key, blob in connection.execute(statement, keys)
    }
