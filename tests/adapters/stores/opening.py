"""Opens stores for tests: each kind can be opened several times, as several processes would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.sql_store import SqlStore
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.ports import CatalogueStore, SourceStates

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_registry.ports import Clock


class Store(CatalogueStore, SourceStates, Protocol):
    """Both ports, as every store fills them."""


def sql_store(
    url: str | None,
    home: Path,
    *,
    clock: Clock | None = None,
    kept_revisions: int = 100,
    busy_seconds: float = 15.0,
) -> SqlStore:
    """A migrated store with limits that a test can reach."""
    database = open_database(url, home, busy_seconds=busy_seconds)
    migrate(database)
    return SqlStore(database, clock or SystemClock(), kept_revisions=kept_revisions)


class Stores:
    """One state, opened as often as a test likes."""

    def __init__(self, kind: str, url: str | None, home: Path) -> None:
        self._url = url
        self._home = home
        self._memory = MemoryStore(remembered_revisions=3) if kind == "memory" else None
        self._opened: list[Store] = []

    def open(self) -> Store:
        """The state through another door; it remembers about 3 revisions."""
        store = self._memory or sql_store(self._url, self._home, kept_revisions=3)
        self._opened.append(store)
        return store

    async def close(self) -> None:
        """Close all doors."""
        for store in self._opened:
            await store.aclose()
