"""What is particular to the SQL store: silence on the board, notices, large catalogues of old."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa

from tests.adapters.stores.opening import sql_store
from tests.registry.samples import NOW, published, source, version
from toolcrib_adapters.stores.sql import notices
from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_registry.changes import PutSource
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.ports import SourceState, SourceStatus

READY = SourceState(SourceStatus.READY, NOW)


@pytest.mark.promise("store-silent-cribs-forgotten")
async def test_a_crib_that_was_killed_leaves_the_board_after_a_while(database_url: str) -> None:
    clock = HandClock()
    store = sql_store(database_url, Path(), clock=clock)
    await store.report("killed", {"mail": READY})
    await store.report("alive", {"brief": READY})

    clock.advance(40)
    await store.report("alive", {"brief": READY})
    assert set(await store.reported()) == {"mail", "brief"}
    clock.advance(10)
    assert set(await store.reported()) == {"brief"}
    await store.report("alive", {"brief": READY})

    with open_database(database_url, Path()).reading() as connection:
        rows = connection.execute(sa.text("SELECT crib FROM source_states")).scalars().all()
    await store.aclose()
    assert rows == ["alive"]


async def test_old_change_rows_are_trimmed_in_one_go_now_and_then(database_url: str) -> None:
    store = sql_store(database_url, Path(), kept_revisions=40)
    left = []
    with open_database(database_url, Path()).engine.connect() as connection:
        for revision in range(47):
            await store.commit([PutSource(source())], revision)
            left.append(connection.execute(sa.text("SELECT count(*) FROM changes")).scalar_one())
            connection.rollback()

    await store.aclose()
    assert left[39:] == [40, 41, 42, 40, 41, 42, 40, 41]


async def test_postgresql_tells_followers_without_being_asked(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without the safety net only the notification can end the wait in time.
    monkeypatch.setattr(notices, "_LISTEN_SECONDS", 3_600)
    await told(postgres_url)


async def test_postgresql_followers_look_for_themselves_if_no_notification_comes(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "_LISTEN_SECONDS", 0.01)
    reader = sql_store(postgres_url, Path())
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader.wait_changed, 0, 3_600)
            await anyio.wait_all_tasks_blocked()
            # As a restored backup does: the revision moves, and nobody is told.
            with open_database(postgres_url, Path()).writing() as connection:
                connection.execute(sa.text("UPDATE head SET revision = revision + 1"))
    await reader.aclose()


async def told(url: str) -> None:
    reader, writer = sql_store(url, Path()), sql_store(url, Path())
    with anyio.fail_after(60):
        for revision in range(3):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reader.wait_changed, revision, 3_600)
                await anyio.wait_all_tasks_blocked()
                await writer.commit([PutSource(source())], revision)
    await reader.aclose()
    await writer.aclose()


async def test_a_follower_goes_on_after_its_connections_broke(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "_LISTEN_SECONDS", 3_600)
    reader, writer = sql_store(postgres_url, Path()), sql_store(postgres_url, Path())
    broken = sa.text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader.wait_changed, 0, 3_600)
            await anyio.wait_all_tasks_blocked()
            with open_database(postgres_url, Path()).writing() as connection:
                connection.execute(broken)
            await writer.commit([PutSource(source())], 0)

    await reader.aclose()
    await writer.aclose()


async def test_a_sqlite_follower_goes_on_after_its_connection_broke(tmp_path: Path) -> None:
    reader, writer = sql_store(None, tmp_path), sql_store(None, tmp_path)
    await writer.wait_changed(0, 0.01)
    assert not await reader.wait_changed(0, 0.01)
    reader._notices._driver().close()  # type: ignore[attr-defined]

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader.wait_changed, 0, 3_600)
            await anyio.wait_all_tasks_blocked()
            await writer.commit(published(version()), 0)

    await reader.aclose()
    await writer.aclose()


async def test_closing_twice_and_closing_an_unused_store_is_fine(database_url: str) -> None:
    store = sql_store(database_url, Path())

    await store.aclose()
    await store.aclose()


@pytest.mark.promise("store-last-failures")
async def test_how_a_source_of_a_killed_crib_failed_is_known(database_url: str) -> None:
    clock = HandClock()
    store = sql_store(database_url, Path(), clock=clock)
    failed = SourceState(SourceStatus.FAILED, NOW, "it is gone")
    await store.report("killed", {"mail": failed, "brief": READY})
    assert await store.last_failures() == {}
    clock.advance(50)
    assert await store.last_failures() == {"mail": failed}
    await store.report("alive", {"brief": READY})
    clock.advance(50)
    assert await store.last_failures() == {"mail": failed}
