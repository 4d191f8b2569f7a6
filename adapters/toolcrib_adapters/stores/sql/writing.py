"""Writes changes into the tables, inside the caller's transaction.

Changes of tools are written in batches, one statement a kind: a change says what is true
afterwards, so only the order within a kind matters. Statements are built once; building them for
each row took most of the time of an import. Names and versions are only ever inserted: what is
published already may be said again, but not differently.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, bindparam, delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from toolcrib_adapters.stores.sql import rows, tables
from toolcrib_protocol.errors import CONFLICT, ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.version import Version
from toolcrib_registry.changes import (
    AddVersion,
    AllocateName,
    AskAgain,
    Change,
    DropDeclaration,
    DropGroup,
    DropOverlay,
    DropProfile,
    DropRules,
    DropSource,
    PutDeclaration,
    PutGroup,
    PutOverlay,
    PutProfile,
    PutRules,
    PutSource,
    SetHead,
    SetQuarantine,
    SetStatus,
    name_taken,
    version_taken,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import ColumnElement, Connection, Executable, Table

    Row = dict[str, Any]

_ADD_NAME = insert(tables.published_names)
_ADD_VERSION = insert(tables.versions)
_WHEN: Final[Row] = {"added_in": None}
"""What may differ when the same thing is said again."""
_NAME = bindparam("name", type_=tables.AnyText)
# SQLAlchemy writes ON CONFLICT differently for each database, although both understand the same
# words.
_ADD_TOOL = text(
    "INSERT INTO tools (home_group, name) VALUES (:home_group, :name) "
    "ON CONFLICT (home_group, name) DO NOTHING"
).bindparams(_NAME)
_PUT_STATUS = text(
    "INSERT INTO statuses (home_group, name, major, minor, patch, status, reason, since) "
    "VALUES (:home_group, :name, :major, :minor, :patch, :status, :reason, :since) "
    "ON CONFLICT (home_group, name, major, minor, patch) DO UPDATE "
    "SET status = excluded.status, reason = excluded.reason, since = excluded.since"
).bindparams(_NAME, bindparam("reason", type_=tables.AnyText))
_SET_HEAD = (
    update(tables.tools)
    .where(
        tables.tools.c.home_group == bindparam("of_group"),
        tables.tools.c.name == bindparam("of_name", type_=tables.AnyText),
    )
    .values(head_version=bindparam("to_version"))
)


def write_changes(connection: Connection, changes: Sequence[Change], revision: int) -> None:
    """Make the tables say what `changes` say, as `revision`.

    Raises:
        ToolError: `conflict` for a change to a published version or name, or of a tool there is
            not.
    """
    batches: dict[int, list[Row]] = {id(statement): [] for statement in _STATEMENTS}
    for change in changes:
        match change:
            case AllocateName(tool, name):
                key = {"home_group": tool.group, "name": tool.name}
                batches[id(_ADD_NAME)].append({"published_name": name, **key})
                batches[id(_ADD_TOOL)].append(key)
            case AddVersion(record):
                batches[id(_ADD_VERSION)].append(rows.version_row(record, revision))
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


def _run(connection: Connection, statement: Executable, batch: list[Row]) -> None:
    if not batch:
        return
    try:
        with _statement(connection):
            connection.execute(statement, batch)
    except IntegrityError as error:
        if statement is _ADD_NAME:
            _add_each(connection, tables.published_names, batch)
        elif statement is _ADD_VERSION:
            _add_each(connection, tables.versions, batch)
        else:
            raise _orphan(batch[0]) from error


def _statement(connection: Connection) -> AbstractContextManager[object]:
    """Where a statement may fail without ending the transaction.

    SQLite needs nothing for that, and a savepoint would hide a full disk: SQLite then rolls all
    back by itself, and going back to the savepoint is the error that is seen.
    """
    return nullcontext() if connection.dialect.name == "sqlite" else connection.begin_nested()


def _add_each(connection: Connection, table: Table, batch: list[Row]) -> None:
    """Add what is new and pass over what is there already, if it is the same."""
    for row in batch:
        key = (column == row[column.name] for column in table.primary_key)
        known = connection.execute(select(table).where(*key)).first()
        if known is None:
            _add(connection, table, row)
        elif {**known._asdict(), **_WHEN} != {**row, **_WHEN}:
            raise _refusal(table, row)


def _add(connection: Connection, table: Table, row: Row) -> None:
    try:
        with _statement(connection):
            connection.execute(insert(table), row)
    except IntegrityError as error:
        # The tool has another published name, or the version has no tool.
        raise (_orphan(row) if table is tables.versions else _refusal(table, row)) from error


def _refusal(table: Table, row: Row) -> ToolError:
    tool = ToolId(row["home_group"], row["name"])
    if table is tables.versions:
        return version_taken(tool, Version(row["major"], row["minor"], row["patch"]))
    return name_taken(tool, row["published_name"])


def _orphan(row: Row) -> ToolError:
    """Changes are decided on the state they are committed to, so this is a fault of the decider."""
    what = f"{row['home_group']}/{row['name']} or one of its versions"
    return ToolError(CONFLICT, f"{what} is not published yet; that comes first")


def _write(connection: Connection, change: Change) -> None:
    match change:
        case PutSource(source):
            _put(connection, tables.sources, rows.source_row(source), "name")
        case DropSource(name):
            _drop(connection, tables.sources.c.name == name, tables.sources)
            _drop(connection, tables.asked.c.source == name, tables.asked)
        case PutGroup():
            _put_group(connection, change)
        case DropGroup(name):
            _drop(connection, tables.memberships.c.group_name == name, tables.memberships)
            _drop(connection, tables.groups.c.name == name, tables.groups)
        case SetQuarantine():
            _set_quarantine(connection, change)
        case AskAgain(source, number):
            _put(connection, tables.asked, {"source": source, "number": number}, "source")
        case _:
            _write_facts(connection, change)


def _write_facts(connection: Connection, change: Change) -> None:
    match change:
        case PutProfile(profile):
            _put(connection, tables.profiles, rows.profile_row(profile), "name")
        case DropProfile(name):
            _drop(connection, tables.profiles.c.name == name, tables.profiles)
        case PutOverlay(record):
            _put(connection, tables.overlays, rows.overlay_row(record), "home_group", "name")
        case DropOverlay(tool):
            table = tables.overlays
            mine = and_(table.c.home_group == tool.group, table.c.name == tool.name)
            _drop(connection, mine, table)
        case PutRules(rules):
            _put(connection, tables.call_rules, rows.rules_row(rules), "scope")
        case DropRules(scope):
            _drop(connection, tables.call_rules.c.scope == str(scope), tables.call_rules)
        case PutDeclaration(declaration):
            _put(connection, tables.declarations, rows.declaration_row(declaration), "name")
        case DropDeclaration(name):
            _drop(connection, tables.declarations.c.name == name, tables.declarations)


def _put(connection: Connection, table: Table, row: Row, *key: str) -> None:
    """The one row of that key, new or in place of the old one."""
    _drop(connection, and_(*(table.c[name] == row[name] for name in key)), table)
    connection.execute(insert(table).values(row))


def _drop(connection: Connection, condition: ColumnElement[bool], table: Table) -> None:
    connection.execute(delete(table).where(condition))


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
