"""`toolcrib connect`: the entry of a client's file that makes it use this crib."""

from __future__ import annotations

import dataclasses
import difflib
import os
import shutil
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlsplit

import typer

from toolcrib_adapters.client_configs import FoundSource, is_toolcrib, read_entry
from toolcrib_adapters.clients.config_file import ConfigFile
from toolcrib_adapters.clients.connections import (
    Connection,
    Connections,
    is_left_empty,
    taken_back,
)
from toolcrib_adapters.clients.formats import Client, Machine, client_called
from toolcrib_adapters.clients.jsonc import with_member
from toolcrib_adapters.clients.toml_table import written_table
from toolcrib_adapters.main import open_store
from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.errors import CONFLICT, INVALID_SETTINGS, ToolError
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.records import SourceRecord


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("connect")(connect)


@dataclass(frozen=True, slots=True)
class _Sources:
    """The sources of this crib, and those of them that it can serve: ready, or with tools."""

    registered: Mapping[str, SourceRecord]
    served: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Change:
    """What a command is about to do to a file."""

    file: ConfigFile
    new: ConfigFile
    notes: tuple[str, ...]
    removed: Mapping[str, str]

    @property
    def is_none(self) -> bool:
        """Whether the file says all of it already."""
        return self.new.text == self.file.text

    def diff(self) -> str:
        """The change as people read changes."""
        name = str(self.file.path)
        return "\n".join(
            line.rstrip("\r\n")
            for line in difflib.unified_diff(
                self.file.text.splitlines(keepends=True),
                self.new.text.splitlines(keepends=True),
                name,
                name,
            )
        )


def connect(
    client: Annotated[
        str,
        typer.Argument(
            help="claude-code, claude-desktop, cursor, vscode, windsurf, codex, gemini-cli, zed, "
            "or custom."
        ),
    ],
    write: Annotated[
        bool, typer.Option("--write", help="Put the entry into the client's file, with a backup.")
    ] = False,
    undo: Annotated[
        bool,
        typer.Option("--undo", help="Take our entry out again; what else changed meanwhile stays."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what --write or --undo would change.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Take the servers that this crib has imported from the file out of it.",
        ),
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(help="Reach a crib that is served over HTTP, instead of starting one."),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="The fixed list of one group.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="What this profile shows.")] = None,
    name: Annotated[str, typer.Option(help="What the entry is called.")] = "toolcrib",
    file: Annotated[
        Path | None, typer.Option(help="The client's file, e.g. a project's .mcp.json.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Connect an MCP client to this crib: toolcrib connect cursor --write.

    Without --write the entry is printed, and where it goes. Comments, order and everything else in
    the file stay as they are; a file that cannot be read is left alone.
    """
    session = Session.start(home, as_json=as_json)

    async def work() -> None:
        chosen = client_called(client)
        place = chosen.file(Machine.this(), file)
        if group and profile:
            raise ToolError(INVALID_SETTINGS, "give --group or --profile, not both")
        view = ["--group", group] if group else ["--profile", profile] if profile else []
        address = _address(url, group, profile)
        entry = chosen.entry([*_command(session.settings), *view], address)
        if undo:
            _undo(session, chosen, _known(place, chosen), name, dry_run=dry_run)
            return
        if not write and not dry_run:
            _print(session, chosen, place, name, entry)
            for note in _not_carried(url):
                session.output.note(note)
            return
        at = _known(place, chosen)
        sources = await _sources(session)
        config = ConfigFile.read(at, chosen.section, is_toml=chosen.is_toml)
        before = Connections(session.settings.home).find(at, name)
        change = _change(config, name, entry, before)
        change = _replaced(change, name, sources) if replace else _offered(change, name, sources)
        if not dry_run:
            _write(session, chosen, change, name, entry, before)
        change = dataclasses.replace(change, notes=(*change.notes, *_not_carried(url)))
        _report(session, chosen, change, dry_run=dry_run)

    session.run(work)


def _known(place: Path | None, client: Client) -> Path:
    if place is None:
        raise ToolError(INVALID_SETTINGS, f"say with --file where {client.title} keeps its servers")
    return place


def _command(settings: CribSettings) -> list[str]:
    """What a client starts: by its full path, for clients have another PATH than shells."""
    # Nor do they have a variable that moves the usual folder.
    is_usual = settings.home == CribSettings().home and "XDG_DATA_HOME" not in os.environ
    return [
        _executable(),
        "serve",
        "--stdio",
        *([] if is_usual else ["--home", str(settings.home)]),
    ]


def _not_carried(url: str | None) -> list[str]:
    """Settings of this shell that a client has to have, too."""
    names = [] if url else ["TOOLCRIB_DATABASE", "TOOLCRIB_ENCODER"]
    return [
        f"{name} is set here; the client has to set it, too (its value is not written into a file)"
        for name in names
        if name in os.environ
    ]


def _executable() -> str:
    started = Path(sys.argv[0])
    beside = Path(sys.executable).with_name("toolcrib")
    for candidate in (started if started.stem == "toolcrib" else beside, beside):
        if candidate.is_file():
            return str(candidate.absolute())
    return shutil.which("toolcrib") or "toolcrib"


def _address(url: str | None, group: str | None, profile: str | None) -> str | None:
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ToolError(
            INVALID_SETTINGS, f"{url!r} is no http(s) address; e.g. http://127.0.0.1:8765/mcp"
        )
    path = parts.path.rstrip("/") or "/mcp"
    if group:
        path += f"/{quote(group, safe='')}"
    if profile:
        path += f"/profile/{quote(profile, safe='')}"
    return parts._replace(path=path).geturl()


async def _sources(session: Session) -> _Sources:
    """What this crib has; nothing if there is no crib yet."""
    if session.settings.database is None and not (session.settings.home / "crib.db").is_file():
        return _Sources({}, frozenset())
    async with open_store(session.settings) as store:
        snapshot, states = await store.snapshot(), await store.reported()
    ready = {name for name, state in states.items() if state.status is SourceStatus.READY}
    offering = {version.source for version in snapshot.live_tools()}
    return _Sources(snapshot.sources, frozenset(ready | offering))


def _change(
    config: ConfigFile,
    name: str,
    entry: JsonObject,
    before: Connection | None,
) -> _Change:
    there = config.servers().get(name)
    is_ours = before is not None and there == before.entry
    if there is not None and there != entry and not is_ours and not _is_us(there):
        raise ToolError(
            CONFLICT,
            f"{config.path} has a server called {name!r} that is not toolcrib; choose another name "
            "with --name",
        )
    return _Change(config, config if there == entry else config.having(name, entry), (), {})


def _replaced(change: _Change, name: str, sources: _Sources) -> _Change:
    """The change that also takes out what this crib serves."""
    new, notes, removed = change.new, [], {}
    for other, lacking in _others(change.file, name, sources):
        if lacking:
            notes.append(f"{other!r} stays: {lacking}")
            continue
        removed[other] = change.file.raw(other) or ""
        new = new.lacking(other)
        notes.append(f"{other!r} is served by this crib and taken out")
    return _Change(change.file, new, tuple(notes), removed)


def _offered(change: _Change, name: str, sources: _Sources) -> _Change:
    """The change, with a word about servers that would run twice."""
    twice = [other for other, lacking in _others(change.file, name, sources) if not lacking]
    if not twice:
        return change
    note = (
        f"this crib serves {', '.join(twice)} of that file, too; --replace takes them out of it, "
        "so that they do not run twice"
    )
    return dataclasses.replace(change, notes=(note,))


def _others(config: ConfigFile, name: str, sources: _Sources) -> Iterator[tuple[str, str]]:
    """The other servers of the file, and why this crib does not serve each; empty if it does."""
    for other, found in config.servers().items():
        read = read_entry(other, found, config.path)
        if other != name and isinstance(read, FoundSource):
            source = sources.registered.get(read.name)
            if source is None or source.spec != read.spec:
                yield other, "this crib has no source with these settings"
            elif source.name not in sources.served:
                yield other, "this crib has it and could not start it yet"
            else:
                yield other, ""


def _is_us(entry: object) -> bool:
    return isinstance(entry, dict) and is_toolcrib(entry)


def _write(
    session: Session,
    client: Client,
    change: _Change,
    name: str,
    entry: JsonObject,
    before: Connection | None,
) -> None:
    if change.is_none:
        return
    # Before the file is touched: what cannot be taken back must not be written.
    connection = Connection(
        client=client.name,
        path=str(change.file.path),
        name=name,
        entry=entry,
        before=change.file.raw(name) if before is None else before.before,
        removed={**(before.removed if before else {}), **change.removed},
        made_file=change.file.was is None if before is None else before.made_file,
    )
    connections = Connections(session.settings.home)
    connections.note(connection.written(change.file, change.new, before))
    try:
        change.new.write(_backup(change.file))
    except ToolError:
        if before is None:
            connections.forget(change.file.path, name)
        else:
            connections.note(before)
        raise


def _backup(file: ConfigFile) -> Path | None:
    if file.was is None:
        return None
    real = file.path.resolve()
    return real.with_name(f"{real.name}.toolcrib-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.bak")


def _report(session: Session, client: Client, change: _Change, *, dry_run: bool) -> None:
    if session.output.as_json:
        session.output.document(
            {
                "file": str(change.file.path),
                "changed": not change.is_none and not dry_run,
                "diff": change.diff(),
                "notes": [*change.notes],
            }
        )
        return
    if change.is_none:
        session.output.note(f"{change.file.path} says that already")
    elif dry_run:
        session.output.line(change.diff())
    else:
        session.output.note(f"{change.file.path}: changed; for {client.title}: {client.after}")
    for note in change.notes:
        session.output.note(note)


def _undo(session: Session, client: Client, place: Path, name: str, *, dry_run: bool) -> None:
    connections = Connections(session.settings.home)
    config = ConfigFile.read(place, client.section, is_toml=client.is_toml)
    known = connections.find(place, name)
    there = config.servers().get(name)
    if known is None and not _is_us(there):
        raise ToolError(
            INVALID_SETTINGS,
            f"{place} has no server {name!r} that `toolcrib connect` could take out"
            if there is None
            else f"{name!r} in {place} is not toolcrib; take it out by hand",
        )
    if known is None and isinstance(there, dict):
        known = Connection(client=client.name, path=str(place), name=name, entry=there)
    if known is None:
        return
    new, done = taken_back(config, known)
    change = _Change(config, new, tuple(done), {})
    if not dry_run:
        if is_left_empty(new, known):
            place.resolve().unlink(missing_ok=True)
        elif not change.is_none:
            new.write(_backup(config))
        connections.forget(place, name)
    _report(session, client, change, dry_run=dry_run)


def _print(
    session: Session, client: Client, place: Path | None, name: str, entry: JsonObject
) -> None:
    path = (*client.section, name)
    text = written_table(path, entry) if client.is_toml else with_member("{\n}\n", path, entry)
    if session.output.as_json:
        where = str(place) if place else None
        session.output.document(
            {"client": client.name, "file": where, "name": name, "entry": entry}
        )
        return
    session.output.line(text.rstrip())
    where = (
        f"it belongs into {place}" if place else "it belongs where that client keeps its servers"
    )
    session.output.note(f"{where}; --write puts it there, --dry-run shows the change")
