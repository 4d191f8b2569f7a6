"""`toolcrib show`: all about one tool, also one that may not be called now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.surfaces.cli.catalogue_commands import read_snapshot
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.version import VersionRange
from toolcrib_registry.equivalents import KnownEquivalents
from toolcrib_registry.path_settings import gates_of, settings_of

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.records import ToolRecord, VersionRecord
    from toolcrib_registry.snapshot import Snapshot


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("show")(show)


def show(
    ref: Annotated[str, typer.Argument(help="A reference (group/tool@^1) or a published name.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one tool: its contract, its versions, its overlay, where it comes from."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        snapshot = await read_snapshot(session)
        tool, record = _asked_for(snapshot, ref)
        document = _document(snapshot, tool, record)
        if as_json:
            session.output.document(document)
        else:
            _print_document(session, document)

    session.run(work)


def _asked_for(snapshot: Snapshot, ref: str) -> tuple[ToolRecord, VersionRecord]:
    """The version that answers, or the newest in that range that did or will.

    Raises:
        ToolError: `unknown_tool`, `no_such_version`, `invalid_version`.
    """
    reference = snapshot.identify(ref)
    tool = snapshot.tools.get(reference.tool)
    if tool is None:
        raise snapshot.unknown(ref)
    if reference.range == VersionRange() and tool.head is not None:
        return tool, tool.head
    live = [version for version in tool.versions if tool.is_live(version)]
    version = reference.range.newest(live) or reference.range.newest(tool.versions)
    if version is None:
        return tool, snapshot.resolve(reference)
    return tool, tool.versions[version]


def _document(snapshot: Snapshot, tool: ToolRecord, record: VersionRecord) -> JsonObject:
    laid = snapshot.overlays.get(tool.id)
    return {
        "reference": f"{tool.id}@{record.version}",
        "published_name": tool.published_name,
        "source": record.source,
        "upstream_name": record.upstream_name,
        "hidden": tool.is_hidden,
        "contract": {**record.contract.as_json(), "version": str(record.version)},
        "fingerprint": record.fingerprint,
        "repairs": list(record.repairs),
        "overlay": laid.overlay.as_json() if laid else {},
        "overlay_left_out": list(record.left_out),
        "presets": record.presets,
        "settings": {
            one.name: {"value": one.value, "from": one.origin}
            for one in settings_of(snapshot, record)
        },
        "gates": [*gates_of(snapshot, record)],
        "equivalents": [
            {"tool": str(one.record.tool), "grounds": one.grounds.value}
            for one in KnownEquivalents().of(snapshot, record)
        ],
        "versions": [
            {
                "version": str(v),
                "status": tool.statuses[v].status,
                "reason": tool.statuses[v].reason,
            }
            for v in sorted(tool.versions)
        ],
    }


def _print_document(session: Session, document: JsonObject) -> None:
    out = session.output
    contract = document["contract"] if isinstance(document["contract"], dict) else {}
    out.line(str(document["reference"]), style="bold")
    out.line(f"published name  {document['published_name']}")
    out.line(f"source          {document['source']} (there: {document['upstream_name']})")
    behaviour = contract.get("behaviour")
    out.line(f"behaviour       {_behaviour(behaviour if isinstance(behaviour, dict) else {})}")
    for entry in document["versions"] if isinstance(document["versions"], list) else ():
        if isinstance(entry, dict):
            reason = f" ({entry['reason']})" if entry["reason"] else ""
            out.line(f"version         {entry['version']} {entry['status']}{reason}")
    for repair in document["repairs"] if isinstance(document["repairs"], list) else ():
        out.line(f"repaired        {repair}")
    _print_overlay(session, document)
    _print_path(session, document)
    out.line()
    for key in ("description", "when_to_use", "when_not_to_use"):
        if contract.get(key):
            out.line(f"{key}: {contract[key]}")
    for key in ("input_schema", "output_schema", "examples", "errors"):
        if contract.get(key):
            out.line(f"{key}: {dump_json(contract[key], indent=2)}")


def _print_overlay(session: Session, document: JsonObject) -> None:
    if document["hidden"]:
        session.output.line("hidden          by its overlay: neither found nor called")
    if document["overlay"]:
        session.output.line(f"overlay         {dump_json(document['overlay'])}")
    left_out = document["overlay_left_out"]
    for sentence in left_out if isinstance(left_out, list) else ():
        session.output.line(f"left out        {sentence}")


def _print_path(session: Session, document: JsonObject) -> None:
    """What holds for its calls, and who decided it."""
    settings = document["settings"] if isinstance(document["settings"], dict) else {}
    for name, setting in settings.items():
        if isinstance(setting, dict):
            value = dump_json(setting["value"])
            session.output.line(f"setting         {name} = {value} ({setting['from']})")
    for gate in document["gates"] if isinstance(document["gates"], list) else ():
        if isinstance(gate, dict):
            session.output.line(f"gate            {_gate(gate)}")
    for one in document["equivalents"] if isinstance(document["equivalents"], list) else ():
        if isinstance(one, dict):
            session.output.line(f"stand-in        {one['tool']} ({one['grounds']})")


def _gate(gate: JsonObject) -> str:
    told = []
    if gate["max_concurrency"] is not None:
        told.append(f"{gate['max_concurrency']} at once ({gate['max_concurrency_from']})")
    if gate["calls_per_second"] is not None:
        told.append(f"{gate['calls_per_second']:g} a second ({gate['calls_per_second_from']})")
    return f"{gate['scope']}: {', '.join(told)}"


def _behaviour(facts: JsonObject) -> str:
    names = ("read_only", "destructive", "idempotent", "open_world")
    told = {True: "yes", False: "no"}
    return ", ".join(
        f"{name}: {told.get(facts.get(name) is True, '')}" if name in facts else f"{name}: unknown"
        for name in names
    )
