"""What a question reads of a SQLite file without SQLAlchemy, against the whole store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.adapters.stores.opening import sql_store
from tests.adapters.stores.test_store_behaviour import HISTORY
from tests.registry.samples import ODD_TEXT, published, version
from toolcrib_adapters.stores import SQLITE_FILE
from toolcrib_adapters.stores.sqlite_heads import read_heads

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_registry.records import ToolRecord
    from toolcrib_registry.snapshot import Snapshot


def answering(tool: ToolRecord) -> tuple[object, ...]:
    """What of a tool a question needs."""
    head = tool.head
    if head is None:
        return tool.id, tool.published_name, None
    assert head.description == head.contract.description
    shown = (head.version, head.written, head.fingerprint, head.source, head.upstream_name)
    return tool.id, tool.published_name, shown


def needed(snapshot: Snapshot) -> tuple[object, ...]:
    """What of a catalogue a question needs."""
    tools = {tool: answering(record) for tool, record in snapshot.tools.items()}
    return snapshot.revision, tools, snapshot.by_published_name, snapshot.groups


def execute(home: Path, statement: str) -> None:
    with closing(sqlite3.connect(home / SQLITE_FILE)) as connection, connection:
        connection.execute(statement)


@pytest.mark.promise("cli-search-light")
async def test_a_question_reads_the_same_tools_names_and_groups_as_the_store(
    tmp_path: Path,
) -> None:
    store = sql_store(None, tmp_path)
    odd_text = ODD_TEXT.replace("\ud800", "")
    odd = published(version(odd_text, group="odd", text=odd_text))
    for revision, changes in enumerate((*HISTORY, odd)):
        await store.commit(changes, revision)
        whole, heads = await store.snapshot(), read_heads(tmp_path)
        assert heads is not None
        assert needed(heads) == needed(whole)
    await store.aclose()


async def test_what_is_not_a_current_database_is_left_to_the_store(tmp_path: Path) -> None:
    assert read_heads(tmp_path) is None
    assert not (tmp_path / SQLITE_FILE).exists()

    await sql_store(None, tmp_path).aclose()
    assert read_heads(tmp_path) is not None
    for found in ("0001", "9999"):
        execute(tmp_path, f"UPDATE alembic_version SET version_num = '{found}'")
        assert read_heads(tmp_path) is None
    execute(tmp_path, "DROP TABLE alembic_version")
    assert read_heads(tmp_path) is None

    (tmp_path / SQLITE_FILE).write_bytes(b"this is no database" * 1_000)
    assert read_heads(tmp_path) is None
