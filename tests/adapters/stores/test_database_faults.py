"""What people are told when a database cannot be used."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from tests.adapters.stores.opening import sql_store
from tests.registry.samples import published, source, version
from toolcrib_adapters.stores.sql import open_store
from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.faults import as_tool_error
from toolcrib_protocol.errors import (
    INVALID_SETTINGS,
    STORE_BUSY,
    STORE_UNAVAILABLE,
    ErrorKind,
    ToolError,
)
from toolcrib_registry.changes import PutSource

if TYPE_CHECKING:
    from toolcrib_adapters.stores.sql import SqlStore

COMMIT = [PutSource(source())]


async def test_home_and_database_belong_to_their_user_alone(tmp_path: Path) -> None:
    store = await open_store(None, tmp_path / "above" / "home")
    await store.commit(COMMIT, 0)

    home = tmp_path / "above" / "home"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [home, *home.iterdir()]}
    await store.aclose()

    assert modes.pop("home") == 0o700
    assert {*modes} == {"crib.db", "crib.db-wal", "crib.db-shm"}
    assert {*modes.values()} == {0o600}


@pytest.mark.promise("store-busy-is-busy")
async def test_a_locked_database_is_busy_and_nothing_else(database_url: str) -> None:
    store = sql_store(database_url, Path(), busy_seconds=0.05)
    other = open_database(database_url, Path())
    with other.writing() as connection:
        connection.execute(sa.text("UPDATE head SET revision = revision"))
        with pytest.raises(ToolError, match="another process writes to it; try again") as refusal:
            await store.commit(COMMIT, 0)

    assert (refusal.value.code, refusal.value.kind) == (STORE_BUSY, ErrorKind.RETRYABLE)
    assert await store.commit(COMMIT, 0) == 1
    other.engine.dispose()
    await store.aclose()


async def test_readers_do_not_wait_for_a_writer(database_url: str) -> None:
    store = sql_store(database_url, Path(), busy_seconds=0.05)
    other = open_database(database_url, Path())
    with other.writing() as connection:
        connection.execute(sa.text("UPDATE head SET revision = 7"))
        assert (await store.snapshot()).revision == 0

    assert (await store.snapshot()).revision == 7
    other.engine.dispose()
    await store.aclose()


def limit_to_its_present_size(store: SqlStore) -> None:
    """What a full disk does to SQLite, without filling one."""

    def on_connect(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA max_page_count=1")  # SQLite takes it as the present size

    store._database.engine.dispose()
    sa.event.listen(store._database.engine, "connect", on_connect)


async def test_a_full_disk_is_told_with_the_path_and_nothing_is_written(tmp_path: Path) -> None:
    store = sql_store(None, tmp_path)
    limit_to_its_present_size(store)
    large = version(text="x" * 90_000)

    with pytest.raises(ToolError, match=f"{tmp_path}.*full.*free space") as refusal:
        await store.commit(published(large), 0)

    assert (refusal.value.code, refusal.value.kind) == (STORE_UNAVAILABLE, ErrorKind.NEEDS_HUMAN)
    assert (await store.snapshot()).revision == 0
    await store.aclose()


async def test_a_read_only_database_can_be_read_and_says_what_stops_a_commit(
    tmp_path: Path,
) -> None:
    writable = sql_store(None, tmp_path)
    await writable.commit(COMMIT, 0)
    store = await open_store(f"sqlite:///file:{tmp_path / 'crib.db'}?mode=ro&uri=true", Path())

    assert (await store.snapshot()).revision == 1
    with pytest.raises(ToolError, match=f"{tmp_path}.*readonly.*allow this user") as refusal:
        await store.commit(COMMIT, 1)

    assert refusal.value.code == STORE_UNAVAILABLE
    await store.aclose()
    await writable.aclose()


async def test_a_file_that_is_no_database_is_told_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "crib.db"
    path.write_text("my letters\n" * 1_000)

    with pytest.raises(ToolError, match=f"{path}.*no database.*move it away") as refusal:
        await open_store(None, tmp_path)

    assert (refusal.value.code, refusal.value.kind) == (STORE_UNAVAILABLE, ErrorKind.NEEDS_HUMAN)
    assert path.read_text() == "my letters\n" * 1_000


async def test_a_home_that_cannot_be_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ToolError, match=r"file.crib\.db cannot be used.*--home") as refusal:
        await open_store(None, tmp_path / "file")

    assert refusal.value.code == STORE_UNAVAILABLE


@pytest.mark.parametrize(
    "url",
    ["not a url", "mysql://user:secret@host/db", "sqlite://", "sqlite:///:memory:"],
)
async def test_a_url_that_cannot_be_used_is_refused_with_forms_that_can(
    url: str, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match=r"sqlite:////PATH/TO/FILE\.db") as refusal:
        await open_store(url, tmp_path)

    assert refusal.value.code == INVALID_SETTINGS
    assert "secret" not in refusal.value.message


async def test_an_unreachable_server_is_told_without_the_password(tmp_path: Path) -> None:
    url = f"postgres://user:secret@/db?host={tmp_path}"

    with pytest.raises(ToolError, match="check that the server runs") as refusal:
        await open_store(url, tmp_path)

    assert (refusal.value.code, refusal.value.kind) == (STORE_UNAVAILABLE, ErrorKind.RETRYABLE)
    assert "secret" not in refusal.value.message


async def test_a_server_that_refuses_is_told_apart_from_one_that_is_away(
    postgres_url: str,
) -> None:
    await sql_store(postgres_url, Path()).aclose()
    database = open_database(postgres_url, Path())
    with (
        pytest.raises(ToolError, match="read-only transaction; allow this user to write"),
        database.reading() as connection,
    ):
        connection.exec_driver_sql("SET TRANSACTION READ ONLY; DELETE FROM changes")
    with (
        pytest.raises(ToolError, match="check that the server runs"),
        database.reading() as connection,
    ):
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
    with (
        pytest.raises(ToolError, match="a fault of toolcrib") as refusal,
        database.reading() as connection,
    ):
        connection.exec_driver_sql("SELECT nothing FROM nowhere")

    database.engine.dispose()
    assert refusal.value.kind is ErrorKind.FATAL


def test_a_fault_that_no_database_numbered_is_told_in_its_own_words() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.close()
        with pytest.raises(sqlite3.ProgrammingError) as fault:
            connection.execute("SELECT 1")

    told = as_tool_error(DBAPIError("SELECT 1", {}, fault.value), "the file")

    assert told.code == STORE_UNAVAILABLE
    assert "closed database" in told.message
