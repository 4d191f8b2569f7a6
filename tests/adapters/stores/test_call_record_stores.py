"""What every store of call records does, whatever it is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.sql_call_records import SqlCallRecords
from toolcrib_registry.memory_call_records import MemoryCallRecords
from toolcrib_registry.ports import CallQuery, CallRecord, Capture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolcrib_registry.ports import CallRecordStore

    Open = Callable[[], CallRecordStore]

NOW = 1_000_000.0


@pytest.fixture
def opened(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Iterator[Open]:
    """Opens one empty state, as often as several processes would."""
    if kind == "memory":
        memory = MemoryCallRecords()
        yield lambda: memory
        return
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    databases = []

    def door() -> CallRecordStore:
        database = open_database(url, tmp_path / "home")
        migrate(database)
        databases.append(database)
        return SqlCallRecords(database)

    yield door
    for database in databases:
        database.engine.dispose()


def record(name: str, seconds: float = 0.0) -> CallRecord:
    facts: dict[str, object] = {"attempts": 2, "odd": "\x00\ud800", "long": 10**30}
    return CallRecord(
        id=name,
        began=NOW + seconds,
        seconds=0.25,
        caller="ann\x00",
        asked="mail/send\ud800",
        tool="mail/send",
        version="1.0.0",
        source="mail",
        status="success",
        code="",
        facts=facts,  # type: ignore[arg-type]
    )


@pytest.mark.promise("call-record-stores")
async def test_records_are_found_by_what_is_asked_newest_first_in_every_process(
    opened: Open,
) -> None:
    one, other = opened(), opened()
    first, second = record("a"), replace(record("b", 1), status="fatal_error", code="tool_failed")
    third = replace(record("c", 2), tool="", source="", status="cancelled", caller="bob")
    await one.write([first, second], [])
    await one.write([third], [])
    assert await other.find(CallQuery()) == [third, second, first]
    assert await other.find(CallQuery(limit=1)) == [third]
    assert await other.find(CallQuery(tool="mail/send")) == [second, first]
    assert await other.find(CallQuery(source="mail", since=NOW + 1)) == [second]
    assert await other.find(CallQuery(until=NOW)) == [first]
    assert await other.find(CallQuery(caller="bob")) == [third]
    assert await other.find(CallQuery(status="success")) == [first]
    assert await other.find(CallQuery(status="failed")) == [third, second]
    assert await other.record("b") == second
    assert await other.record("z") is None


async def test_a_batch_that_is_written_twice_is_there_once(opened: Open) -> None:
    store = opened()
    capture = Capture("a", NOW, b"\x00\xff")
    for _ in range(2):
        await store.write([record("a")], [capture])
    await store.write([], [])
    assert await store.find(CallQuery()) == [record("a")]
    assert await opened().capture("a") == capture
    assert await store.capture("b") is None


async def test_records_in_memory_are_bounded() -> None:
    store = MemoryCallRecords()
    await store.write([record(str(n), n) for n in range(10_050)], [Capture("0", NOW, b"")])
    assert len(await store.find(CallQuery(limit=20_000))) == 10_000
    assert await store.capture("0") is None
