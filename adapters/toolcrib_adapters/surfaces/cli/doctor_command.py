"""`toolcrib doctor`: what is wrong with this crib, with which value, and what mends it."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer
from anyio import to_thread

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.doctor.finding import Finding, Severity
from toolcrib_adapters.doctor.home_folder import has_crib, home_findings
from toolcrib_adapters.doctor.kept_rules import rule_findings
from toolcrib_adapters.doctor.left_over import left_over_findings
from toolcrib_adapters.doctor.processes import my_processes, orphan_findings
from toolcrib_adapters.doctor.source_settings import source_findings
from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.attach.health import crib_findings
from toolcrib_adapters.surfaces.attach.link import ask
from toolcrib_adapters.surfaces.attach.place import CAN_ATTACH, Place
from toolcrib_adapters.surfaces.cli.index_mending import complete
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_adapters.surfaces.cli.wishes import wish_of
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.ports import FAILURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_adapters.settings import CribSettings
    from toolcrib_adapters.stores.sql import SqlStore
    from toolcrib_adapters.stores.sql.vacuum import Vacuum
    from toolcrib_adapters.surfaces.attach.greeting import Welcome
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.search import Search
    from toolcrib_registry.snapshot import Snapshot

_INDEX_SECONDS: Final = 600.0
_NODE_SECONDS: Final = 10.0
_OLDEST_NODE: Final = 18
_NODE_COMMANDS: Final = frozenset({"npx", "node", "npm", "pnpm", "bunx"})


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("doctor")(doctor)


def doctor(
    mend: Annotated[
        bool, typer.Option("--mend", help="Mend what can be mended without doubt, then look again.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is wrong with this crib and what mends it: toolcrib doctor --mend.

    Looks at sources, variables, permissions, the disk, the database, the index, the encoder, names,
    versions and what was left behind. Starts no source. Ends with 1 if there is a problem.
    """
    session = Session.start(home, as_json=as_json)

    async def work() -> bool:
        facts, findings = await _examined(session)
        mended: list[Finding] = []
        if mend:
            mended = [finding for finding in findings if await _is_mended(session, finding)]
            if mended:
                facts, findings = await _examined(session)
        _report(session, facts, findings, mended)
        return any(finding.severity is Severity.PROBLEM for finding in findings)

    if session.run(work):
        raise typer.Exit(1)


async def _is_mended(session: Session, finding: Finding) -> bool:
    if finding.act is None:
        return False
    try:
        await finding.act()
    except (OSError, ToolError) as error:
        session.output.note(f"could not be mended: {finding.text}: {error}")
        return False
    return True


async def _examined(session: Session) -> tuple[JsonObject, list[Finding]]:
    """Versions, and everything that is not as it should be."""
    settings = session.settings
    findings = [*home_findings(settings), *left_over_findings(settings.home)]
    facts = _versions()
    if not has_crib(settings):
        return facts, findings
    there: Welcome | None = None
    if CAN_ATTACH:
        place = Place(settings.home)
        there, about_crib = await crib_findings(
            place,
            lambda: ask(place, wish_of(settings, "status")),
            version("toolcrib"),
            os.environ,
        )
        findings += about_crib
    facts["crib"] = _told(there)
    try:
        findings += await _database(settings)
        findings += await _catalogue(settings, facts)
    except ToolError as error:
        findings.append(Finding("database", Severity.PROBLEM, error.message, "see above"))
    return facts, findings


def _told(there: Welcome | None) -> JsonObject | None:
    if there is None:
        return None
    keys = ("pid", "version", "kind", "url", "clients", "counts")
    return {key: getattr(there, key) for key in keys}


async def _database(settings: CribSettings) -> list[Finding]:
    said = await to_thread.run_sync(load("store.unsound"), settings.database, settings.home)
    if said is None:
        return []
    text = f"the database is damaged inside: {said}"
    return [Finding("database", Severity.PROBLEM, text, "restore a backup of crib.db", said)]


async def _catalogue(settings: CribSettings, facts: JsonObject) -> list[Finding]:
    async with open_store(settings) as store:
        snapshot = await store.snapshot()
        now = await store.reported()
        last = await store.last_failures()
        facts["stored"] = await _stored(settings, store)
    failures = {name: state for name, state in now.items() if state.status in FAILURES}
    found = [*source_findings(snapshot, {**last, **failures}, os.environ)]
    found += orphan_findings(snapshot.sources.values(), await to_thread.run_sync(my_processes))
    found += rule_findings(snapshot)
    found += await _node(snapshot, facts)
    found += await _index(settings, snapshot)
    return found


async def _stored(settings: CribSettings, store: SqlStore) -> JsonObject:
    """How much room the database takes, and the rows of the tables that grow."""
    vacuum: Vacuum = load("store.vacuum")(store.database, SystemClock(), settings.keep)
    rows: JsonObject = {each.table: each.rows for each in await vacuum.look() if each.is_swept}
    return {"bytes": await to_thread.run_sync(store.database.size), "rows": rows}


async def _node(snapshot: Snapshot, facts: JsonObject) -> list[Finding]:
    """Node's version, if there is one; whether it is too old for the sources that need it."""
    node = shutil.which("node")
    if node is None:
        return []
    said = ""
    with anyio.move_on_after(_NODE_SECONDS):
        done = await anyio.run_process([node, "--version"], check=False)
        said = done.stdout.decode(errors="replace").strip()
    facts["node"] = said
    major = said.lstrip("v").partition(".")[0]
    users = [
        record.name
        for record in snapshot.sources.values()
        if str(record.spec.get("command")) in _NODE_COMMANDS
    ]
    if not users or not major.isdigit() or int(major) >= _OLDEST_NODE:
        return []
    text = f"Node {said} is older than most MCP servers need; sources: {', '.join(users)}"
    return [Finding("version", Severity.WARNING, text, f"install Node {_OLDEST_NODE} or newer")]


async def _index(settings: CribSettings, snapshot: Snapshot) -> list[Finding]:
    engine: Search = await load("search.engine")(settings.home, settings.encoder)
    await engine.open(snapshot)
    short = engine.shortcoming
    if short is None:
        return []
    counted = await anext(engine.building(), None)
    if counted is None:
        mend = "install what is missing, or set TOOLCRIB_ENCODER to default or none"
        return [Finding("encoder", Severity.PROBLEM, short, mend, settings.encoder)]

    async def act() -> None:
        await complete(engine, _INDEX_SECONDS)

    done, total = counted
    text = f"the search index is damaged or behind: {total - done} of {total} tools have no vector"
    mend = "toolcrib doctor --mend, or any search; a running crib does it by itself"
    return [Finding("index", Severity.WARNING, text, mend, total - done, act)]


def _versions() -> JsonObject:
    facts: JsonObject = {
        "toolcrib": version("toolcrib"),
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
        "sqlite": sqlite3.sqlite_version,
    }
    for package in ("mcp", "faiss-cpu", "onnxruntime"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = None
    return facts


def _report(
    session: Session, facts: JsonObject, findings: Sequence[Finding], mended: Sequence[Finding]
) -> None:
    if session.output.as_json:
        session.output.document(
            {
                "facts": facts,
                "findings": [finding.as_json() for finding in findings],
                "mended": [finding.as_json() for finding in mended],
            }
        )
        return
    shown = [f"{name} {value}" for name, value in facts.items() if isinstance(value, str)]
    session.output.line(", ".join(shown))
    crib = facts.get("crib")
    if isinstance(crib, dict):
        session.output.line(
            f"a crib runs (process {crib['pid']}, {crib['clients']} clients, {crib['counts']})"
        )
    stored = facts.get("stored")
    if isinstance(stored, dict) and isinstance(rows := stored["rows"], dict):
        told = ", ".join(f"{name} {number}" for name, number in rows.items() if number)
        megabytes = float(str(stored["bytes"])) / 1e6
        session.output.line(
            f"the database has {megabytes:.1f} MB{f'; rows: {told}' if told else ''}"
        )
    for finding in mended:
        session.output.line(f"mended: {finding.text}", style="green")
    for finding in sorted(findings, key=lambda finding: finding.severity):
        style = "bold red" if finding.severity is Severity.PROBLEM else "yellow"
        session.output.line(f"{finding.severity.value}: {finding.text}", style=style)
        session.output.line(f"  mend: {finding.mend}")
    if not findings:
        session.output.line("nothing is wrong", style="green")
