"""What every store of shared limits does, whatever it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from sqlalchemy import update

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.sql_limits import SqlLimits
from toolcrib_adapters.stores.sql.tables import limit_books
from toolcrib_registry.limits import MemoryLimits
from toolcrib_registry.ports import Grant, Wish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import LimitStore

    Open = Callable[[], LimitStore]

GATE = "tool:desk/böse\x00"


@pytest.fixture
def opened(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Iterator[Open]:
    """Opens one empty state, as often as several processes would."""
    if kind == "memory":
        memory = MemoryLimits(SystemClock())
        yield lambda: memory
        return
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    databases = []

    def door() -> LimitStore:
        database = open_database(url, tmp_path / "home")
        migrate(database)
        databases.append(database)
        return SqlLimits(database)

    yield door
    for database in databases:
        database.engine.dispose()


def slots(wanted: int, running: int = 0) -> Wish:
    return Wish(3, None, 1.0, running, wanted)


async def test_two_processes_never_hold_more_slots_than_there_are(opened: Open) -> None:
    one, other = opened(), opened()
    assert await one.lease("a", {GATE: slots(2)}, 60) == {GATE: Grant(2)}
    assert (await other.lease("b", {GATE: slots(3)}, 60))[GATE].slots == 1
    assert (await one.lease("a", {GATE: slots(1), "group:x": slots(3)}, 60))[GATE].slots == 1
    assert (await other.lease("b", {GATE: slots(3)}, 60))[GATE].slots == 2


async def test_what_is_given_back_or_has_expired_is_free(opened: Open) -> None:
    one, other = opened(), opened()
    await one.lease("a", {GATE: slots(2), "group:x": slots(3)}, 60)
    await one.lease("c", {GATE: slots(1)}, 0.0)
    await one.give_back("a")
    wishes = {GATE: slots(3), "group:x": slots(3)}
    assert await other.lease("b", wishes, 60) == {GATE: Grant(3), "group:x": Grant(3)}


async def test_processes_that_ask_at_once_share_what_there_is(opened: Open) -> None:
    stores = [opened() for _ in range(4)]
    held: list[int] = []

    async def lease(number: int, store: LimitStore) -> None:
        wishes = {GATE: slots(1), f"group:{number % 2}": slots(2), "source:z": slots(2)}
        granted = await store.lease(f"crib-{number}", wishes, 60)
        held.append(granted[GATE].slots)

    async with anyio.create_task_group() as tasks:
        for number, store in enumerate(stores):
            tasks.start_soon(lease, number, store)
    assert sorted(held) == [0, 1, 1, 1]


async def test_tokens_are_taken_once(opened: Open) -> None:
    one, other = opened(), opened()
    wish = Wish(None, 0.001, 5.0, tokens=3)
    assert (await one.lease("a", {GATE: wish}, 60))[GATE].tokens == 3
    granted = (await other.lease("b", {GATE: wish}, 60))[GATE]
    assert granted.tokens == 2
    assert 900 < granted.again_in <= 1000
    back = Wish(None, 0.001, 5.0, returned=2)
    await other.lease("b", {GATE: back}, 60)
    assert (await one.lease("a", {GATE: wish}, 60))[GATE].tokens == 2


async def test_a_book_that_cannot_be_read_is_begun_anew(tmp_path: Path) -> None:
    database = open_database(None, tmp_path / "home")
    migrate(database)
    store = SqlLimits(database)
    await store.lease("a", {GATE: slots(3)}, 60)
    for odd in ("{", "[]", '{"tokens": "x"}'):
        with database.writing() as connection:
            connection.execute(update(limit_books).values(facts=odd))
        assert (await store.lease("b", {GATE: slots(3)}, 60))[GATE].slots == 3
    database.engine.dispose()


async def test_what_a_process_tells_of_its_gates_is_read_by_all_until_it_ends(opened: Open) -> None:
    one, other = opened(), opened()
    facts: list[JsonObject] = [{"scope": GATE, "running": 2, "rate": 1.5}]
    await one.tell("a", [], 60)
    await one.tell("a", facts, 60)
    await one.tell("b", facts, 0.0)
    await other.tell("c", [], 60)
    assert await other.told() == {"a": facts, "c": []}
    await other.give_back("a")
    assert await one.told() == {"c": []}
