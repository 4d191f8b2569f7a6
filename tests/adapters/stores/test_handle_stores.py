"""What every store of kept results does, whatever it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.sql_handles import SqlHandles
from toolcrib_registry.memory_handles import MemoryHandles
from toolcrib_registry.ports import HandleRecord, KeptSize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolcrib_registry.ports import HandleStore

    Open = Callable[[], HandleStore]

NOW = 1_000_000.0
LATER = NOW + 3_600


@pytest.fixture
def opened(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Iterator[Open]:
    """Opens one empty state, as often as several processes would."""
    if kind == "memory":
        memory = MemoryHandles()
        yield lambda: memory
        return
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    databases = []

    def door() -> HandleStore:
        database = open_database(url, tmp_path / "home")
        migrate(database)
        databases.append(database)
        return SqlHandles(database)

    yield door
    for database in databases:
        database.engine.dispose()


def record(name: str, owner: str = "ann", size: int = 10, expires: float = LATER) -> HandleRecord:
    return HandleRecord(name, owner, size, expires, b"\x00facts\xff")


async def test_what_is_finished_is_found_by_every_process_with_its_parts(opened: Open) -> None:
    one, other = opened(), opened()
    await one.put("h_a", {0: b"\x00zero", 1: b"one"}, LATER)
    await one.put("h_a", {2: b"\xfftwo"}, LATER)
    assert await other.find("h_a", NOW) is None
    await one.finish(record("h_a"))
    assert await other.find("h_a", NOW) == record("h_a")
    assert [await other.part("h_a", n) for n in range(4)] == [b"\x00zero", b"one", b"\xfftwo", None]
    assert await other.part("h_b", 0) is None


async def test_an_expired_handle_is_not_there_and_its_room_is_free(opened: Open) -> None:
    store = opened()
    await store.finish(record("h_a"))
    assert await store.find("h_a", LATER - 1) is not None
    assert await store.find("h_a", LATER) is None
    assert await store.kept("ann", LATER) == KeptSize(0, 0)


async def test_what_is_kept_is_counted_for_each_caller_and_for_all(opened: Open) -> None:
    store = opened()
    assert await store.kept("ann", NOW) == KeptSize(0, 0)
    await store.finish(record("h_a", size=5_000_000_000))
    await store.finish(record("h_b", owner="böb\x00", size=7))
    assert await store.kept("ann", NOW) == KeptSize(5_000_000_000, 5_000_000_007)
    assert await store.kept("böb\x00", NOW) == KeptSize(7, 5_000_000_007)
    assert await store.kept("eve", NOW) == KeptSize(0, 5_000_000_007)


async def test_a_dropped_handle_is_gone_with_its_parts(opened: Open) -> None:
    store = opened()
    await store.put("h_a", {0: b"x"}, LATER)
    await store.finish(record("h_a"))
    await store.drop("h_a")
    await store.drop("h_never")
    assert await store.find("h_a", NOW) is None
    assert await store.part("h_a", 0) is None


@pytest.mark.promise("handle-expiry")
async def test_expired_and_unfinished_handles_are_dropped_little_by_little(opened: Open) -> None:
    store = opened()
    for number in range(5):
        await store.put(f"h_{number}", {0: b"x"}, NOW - 1)
        await store.finish(record(f"h_{number}", expires=NOW - 1))
    await store.put("h_unfinished", {0: b"x", 1: b"y"}, NOW - 1)
    await store.put("h_fresh", {0: b"x"}, LATER)
    await store.finish(record("h_fresh"))
    assert await store.drop_expired(NOW, 4) == 4
    assert await store.drop_expired(NOW, 4) == 2
    assert await store.drop_expired(NOW, 4) == 0
    assert await store.part("h_unfinished", 1) is None
    assert await store.find("h_fresh", NOW) is not None
    assert await store.part("h_fresh", 0) == b"x"
