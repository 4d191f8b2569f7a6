"""`toolcrib tools | groups`: read the catalogue. No source is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.output import short
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_adapters.surfaces.endpoints import Endpoint, EndpointKind
from toolcrib_protocol.errors import UNKNOWN_GROUP, ToolError
from toolcrib_protocol.names import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.records import QuarantineRecord, ToolRecord, VersionRecord
    from toolcrib_registry.snapshot import Snapshot

GroupOption = Annotated[str | None, typer.Option("--group", "-g", help="Only tools of this group.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("tools")(tools)
    app.command("groups")(groups)


def tools(
    group: GroupOption = None,
    quarantined: Annotated[
        bool, typer.Option("--quarantined", help="The entries that could not be accepted, and why.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Also tools that may not be called now.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tools: reference, published name, what they do."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        snapshot = await read_snapshot(session)
        if quarantined:
            _print_quarantined(session, snapshot)
        else:
            _print_tools(session, list(_chosen(snapshot, group, every=every)))

    session.run(work)


def groups(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the groups, how many tools each has, and where `toolcrib serve` serves each alone."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        snapshot = await read_snapshot(session)
        live = {record.tool for record in snapshot.live_tools()}
        names = sorted({*snapshot.groups, *(tool.group for tool in live)})
        rows = [
            (name, len(snapshot.members(name) & live), _about(snapshot, name)) for name in names
        ]
        if as_json:
            found: list[Json] = [
                {"name": n, "tools": count, "description": d, "path": path_of(n)}
                for n, count, d in rows
            ]
            session.output.document({"groups": found})
        else:
            session.output.table(
                ["group", "tools", "path", "description"],
                [(name, str(count), path_of(name), short(text)) for name, count, text in rows],
                empty="no groups; `toolcrib import PATH` or `toolcrib add NAME ...` brings tools",
            )

    session.run(work)


async def read_snapshot(session: Session) -> Snapshot:
    """The catalogue as it is."""
    async with open_store(session.settings) as store:
        return await store.snapshot()


def path_of(group: str) -> str:
    """Where the endpoint of a group is."""
    return Endpoint(EndpointKind.GROUP, group).path


def _about(snapshot: Snapshot, group: str) -> str:
    record = snapshot.groups.get(group)
    return (record.description or record.title) if record else ""


def _chosen(snapshot: Snapshot, group: str | None, *, every: bool) -> Iterable[ToolRecord]:
    members = None if group is None else snapshot.members(group)
    if group is not None and not members and group not in snapshot.groups:
        close = ", ".join(nearest(group, snapshot.groups)) or "`toolcrib groups` lists them"
        raise ToolError(UNKNOWN_GROUP, f"no group is called {group!r}; {close}")
    for tool in sorted(snapshot.tools):
        record = snapshot.tools[tool]
        if (members is None or tool in members) and (every or record.head is not None):
            yield record


def _print_tools(session: Session, records: list[ToolRecord]) -> None:
    if session.output.as_json:
        session.output.document({"tools": [_row(record) for record in records]})
        return
    session.output.table(
        ["reference", "published name", "description"],
        [
            (str(row["reference"]), record.published_name, short(_description(record), 70))
            for record in records
            if (row := _row(record))
        ],
        empty="no tools; `toolcrib import PATH` or `toolcrib add NAME ...` brings some",
    )


def _newest(record: ToolRecord) -> VersionRecord | None:
    newest = max(record.versions, default=None)
    return record.head or (record.versions[newest] if newest is not None else None)


def _description(record: ToolRecord) -> str:
    newest = _newest(record)
    return newest.contract.description if newest else ""


def _row(record: ToolRecord) -> JsonObject:
    newest = _newest(record)
    version = newest.version if newest else None
    return {
        "reference": f"{record.id}@{version}" if version else str(record.id),
        "published_name": record.published_name,
        "status": record.statuses[version].status if version else "retired",
        "source": newest.source if newest else None,
        "description": _description(record),
        "repairs": list(newest.repairs) if newest else [],
    }


def _print_quarantined(session: Session, snapshot: Snapshot) -> None:
    entries = [
        entry for source in sorted(snapshot.quarantined) for entry in snapshot.quarantined[source]
    ]
    if session.output.as_json:
        session.output.document({"quarantined": [_entry(entry) for entry in entries]})
        return
    session.output.table(
        ["source", "entry", "where", "reason"],
        [(e.source, e.name or f"number {e.position}", e.pointer or "/", e.reason) for e in entries],
        empty="nothing is quarantined",
    )


def _entry(entry: QuarantineRecord) -> JsonObject:
    return {
        "source": entry.source,
        "position": entry.position,
        "name": entry.name,
        "pointer": entry.pointer,
        "reason": entry.reason,
    }
