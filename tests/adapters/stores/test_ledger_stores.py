"""What every store of a ledger does, whatever it is made of."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING

import anyio
import pytest

from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.group_commit import GroupCommit
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.sql_ledger import SqlLedger
from toolcrib_protocol.errors import INTERNAL, STORE_BUSY, STORE_UNAVAILABLE, ToolError
from toolcrib_registry.memory_ledger import MemoryLedger
from toolcrib_registry.ports import EntryState, LedgerEntry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sqlalchemy import Connection

    from toolcrib_adapters.stores.sql.database import Database
    from toolcrib_registry.ports import LedgerStore

    Open = Callable[[], LedgerStore]

NOW = 1_000_000.0
ALL = frozenset(EntryState)
ODD = 'a"ключ\ud800\x01'


@pytest.fixture
async def opened(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens one empty ledger, as often as several processes would."""
    if kind == "memory":
        memory = MemoryLedger()
        yield lambda: memory
        await memory.aclose()
        return
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    doors: list[tuple[Database, SqlLedger]] = []

    def door() -> LedgerStore:
        database = open_database(url, tmp_path / "home")
        migrate(database)
        doors.append((database, SqlLedger(database)))
        return doors[-1][1]

    yield door
    for database, store in doors:
        await store.aclose()
        database.engine.dispose()


def entry(name: str, key: str | None = None, caller: str = "ann", **more: object) -> LedgerEntry:
    plain = LedgerEntry(name, caller, key, "shop/order", "1.0.0", "d", "me", NOW + 15, NOW)
    return replace(plain, **more)  # type: ignore[arg-type]


async def test_a_key_is_the_first_entrys_for_every_process_and_each_callers_own(
    opened: Open,
) -> None:
    one, other = opened(), opened()
    assert await one.begin(entry("1", "k")) is None
    assert await other.begin(entry("2", "k")) == entry("1", "k")
    assert await one.begin(entry("3", "k", caller="bob")) is None
    assert await other.begin(entry("4", "K")) is None
    assert {found.id for found in await one.entries(ALL, 10)} == {"1", "3", "4"}


async def test_entries_without_a_key_do_not_stand_in_each_others_way(opened: Open) -> None:
    store = opened()
    assert await store.begin(entry("1")) is None
    assert await store.begin(entry("2")) is None
    assert len(await store.entries(ALL, 10)) == 2


async def test_a_finished_entry_gives_its_answer_byte_for_byte(opened: Open) -> None:
    one, other = opened(), opened()
    await one.begin(entry("1", ODD, caller=ODD, tool=f"shop/{ODD}"))
    await one.finish("1", b"\x00\xffsealed", NOW + 2)
    found = await other.begin(entry("2", ODD, caller=ODD))
    assert found == entry(
        "1",
        ODD,
        caller=ODD,
        tool=f"shop/{ODD}",
        state=EntryState.DONE,
        ended=NOW + 2,
        answer=b"\x00\xffsealed",
    )
    (listed,) = await other.entries({EntryState.DONE}, 10, named=ODD)
    assert listed.answer is None


async def test_a_doubted_entry_stays_until_somebody_knows_more(opened: Open) -> None:
    store = opened()
    await store.begin(entry("1", "k"))
    store.doubt("1", "no answer", NOW + 1)
    found = await store.begin(entry("2", "k"))
    assert found is not None
    assert (found.state, found.why, found.ended) == (EntryState.UNKNOWN, "no answer", NOW + 1)
    await store.finish("1", None, NOW + 2)
    store.doubt("1", "too late", NOW + 3)
    done = await store.begin(entry("3", "k"))
    assert done is not None
    assert (done.state, done.why) == (EntryState.DONE, "")


async def test_a_forgotten_key_is_free_again(opened: Open) -> None:
    store = opened()
    await store.begin(entry("1", "k"))
    store.forget("1")
    assert await store.begin(entry("2", "k")) is None
    store.forget("nobody")
    await store.finish("nobody", b"", NOW)
    assert [found.id for found in await store.entries(ALL, 10)] == ["2"]


async def test_of_two_that_take_an_entry_over_one_does(opened: Open) -> None:
    one, other = opened(), opened()
    await one.begin(entry("1", "k"))
    one.doubt("1", "lost", NOW)
    found = await one.begin(entry("x", "k"))
    assert found is not None
    got = [
        await one.take_over(found, entry("2", "k")),
        await other.take_over(found, entry("3", "k")),
    ]
    assert got == [True, False]
    assert [left.id for left in await other.entries(ALL, 10)] == ["2"]
    # What was found has changed since.
    assert not await one.take_over(replace(entry("2"), state=EntryState.DONE), entry("4", "k"))


async def test_a_renewed_lease_is_seen_by_others(opened: Open) -> None:
    one, other = opened(), opened()
    await one.begin(entry("1", "k"))
    await one.begin(entry("2"))
    one.renew(["1", "gone"], NOW + 99)
    await one.begin(entry("3"))
    leases = {found.id: found.lease for found in await other.entries(ALL, 10)}
    assert leases == {"1": NOW + 99, "2": NOW + 15, "3": NOW + 15}


async def test_entries_are_found_by_state_key_and_id_newest_first(opened: Open) -> None:
    store = opened()
    for number in range(4):
        await store.begin(entry(str(number), f"k{number}", began=NOW + number))
    await store.finish("1", b"x", NOW)
    assert [found.id for found in await store.entries({EntryState.RUNNING}, 2)] == ["3", "2"]
    assert [found.id for found in await store.entries(ALL, 10, named="k1")] == ["1"]
    assert [found.id for found in await store.entries(ALL, 10, named="2")] == ["2"]
    assert await store.entries(set(), 10) == []


async def test_many_that_begin_at_once_with_one_key_agree_on_one(opened: Open) -> None:
    doors = [opened(), opened()]
    first: list[str] = []

    async def begin(number: int) -> None:
        name = str(number)
        found = await doors[number % 2].begin(entry(name, "k"))
        first.append(name if found is None else found.id)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(begin, number)
    assert len(first) == 40
    assert len(set(first)) == 1


async def test_a_write_that_fails_takes_none_of_its_neighbours_with_it(database_url: str) -> None:
    database = open_database(database_url, Path())
    migrate(database)
    commits = GroupCommit(database)
    done: dict[str, object] = {}

    def one(connection: Connection) -> object:
        return connection.exec_driver_sql("SELECT 1").scalar_one()

    def refused(connection: Connection) -> None:
        connection.exec_driver_sql("SELECT nothing FROM nowhere")

    def broken(_: Connection) -> None:
        raise LookupError("our own fault")

    async def write(name: str, work: Callable[[Connection], object]) -> None:
        try:
            done[name] = await commits.write(work)
        except ToolError as error:
            done[name] = error.code

    with anyio.fail_after(30):
        commits.write_soon(refused)
        async with anyio.create_task_group() as tasks:
            for name, work in {"a": one, "b": refused, "c": broken, "d": one}.items():
                tasks.start_soon(write, name, work)
        await commits.aclose()
        # It starts anew for whoever comes late.
        await write("e", one)
        await commits.aclose()
        await commits.aclose()
    database.engine.dispose()
    assert done == {"a": 1, "b": STORE_UNAVAILABLE, "c": INTERNAL, "d": 1, "e": 1}


async def test_whoever_finds_the_file_locked_is_told_so_without_waiting_in_line(
    tmp_path: Path,
) -> None:
    holder = open_database(None, tmp_path)
    migrate(holder)
    database = open_database(None, tmp_path, busy_seconds=0.05)
    store = SqlLedger(database)
    told: list[str] = []

    async def begin(name: str) -> None:
        with pytest.raises(ToolError) as refused:
            await store.begin(entry(name))
        told.append(refused.value.code)

    with anyio.fail_after(30), holder.writing():
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(begin, str(number))
    assert told == [STORE_BUSY] * 5
    assert await store.begin(entry("1")) is None
    await store.aclose()
    for each in (holder, database):
        each.engine.dispose()


def test_writers_whose_event_loop_has_ended_wait_for_nothing(tmp_path: Path) -> None:
    database = open_database(None, tmp_path)
    migrate(database)
    store = SqlLedger(database)

    async def begin() -> None:
        with anyio.move_on_after(0):
            await store.begin(entry("1"))

    anyio.run(begin)
    anyio.run(store.aclose)

    async def read() -> list[str]:
        return [found.id for found in await store.entries(ALL, 10)]

    # Cancelled in the same moment, and written all the same.
    assert anyio.run(read) in ([], ["1"])
    database.engine.dispose()


BEGINS = """
import sys, anyio
from pathlib import Path
from tests.adapters.stores.test_ledger_stores import entry
from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.sql_ledger import SqlLedger

async def main():
    store = SqlLedger(open_database(sys.argv[1], Path()))
    await store.begin(entry("1", "k"))
    print("begun", flush=True)
    sys.stdin.read()

anyio.run(main)
"""


@pytest.mark.promise("ledger-intent-first")
async def test_what_has_begun_is_there_after_its_process_was_killed(database_url: str) -> None:
    database = open_database(database_url, Path())
    migrate(database)
    command = [sys.executable, "-c", BEGINS, database_url]
    with anyio.fail_after(60):
        async with await anyio.open_process(
            command, cwd=Path(__file__).parents[3], stdin=PIPE, stdout=PIPE
        ) as process:
            assert process.stdout is not None
            assert (await process.stdout.receive()).startswith(b"begun")
            process.kill()
        store = SqlLedger(database)
        (found,) = await store.entries({EntryState.RUNNING}, 10)
        await store.aclose()
    database.engine.dispose()
    assert found == entry("1", "k")
