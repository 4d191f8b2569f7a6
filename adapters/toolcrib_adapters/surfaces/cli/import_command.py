"""`toolcrib import`: the servers of an MCP client's configuration become sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.client_configs import FoundSource, SkippedEntry, read_client_config
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.refreshing import connect_once, failed_source, print_rows
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.publishing import register as register_source
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("import")(import_)


def import_(
    paths: Annotated[list[Path], typer.Argument(help="Configuration files, e.g. ~/.mcp.json.")],
    connect: Annotated[
        bool, typer.Option(help="Connect once now, so that the tools can be searched at once.")
    ] = True,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace sources of the same name that differ.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(help="How many seconds to wait for the servers.", min=1)
    ] = 90,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read the servers of a client's file: toolcrib import ~/.claude.json.

    Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Gemini CLI, Zed and Codex are known.
    Afterwards `toolcrib connect CLIENT --write --replace` makes the client use this crib.
    """
    session = Session.start(home, as_json=as_json)

    async def work() -> None:
        entries = [entry for path in paths for entry in read_client_config(path.expanduser())]
        report, registered = await _register_all(session, entries, replace=replace)
        sources = await connect_once(session, registered, timeout) if connect and registered else []
        if as_json:
            session.output.document({"entries": [*report], "sources": [*sources]})
        else:
            _print(session, report, sources)
        # One dead server of many is a row of the table; none that works is a failure.
        session.stop_unless_usable(failed_source(sources, all_of_them=True))

    session.run(work)


def _print(session: Session, report: list[JsonObject], sources: list[JsonObject]) -> None:
    for row in report:
        session.output.note(f"{row['source']}: {row['outcome']}")
    if sources:
        print_rows(session, sources)


async def _register_all(
    session: Session, entries: list[FoundSource | SkippedEntry], *, replace: bool
) -> tuple[list[JsonObject], list[str]]:
    report: list[JsonObject] = []
    registered: list[str] = []
    async with open_store(session.settings) as store:
        catalogue = await Catalogue.open(store)
        for entry in entries:
            if isinstance(entry, SkippedEntry):
                report.append({"source": entry.name, "outcome": f"skipped: {entry.reason}"})
                continue
            outcome = await _register(catalogue, entry, replace=replace)
            report.append({"source": entry.name, "outcome": "; ".join([outcome, *entry.notes])})
            if not outcome.startswith("kept") and entry.name not in registered:
                registered.append(entry.name)
    return report, registered


async def _register(catalogue: Catalogue, found: FoundSource, *, replace: bool) -> str:
    record = SourceRecord(found.name, SourceKind.MCP, found.spec, found.name)
    known = catalogue.snapshot.sources.get(found.name)
    if known == record:
        return "unchanged"
    if known is not None and not replace:
        return (
            "kept as it is: a source of that name has other settings; --replace takes the new ones"
        )
    await register_source(catalogue, record)
    return "replaced" if known is not None else "added"
