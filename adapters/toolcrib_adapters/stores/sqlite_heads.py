"""What a question needs of a catalogue in a SQLite file, read with the driver alone.

The version that answers of each tool, names and groups: no sources, no other versions, no history.
A search from the shell reads this, because importing SQLAlchemy takes longer than its answer. Only
a database as this toolcrib writes it is read; to make one, to wait for one and to say what is wrong
with one is the business of `sql`.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.stores import SQLITE_FILE
from toolcrib_adapters.stores.escaped_text import unescaped
from toolcrib_adapters.stores.migrations import CURRENT
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.version import Version
from toolcrib_registry.records import GroupRecord, StatusRecord, ToolRecord, VersionRecord
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TOOLS: Final = """
    SELECT home_group, name, published_name, head_version, contract, fingerprint, source,
        upstream_name, status
    FROM published_names
    JOIN tools USING (home_group, name)
    LEFT JOIN versions USING (home_group, name)
    LEFT JOIN statuses USING (home_group, name, major, minor, patch)
    WHERE head_version IS NULL OR head_version = major || '.' || minor || '.' || patch
"""
_MEMBERS: Final = "SELECT group_name, home_group, name FROM memberships ORDER BY position"


def read_heads(home: Path) -> Snapshot | None:
    """What the database in `home` holds; None if it has to be opened with more care."""
    file = (home / SQLITE_FILE).absolute().as_uri()
    try:
        with closing(sqlite3.connect(f"{file}?mode=rw", timeout=0, uri=True)) as connection:
            # One transaction: everything is of one revision.
            connection.execute("BEGIN")
            found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            return _read(connection) if found == (CURRENT,) else None
    except sqlite3.Error:
        return None


def _read(connection: sqlite3.Connection) -> Snapshot:
    (revision,) = connection.execute("SELECT revision FROM head").fetchone()
    tools = _tools(connection, _hidden(connection))
    return Snapshot(
        revision=revision,
        tools=tools,
        by_published_name={tool.published_name: tool.id for tool in tools.values()},
        groups=_groups(connection),
    )


def _hidden(connection: sqlite3.Connection) -> frozenset[ToolId]:
    rows = connection.execute("SELECT home_group, name, facts FROM overlays")
    overlays = ((ToolId(group, unescaped(name)), json.loads(facts)) for group, name, facts in rows)
    return frozenset(tool for tool, facts in overlays if facts.get("hidden"))


def _tools(connection: sqlite3.Connection, hidden: frozenset[ToolId]) -> dict[ToolId, ToolRecord]:
    # Thousands of tools share a handful of versions and states.
    version_of, state_of = cache(Version.parse), cache(StatusRecord)
    tools: dict[ToolId, ToolRecord] = {}
    for (
        group,
        name,
        published,
        head,
        contract,
        fingerprint,
        source,
        upstream,
        status,
    ) in connection.execute(_TOOLS):
        tool = ToolId(group, unescaped(name))
        if head is None:
            tools[tool] = ToolRecord(tool, published, None, {}, {})
            continue
        version = version_of(head)
        record = VersionRecord(tool, version, contract, fingerprint, source, unescaped(upstream))
        statuses = {} if status is None else {version: state_of(status)}
        tools[tool] = ToolRecord(
            tool, published, version, {version: record}, statuses, is_hidden=tool in hidden
        )
    return tools


def _groups(connection: sqlite3.Connection) -> Mapping[str, GroupRecord]:
    members: dict[str, list[ToolId]] = defaultdict(list)
    for group, home, name in connection.execute(_MEMBERS):
        members[group].append(ToolId(home, unescaped(name)))
    return {
        name: GroupRecord(name=name, members=tuple(members[name]), **json.loads(facts))
        for name, facts in connection.execute("SELECT name, facts FROM groups")
    }
