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
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_log = logging.getLogger(__name__)
_BUSY_SECONDS: Final = 10.0
_MOST_KEYS: Final = 500


class VectorCache:
    """A `toolcrib_registry.ports.VectorCache` over SQLite."""

    def __init__(self, path: Path) -> None:
        """The cache in the file `path`, which is made when it is first used."""
        self._path = path

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


def _selected(
    connection: sqlite3.Connection, keys: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    places = ",".join("?" * len(keys))
    statement = f"SELECT key, vector FROM vectors WHERE key IN ({places})"  # noqa: S608 - places
    return {
        key: np.frombuffer(blob, np.float32) for key, blob in connection.execute(statement, keys)
    }
