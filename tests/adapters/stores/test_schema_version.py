"""How a database comes to the schema this toolcrib knows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from tests.adapters.stores.opening import sql_store
from tests.registry.samples import everything_of_the_first_schema
from toolcrib_adapters.stores.migrations import CURRENT
from toolcrib_adapters.stores.sql import open_store, tables
from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.schema_version import MIGRATIONS, migrate
from toolcrib_protocol.errors import NEWER_STORE, ErrorKind, ToolError
from toolcrib_registry.changes import PutProfile
from toolcrib_registry.records import ProfileRecord

if TYPE_CHECKING:
    from toolcrib_adapters.stores.sql.database import Database


FIRST_TABLES = {
    "alembic_version",
    "head",
    "sources",
    "published_names",
    "tools",
    "versions",
    "statuses",
    "groups",
    "memberships",
    "quarantine",
    "changes",
    "source_states",
}


def execute(database: Database, statement: str) -> None:
    with database.writing() as connection:
        connection.exec_driver_sql(statement)


def test_the_version_this_toolcrib_knows_is_the_newest_step() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == CURRENT


def test_the_steps_build_the_tables_that_the_code_uses(database_url: str) -> None:
    database = open_database(database_url, Path())
    migrate(database)

    inspector = sa.inspect(database.engine)
    built = {
        name: [column["name"] for column in inspector.get_columns(name)]
        for name in inspector.get_table_names()
        if name != "alembic_version"
    }
    database.engine.dispose()

    assert built == {name: [*table.c.keys()] for name, table in tables.metadata.tables.items()}


@pytest.mark.promise("store-newer-refused")
async def test_a_database_of_a_newer_toolcrib_is_refused_and_left_as_it_is(
    database_url: str,
) -> None:
    await sql_store(database_url, Path()).aclose()
    database = open_database(database_url, Path())
    execute(database, "UPDATE alembic_version SET version_num = '9999'")
    execute(database, "DROP TABLE memberships")

    with pytest.raises(ToolError, match=r"schema 9999, this one knows \d{4}.*upgrade") as refusal:
        await open_store(database_url, Path())

    found = sa.inspect(database.engine).get_table_names()
    database.engine.dispose()
    assert (refusal.value.code, refusal.value.kind) == (NEWER_STORE, ErrorKind.NEEDS_HUMAN)
    assert "memberships" not in found


async def test_a_newer_sqlite_file_keeps_every_byte(tmp_path: Path) -> None:
    await sql_store(None, tmp_path).aclose()
    database = open_database(None, tmp_path)
    execute(database, "UPDATE alembic_version SET version_num = '9999'")
    database.engine.dispose()
    before = (tmp_path / "crib.db").read_bytes()

    with pytest.raises(ToolError, match="newer toolcrib"):
        await open_store(None, tmp_path)

    assert (tmp_path / "crib.db").read_bytes() == before


async def test_a_step_that_fails_leaves_nothing_behind(database_url: str) -> None:
    database = open_database(database_url, Path())
    # The name of one of our later tables is taken by somebody else's.
    execute(database, "CREATE TABLE changes (what TEXT)")

    with pytest.raises(ToolError, match="changes"):
        migrate(database)

    found = sa.inspect(database.engine).get_table_names()
    database.engine.dispose()
    assert found == ["changes"]


async def test_a_database_of_the_first_schema_keeps_what_it_holds(database_url: str) -> None:
    store = sql_store(database_url, Path())
    await store.commit(everything_of_the_first_schema(), 0)
    before = await store.snapshot()
    await store.aclose()
    database = open_database(database_url, Path())
    for table in set(sa.inspect(database.engine).get_table_names()) - FIRST_TABLES:
        execute(database, f"DROP TABLE {table}")
    execute(database, "ALTER TABLE versions DROP COLUMN under")
    execute(database, "UPDATE alembic_version SET version_num = '0001'")
    database.engine.dispose()

    store = sql_store(database_url, Path())
    after = await store.snapshot()
    await store.commit([PutProfile(ProfileRecord("new"))], after.revision)
    profiles = (await store.snapshot()).profiles
    await store.aclose()

    assert after == before
    assert [*profiles] == ["new"]


@pytest.mark.promise("store-quick-start")
async def test_a_current_database_opens_without_the_migration_tool(tmp_path: Path) -> None:
    await sql_store(None, tmp_path).aclose()
    code = (
        "import anyio, pathlib, sys\n"
        "from toolcrib_adapters.stores.sql import open_store\n"
        "anyio.run(open_store, None, pathlib.Path(sys.argv[1]))\n"
        "print('alembic' in sys.modules, 'psycopg' in sys.modules)\n"
    )

    done = await anyio.run_process([sys.executable, "-c", code, str(tmp_path)])

    assert done.stdout.split() == [b"False", b"False"]
    assert done.stderr == b""


async def test_making_a_database_says_nothing_and_needs_no_files_of_the_user(
    tmp_path: Path,
) -> None:
    code = (
        "import anyio, logging, pathlib, sys\n"
        "from toolcrib_adapters.stores.sql import open_store\n"
        "logging.basicConfig(level=logging.WARNING)\n"
        "anyio.run(open_store, None, pathlib.Path(sys.argv[1]))\n"
    )

    done = await anyio.run_process(
        [sys.executable, "-c", code, str(tmp_path / "new" / "home %d")], cwd=tmp_path
    )

    assert (done.stdout, done.stderr) == (b"", b"")
