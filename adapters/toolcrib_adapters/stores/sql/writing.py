"""Writes changes into the tables, inside the caller's transaction.

Changes of tools are written in batches, one statement a kind: a change says what is true afterwards, so only the order within
a kind matters. Statements are built once; building them for each row took most of the time of an import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, insert, text, update
from sqlalchemy.exc import IntegrityError

from toolcrib_adapters.stores.sql import rows, tables
from toolcrib_protocol.errors import CONFLICT, ToolError
from toolcrib_registry.changes import (
    AddVersion,
    AllocateName,
    Change,
    DropGroup,
    DropSource,
    PutGroup,
    PutSource,
    SetHead,
    SetQuarantine,
    SetStatus,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Executable

_ADD_NAME = insert(tables.published_names)
_ADD_TOOL = insert(tables.tools)
_ADD_VERSION = insert(tables.versions)
# The one statement that SQLAlchemy writes differently for each database, and both databases understand alike.
_PUT_STATUS = text(
    "INSERT INTO statuses (home_group, name, major, minor, patch, status, reason, since) "
    "VALUES (:home_group, :name, :major, :minor, :patch, :status, :reason, :since) "
    "ON CONFLICT (home_group, name, major, minor, patch) DO UPDATE "
    "SET status = excluded.status, reason = excluded.reason, since = excluded.since"
)
_SET_HEAD = (
    update(tables.tools)
    .where(
        tables.tools.c.home_group == bindparam("of_group"), tables.tools.c.name == bindparam("of_name")
    )
    .values(head_version=bindparam("to_version"))
)


def write_changes(connection: Connection, changes: Sequence[Change]) -> None:
    """Make the tables say what `changes` say.

    Raises:
        ToolError: `conflict` for a published version or name that exists already.
    """
    batches: dict[int, list[dict[str, Any]]] = {id(statement): [] for statement in _STATEMENTS}
    for change in changes:
        match change:
            case AllocateName(tool, name):
                key = {"home_group": tool.group, "name": tool.name}
                batches[id(_ADD_NAME)].append({"published_name": name, **key})
                batches[id(_ADD_TOOL)].append({**key, "head_version": None})
            case AddVersion(record):
                batches[id(_ADD_VERSION)].append(rows.version_row(record))
            case SetStatus(tool, version, status):
                row = {**rows.version_key(tool, version), **rows.status_row(status)}
                batches[id(_PUT_STATUS)].append(row)
            case SetHead(tool, version):
                wanted = None if version is None else str(version)
                batches[id(_SET_HEAD)].append(
                    {"of_group": tool.group, "of_name": tool.name, "to_version": wanted}
                )
            case _:
                _write(connection, change)
    for statement in _STATEMENTS:
        _run(connection, statement, batches[id(statement)])


_STATEMENTS: tuple[Executable, ...] = (_ADD_NAME, _ADD_TOOL, _ADD_VERSION, _PUT_STATUS, _SET_HEAD)


def _run(connection: Connection, statement: Executable, batch: list[dict[str, Any]]) -> None:
    if not batch:
        return
    try:
        connection.execute(statement, batch)
    except IntegrityError as error:
        # Changes are decided on the state they are committed to, so this is a fault of the decider.
        raise ToolError(
            CONFLICT, "a name or version that is published already cannot be published again"
        ) from error


def _write(
    connection: Connection, change: PutSource | DropSource | PutGroup | DropGroup | SetQuarantine
) -> None:
    match change:
        case PutSource(source):
            _drop(connection, tables.sources.c.name == source.name, tables.sources)
            connection.execute(insert(tables.sources).values(rows.source_row(source)))
        case DropSource(name):
            _drop(connection, tables.sources.c.name == name, tables.sources)
        case PutGroup():
            _put_group(connection, change)
        case DropGroup(name):
            _drop(connection, tables.groups.c.name == name, tables.groups)
            _drop(connection, tables.memberships.c.group_name == name, tables.memberships)
        case SetQuarantine():
            _set_quarantine(connection, change)


def _drop(connection: Connection, condition: object, table: tables.Table) -> None:
    connection.execute(delete(table).where(condition))  # type: ignore[arg-type]  # a column expression


def _put_group(connection: Connection, change: PutGroup) -> None:
    _write(connection, DropGroup(change.group.name))
    connection.execute(insert(tables.groups).values(rows.group_row(change.group)))
    members = [
        {"group_name": change.group.name, "position": i, "home_group": t.group, "name": t.name}
        for i, t in enumerate(change.group.members)
    ]
    if members:
        connection.execute(insert(tables.memberships), members)


def _set_quarantine(connection: Connection, change: SetQuarantine) -> None:
    _drop(connection, tables.quarantine.c.source == change.source, tables.quarantine)
    entries = [rows.quarantine_row(number, entry) for number, entry in enumerate(change.entries)]
    if entries:
        connection.execute(insert(tables.quarantine), entries)
