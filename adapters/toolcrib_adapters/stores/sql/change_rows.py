"""Changes as rows of the change log, and back.

A row holds what happened and to what. Large values (versions, sources, groups, quarantine) are not
written a second time: the follower reads their present row, which is right because applying a
change says what is true afterwards, and a later change to the same thing follows in the log.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from toolcrib_adapters.stores.sql import rows, tables
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
)
from toolcrib_registry.ports import ChangeFeed
from toolcrib_registry.records import StatusRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import Connection

    from toolcrib_protocol.json_value import Json
    from toolcrib_registry.records import VersionRecord

    _Versions = Mapping[tuple[ToolId, Version], VersionRecord]


def change_row(change: Change) -> dict[str, str]:
    """The kind and key columns of a change."""
    return {"kind": type(change).__name__, "key": rows.text(_key(change))}


def _key(change: Change) -> Json:
    match change:
        case PutSource(source):
            return [source.name]
        case PutGroup(group):
            return [group.name]
        case PutProfile(profile):
            return [profile.name]
        case PutDeclaration(declaration):
            return [declaration.name]
        case AskAgain(source, number):
            return [source, number]
        case SetQuarantine(source, _):
            return [source]
        case PutOverlay() | DropOverlay() | PutRules() | DropRules():
            return _laid_key(change)
        case DropSource(name) | DropGroup(name) | DropProfile(name) | DropDeclaration(name):
            return [name]
        case _:
            return _tool_key(change)


def _laid_key(change: PutOverlay | DropOverlay | PutRules | DropRules) -> Json:
    match change:
        case PutOverlay(overlay):
            return [overlay.tool.group, overlay.tool.name]
        case DropOverlay(tool):
            return [tool.group, tool.name]
        case PutRules(rules):
            return [str(rules.scope)]
        case DropRules(scope):
            return [str(scope)]


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


def read_feed(connection: Connection, after: int) -> ChangeFeed | None:
    """What was committed after the revision `after`; None if its rows are gone."""
    head = connection.execute(select(tables.head)).one()
    if not head.trimmed_to <= after <= head.revision:
        return None
    return ChangeFeed(head.revision, tuple(_changes(connection, after, head.revision)))


def _changes(connection: Connection, after: int, up_to: int) -> Iterator[Change]:
    table = tables.changes
    log = connection.execute(
        select(table.c.kind, table.c.key)
        .where(table.c.revision > after, table.c.revision <= up_to)
        .order_by(table.c.revision, table.c.position)
    ).all()
    added = _versions(connection, after, up_to)
    for kind, key in log:
        change = _read_change(connection, kind, json.loads(key), added)
        if change is not None:
            yield change


def _read_change(
    connection: Connection, kind: str, parts: list[Any], added: _Versions
) -> Change | None:
    """The change that a row tells; None if what it put was dropped later or added before."""
    if kind in _PLAIN:
        return _PLAIN[kind](*parts)
    if kind in _READ:
        return _READ[kind](connection, *parts)
    tool = ToolId(parts[0], parts[1])
    match kind:
        case "AllocateName":
            return AllocateName(tool, parts[2])
        case "SetStatus":
            return SetStatus(tool, Version.parse(parts[2]), StatusRecord(*parts[3:]))
        case "SetHead":
            return SetHead(tool, None if parts[2] is None else Version.parse(parts[2]))
        case _:
            record = added.get((tool, Version.parse(parts[2])))
            return None if record is None else AddVersion(record)


def _versions(connection: Connection, after: int, up_to: int) -> _Versions:
    table = tables.versions
    found = connection.execute(
        select(table).where(table.c.added_in > after, table.c.added_in <= up_to)
    )
    records = (rows.version_record(row) for row in found)
    return {(record.tool, record.version): record for record in records}


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


def _put_profile(connection: Connection, name: str) -> PutProfile | None:
    table = tables.profiles
    found = connection.execute(select(table).where(table.c.name == name)).first()
    return None if found is None else PutProfile(rows.profile_record(found))


def _put_declaration(connection: Connection, name: str) -> PutDeclaration | None:
    table = tables.declarations
    found = connection.execute(select(table).where(table.c.name == name)).first()
    return None if found is None else PutDeclaration(rows.declaration_record(found))


def _put_overlay(connection: Connection, group: str, name: str) -> PutOverlay | None:
    table = tables.overlays
    found = connection.execute(
        select(table).where(table.c.home_group == group, table.c.name == name)
    ).first()
    return None if found is None else PutOverlay(rows.overlay_record(found))


def _put_rules(connection: Connection, scope: str) -> PutRules | None:
    table = tables.call_rules
    found = connection.execute(select(table).where(table.c.scope == scope)).first()
    record = None if found is None else rows.rules_record(found)
    return None if record is None else PutRules(record)


def _drop_rules(_connection: Connection, written: str) -> DropRules | None:
    scope = rows.rule_scope(written)
    return None if scope is None else DropRules(scope)


def _drop_overlay(group: str, name: str) -> DropOverlay:
    return DropOverlay(ToolId(group, name))


def _set_quarantine(connection: Connection, source: str) -> SetQuarantine:
    table = tables.quarantine
    found = connection.execute(
        select(table).where(table.c.source == source).order_by(table.c.number)
    )
    return SetQuarantine(source, tuple(rows.quarantine_record(row) for row in found))


_PLAIN: Final[dict[str, Callable[..., Change]]] = {
    "AskAgain": AskAgain,
    "DropDeclaration": DropDeclaration,
    "DropOverlay": _drop_overlay,
    "DropSource": DropSource,
    "DropGroup": DropGroup,
    "DropProfile": DropProfile,
}
_READ: Final[dict[str, Callable[..., Change | None]]] = {
    "DropRules": _drop_rules,
    "PutDeclaration": _put_declaration,
    "PutOverlay": _put_overlay,
    "PutRules": _put_rules,
    "PutSource": _put_source,
    "PutGroup": _put_group,
    "PutProfile": _put_profile,
    "SetQuarantine": _set_quarantine,
}
