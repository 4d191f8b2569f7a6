"""Vectors by content, in a SQLite file of the index folder: what was embedded once is never embedded again.

A cache: a file that cannot be read is thrown away. Several processes may use it at the same time.
"""

from __future__ import annotations

import logging
import sqlite3
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_log = logging.getLogger(__name__)
_BUSY_SECONDS: Final = 10.0
_MOST_KEYS: Final = 500


class VectorCache:
    """A `toolcrib_registry.ports.VectorCache` over SQLite; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """The cache in the file `path`, which is made when it is not there."""
        self._path = path
        self._lock = Lock()
        try:
            self._connection = self._opened()
        except sqlite3.DatabaseError as error:
            _log.warning("the vector cache %s is unreadable and is made anew: %s", path, error)
            path.unlink(missing_ok=True)
            self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        # What a power cut takes can be made again.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB) WITHOUT ROWID"
        )
        return connection

    def get(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that are known."""
        found: dict[str, NDArray[np.float32]] = {}
        with self._lock:
            for start in range(0, len(keys), _MOST_KEYS):
                some = keys[start : start + _MOST_KEYS]
                places = ",".join("?" * len(some))
                rows = self._connection.execute(
                    f"SELECT key, vector FROM vectors WHERE key IN ({places})",  # noqa: S608 - places only
                    some,
                )
                found.update((key, np.frombuffer(vector, np.float32)) for key, vector in rows)
        return found

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Remember vectors; a cache that cannot be written is no reason to stop."""
        rows = [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()]
        try:
            with self._lock, self._connection:
                self._connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        except sqlite3.OperationalError as error:
            _log.warning("the vector cache %s cannot be written: %s", self._path, error)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
