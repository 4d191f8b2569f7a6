"""What is taken out of the database, when, and by whom."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import anyio
import pytest
from sqlalchemy import inspect

from tests.adapters.stores.test_call_record_stores import NOW, record
from tests.adapters.stores.test_handle_stores import record as handle
from toolcrib_adapters.key_ring import KeyRing
from toolcrib_adapters.retention import Retention
from toolcrib_adapters.sealing import RingSealer
from toolcrib_adapters.stores.sql.database import Database, open_database
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.sealed_rows import sealed_under
from toolcrib_adapters.stores.sql.sql_call_records import SqlCallRecords
from toolcrib_adapters.stores.sql.sql_handles import SqlHandles
from toolcrib_adapters.stores.sql.sql_ledger import SqlLedger
from toolcrib_adapters.stores.sql.table_rules import RULES
from toolcrib_adapters.stores.sql.tables import metadata
from toolcrib_adapters.stores.sql.vacuum import EVERY_SECONDS, FIRST_SECONDS, ROWS_AT_ONCE, Vacuum
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.ports import CallQuery, Capture, LedgerEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from toolcrib_adapters.stores.sql.vacuum import Swept

    Open = Callable[[], Database]

DAY = 86_400.0


@pytest.fixture
def opened(database_url: str, tmp_path: Path) -> Iterator[Open]:
    """Opens one empty database, as often as several processes would."""
    with ExitStack() as stack:

        def door() -> Database:
            database = open_database(database_url, tmp_path / "home")
            stack.callback(database.engine.dispose)
            migrate(database)
            return database

        yield door


def clock_at(days: float) -> HandClock:
    clock = HandClock()
    clock.advance(NOW + days * DAY - clock.now().timestamp())
    return clock


def taken(swept: Sequence[Swept] | None) -> dict[str, int]:
    assert swept is not None
    return {each.table: each.taken_out for each in swept if each.taken_out}


@pytest.mark.promise("retention-every-table")
def test_every_table_of_the_database_has_a_rule_for_how_long_its_rows_live(opened: Open) -> None:
    database = opened()
    there = set(inspect(database.engine).get_table_names()) - {"alembic_version"}
    assert there == set(RULES)
    assert set(metadata.tables) == set(RULES)


@pytest.mark.promise("retention-vacuum")
async def test_what_is_old_enough_goes_and_what_is_not_stays(opened: Open) -> None:
    database = opened()
    records, handles = SqlCallRecords(database), SqlHandles(database)
    old = [record(f"old{n}", -n) for n in range(ROWS_AT_ONCE + 5)]
    await records.write([*old, record("new", 20 * DAY)], [Capture("old0", NOW, b"x")])
    for name, expires in (("gone", NOW + DAY), ("there", NOW + 99 * DAY)):
        await handles.put(name, {0: b"part"}, expires)
        await handles.finish(handle(name, expires=expires))
    vacuum = Vacuum(database, clock_at(30.5), Retention())
    wanted = {"call_records": ROWS_AT_ONCE + 5, "captures": 1, "handles": 1, "handle_parts": 1}
    assert taken(await vacuum.look()) == wanted
    assert taken(await vacuum.sweep()) == wanted
    assert taken(await vacuum.sweep()) == {}
    assert [each.id for each in await records.find(CallQuery())] == ["new"]
    assert await handles.find("there", NOW) is not None
    assert await handles.part("gone", 0) is None


async def test_entries_of_the_ledger_go_when_nobody_can_ask_any_more(opened: Open) -> None:
    database = opened()
    ledger = SqlLedger(database)
    for name in ("done", "doubted", "running"):
        await ledger.begin(LedgerEntry(name, "ann", name, "a/b", "1.0.0", "d", "o", NOW, NOW))
    await ledger.finish("done", b"sealed", NOW)
    ledger.doubt("doubted", "why", NOW)
    await ledger.aclose()
    assert taken(await Vacuum(database, clock_at(6.9), Retention()).sweep()) == {}
    assert taken(await Vacuum(database, clock_at(7.1), Retention()).sweep()) == {"ledger": 1}
    assert taken(await Vacuum(database, clock_at(30.1), Retention()).sweep()) == {"ledger": 2}


async def test_the_newest_records_and_captures_stay_within_a_number_and_a_size(
    opened: Open,
) -> None:
    database = opened()
    records = SqlCallRecords(database)
    made = [record(str(n), n) for n in range(9)]
    await records.write(made, [Capture(each.id, each.began, b"x" * 100) for each in made])
    keep = Retention(most_calls=4, most_capture_bytes=250)
    vacuum = Vacuum(database, clock_at(1), keep)
    swept = await vacuum.sweep()
    assert taken(swept) == {"call_records": 5, "captures": 7}
    assert [each.id for each in await records.find(CallQuery())] == ["8", "7", "6", "5"]
    assert swept is not None
    kept = {each.table: each.kept for each in swept}
    assert kept["call_records"] == "30 days, and the newest 4"


@pytest.mark.promise("retention-one-at-a-time")
async def test_one_process_sweeps_at_a_time_and_another_takes_over_from_a_dead_one(
    opened: Open,
) -> None:
    clock = clock_at(1)
    one, other = (
        Vacuum(opened(), clock, Retention(), owner=name) for name in ("the one", "the other")
    )
    assert one._lease(60.0) is True
    assert await other.sweep() is None
    clock.advance(61)
    assert await other.sweep() is not None
    assert await one.sweep() is not None


async def test_a_crib_sweeps_now_and_then_and_goes_on_when_the_database_is_away(
    opened: Open, tmp_path: Path
) -> None:
    database, clock = opened(), clock_at(99)
    records = SqlCallRecords(database)
    gone = open_database(f"sqlite:///{tmp_path / 'empty.db'}", tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Vacuum(gone, clock, Retention()).run)
        tasks.start_soon(Vacuum(database, clock, Retention(), owner="good").run)
        for wait in (FIRST_SECONDS, EVERY_SECONDS):
            await records.write([record("old")], [])
            with anyio.fail_after(30):
                while await records.find(CallQuery()):
                    await clock.sleeper(wait)
                    clock.advance(wait)
                    await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    gone.engine.dispose()


@pytest.mark.promise("retention-shrinks")
async def test_the_file_of_sqlite_gives_the_room_back(tmp_path: Path) -> None:
    database = open_database(None, tmp_path)
    migrate(database)
    records = SqlCallRecords(database)
    await records.write([], [Capture(str(n), NOW, b"x" * 50_000) for n in range(200)])
    before = database.size()
    vacuum = Vacuum(database, clock_at(99), Retention())
    assert await vacuum.rebuild() is False
    await vacuum.sweep()
    assert database.size() < before / 10
    database.engine.dispose()


async def test_a_file_that_an_older_toolcrib_made_is_written_anew_once(tmp_path: Path) -> None:
    database = open_database(None, tmp_path)
    migrate(database)
    with database.outside_transactions() as connection:
        connection.exec_driver_sql("PRAGMA auto_vacuum=NONE")
        connection.exec_driver_sql("VACUUM")
    records = SqlCallRecords(database)
    await records.write([record("kept")], [])
    vacuum = Vacuum(database, clock_at(1), Retention())
    assert (await vacuum.rebuild(), await vacuum.rebuild()) == (True, False)
    assert await records.record("kept") is not None
    database.engine.dispose()


@pytest.mark.promise("keys-count-what-is-sealed")
async def test_it_is_known_how_much_is_stored_under_each_key(opened: Open, tmp_path: Path) -> None:
    database = opened()
    assert sealed_under(database) == {}
    records, clock = SqlCallRecords(database), HandClock()
    sealer = RingSealer(tmp_path / "keys.json", clock)
    await records.write([], [Capture("a", NOW, sealer.seal(b"1", "capture:a"))])
    ring = KeyRing(tmp_path / "keys.json")
    (first,) = ring.keys()
    newest = ring.rotate(clock.now())[0]
    await records.write(
        [], [Capture(name, NOW, sealer.seal(b"12", f"capture:{name}")) for name in "bc"]
    )
    found = sealed_under(database)
    assert {key: rows.total for key, rows in found.items()} == {first.id: 1, newest.id: 2}
    assert found[newest.id].rows == {"captures": 2}
    assert found[newest.id].size > found[first.id].size > 0


def test_a_setting_that_is_no_number_is_refused_by_name() -> None:
    assert Retention.read({"TOOLCRIB_KEEP_CALLS": "5"}).most_calls == 5
    for wrong in ("many", "-1", "nan", "1e99"):
        with pytest.raises(ToolError, match="TOOLCRIB_KEEP_CALL_DAYS"):
            Retention.read({"TOOLCRIB_KEEP_CALL_DAYS": wrong})
