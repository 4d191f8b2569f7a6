"""Changes as rows of the change log, and back.

A row holds what happened and to what. Large values (versions, sources, groups, quarantine) are not written a second time: the
follower reads their present row, which is right because applying a change says what is true afterwards, and a later
change to the same thing follows in the log.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from toolcrib_adapters.stores.sql import rows, tables
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.version import Version
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
from toolcrib_registry.records import StatusRecord

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from toolcrib_protocol.json_value import Json


def change_row(change: Change) -> dict[str, str]:
    """The kind and key columns of a change."""
    return {"kind": type(change).__name__, "key": rows.text(_key(change))}


def _key(change: Change) -> Json:
    match change:
        case PutSource(source):
            return [source.name]
        case PutGroup(group):
            return [group.name]
        case DropSource(name) | DropGroup(name):
            return [name]
        case SetQuarantine(source, _):
            return [source]
        case _:
            return _tool_key(change)


def _tool_key(change: AllocateName | AddVersion | SetStatus | SetHead) -> Json:
    match change:
        case AllocateName(tool, name):
            return [tool.group, tool.name, name]
        case AddVersion(record):
            return [record.tool.group, record.tool.name, str(record.version)]
        case SetStatus(tool, version, status):
            facts = [status.status, status.reason, status.since]
            return [tool.group, tool.name, str(version), *facts]
        case SetHead(tool, version):
            return [tool.group, tool.name, None if version is None else str(version)]


def read_change(connection: Connection, kind: str, key: str) -> Change | None:
    """The change that a row tells; None if what it put was dropped again later."""
    parts: list[Any] = json.loads(key)
    if kind in _PLAIN:
        return _PLAIN[kind](parts[0])
    if kind in _READ:
        return _READ[kind](connection, parts[0])
    tool = ToolId(parts[0], parts[1])
    match kind:
        case "AllocateName":
            return AllocateName(tool, parts[2])
        case "SetStatus":
            return SetStatus(tool, Version.parse(parts[2]), StatusRecord(*parts[3:]))
        case "SetHead":
            return SetHead(tool, None if parts[2] is None else Version.parse(parts[2]))
        case _:
            return AddVersion(_version(connection, tool, Version.parse(parts[2])))


def _version(connection: Connection, tool: ToolId, version: Version) -> rows.VersionRecord:
    table = tables.versions
    matches = [table.c[name] == value for name, value in rows.version_key(tool, version).items()]
    return rows.version_record(connection.execute(select(table).where(*matches)).one())


def _put_source(connection: Connection, name: str) -> PutSource | None:
    found = connection.execute(select(tables.sources).where(tables.sources.c.name == name)).first()
    return None if found is None else PutSource(rows.source_record(found))


def _put_group(connection: Connection, name: str) -> PutGroup | None:
    found = connection.execute(select(tables.groups).where(tables.groups.c.name == name)).first()
    if found is None:
        return None
    table = tables.memberships
    listed = connection.execute(
        select(table).where(table.c.group_name == name).order_by(table.c.position)
    )
    return PutGroup(rows.group_record(found, [ToolId(row.home_group, row.name) for row in listed]))


def _set_quarantine(connection: Connection, source: str) -> SetQuarantine:
    table = tables.quarantine
    found = connection.execute(select(table).where(table.c.source == source).order_by(table.c.number))
    return SetQuarantine(source, tuple(rows.quarantine_record(row) for row in found))


_PLAIN = {"DropSource": DropSource, "DropGroup": DropGroup}
_READ = {"PutSource": _put_source, "PutGroup": _put_group, "SetQuarantine": _set_quarantine}
