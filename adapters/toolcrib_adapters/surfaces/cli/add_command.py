"""`toolcrib add`: register one source: an MCP server, a Python file or module, or a stored list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.relative_paths import with_folder
from toolcrib_adapters.surfaces.cli.refreshing import connect_once, failed_source, print_rows
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_adapters.surfaces.cli.targets import python_target
from toolcrib_protocol.errors import CONFLICT, INVALID_SETTINGS, ToolError
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import PutGroup
from toolcrib_registry.publishing import register as register_source
from toolcrib_registry.records import GroupRecord, SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.changes import Change
    from toolcrib_registry.snapshot import Snapshot


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("add")(add)


def add(
    name: Annotated[
        str, typer.Argument(help="A name for the source; also the group of its tools.")
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(help="For a stdio MCP server: -- COMMAND [ARG...].", show_default=False),
    ] = None,
    url: Annotated[str | None, typer.Option(help="An MCP server over HTTP.")] = None,
    sse: Annotated[
        bool, typer.Option("--sse", help="The URL speaks the older SSE transport.")
    ] = False,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="NAME=VALUE; ${VARIABLE} is expanded at start."),
    ] = None,
    forward_header: Annotated[
        list[str] | None,
        typer.Option(
            "--forward-header",
            metavar="CALLER=SERVER",
            help="With --url: send the caller's header CALLER up as SERVER, for example "
            "X-Up-Token=Authorization; nothing else of a caller's request goes up. Repeatable.",
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", help="NAME=VALUE for the command; ${VARIABLE} works."),
    ] = None,
    cwd: Annotated[Path | None, typer.Option(help="The command's working folder.")] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="eager|lazy",
            help="lazy: the server runs from its first call on, and rests when it is idle.",
        ),
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="End the server when nobody has called for so long."),
    ] = None,
    affinity: Annotated[
        str | None,
        typer.Option(
            metavar="shared|per_caller|per_call",
            help="Whose is what the server keeps between calls: everybody's, each caller's, or "
            "only one call's.",
        ),
    ] = None,
    python: Annotated[
        str | None, typer.Option("--python", help="A Python file or module with @tool functions.")
    ] = None,
    snapshot: Annotated[
        Path | None,
        typer.Option("--snapshot", help="A stored tools/list answer or contract file (read only)."),
    ] = None,
    group: Annotated[str | None, typer.Option(help="Home group, if not the source's name.")] = None,
    lenient: Annotated[
        bool,
        typer.Option("--lenient", help="Let unknown argument names through and report them."),
    ] = False,
    connect: Annotated[bool, typer.Option(help="Connect once now.")] = True,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a source of that name.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the source.", min=1)] = 90,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register one source: toolcrib add time -- uvx mcp-server-time --local-timezone Asia/Tokyo.

    Everything after -- is the command of an MCP server on standard streams. Or give --url for one
    over HTTP, --python for your own functions, --snapshot for a list to look at without calling.
    """
    session = Session.start(home, as_json=as_json)

    async def work() -> None:
        kind, spec = _kind_and_spec(
            _mcp_spec(
                command or [],
                url,
                sse=sse,
                header=header or [],
                forward_header=forward_header or [],
                env=env or [],
                cwd=cwd,
                life=_given(start=start, idle_seconds=idle, affinity=affinity),
            ),
            python,
            snapshot,
        )
        if kind is SourceKind.MCP:
            load("source.mcp_spec")(spec)  # refused before anything is registered
        record = SourceRecord(name, kind, spec, group or name)
        await _register(session, record, lenient=lenient, replace=replace)
        rows = await connect_once(session, [name], timeout) if connect else []
        if as_json:
            session.output.document({"source": name, "kind": kind.value, "sources": [*rows]})
        elif rows:
            print_rows(session, rows)
        else:
            session.output.note(f"{name}: added")
        session.stop_unless_usable(failed_source(rows, all_of_them=False))

    session.run(work)


async def _register(
    session: Session, record: SourceRecord, *, lenient: bool, replace: bool
) -> None:
    async with open_store(session.settings) as store:
        catalogue = await Catalogue.open(store)
        known = catalogue.snapshot.sources.get(record.name)
        if known is not None and known != record and not replace:
            raise ToolError(
                CONFLICT,
                f"a source called {record.name!r} exists with other settings; --replace takes the "
                "new ones",
            )
        await register_source(catalogue, record)
        if lenient:
            await catalogue.change(lambda snapshot: _made_lenient(snapshot, record.group))


def _made_lenient(snapshot: Snapshot, group: str) -> Sequence[Change]:
    known = snapshot.groups.get(group, GroupRecord(group))
    if not known.refuses_unknown_arguments:
        return []
    changed = GroupRecord(
        known.name, known.title, known.description, known.members, refuses_unknown_arguments=False
    )
    return [PutGroup(changed)]


def _kind_and_spec(
    mcp: JsonObject | None, python: str | None, snapshot: Path | None
) -> tuple[SourceKind, JsonObject]:
    given = [option for option in (mcp, python, snapshot) if option is not None]
    if len(given) != 1:
        raise ToolError(
            INVALID_SETTINGS,
            "say what the source is, once: -- COMMAND [ARG...], --url URL, --python "
            "FILE_OR_MODULE or --snapshot FILE",
        )
    if mcp is not None:
        return SourceKind.MCP, mcp
    if python is not None:
        return SourceKind.PYTHON, {"target": python_target(python)}
    if snapshot is None or not snapshot.expanduser().is_file():
        raise ToolError(INVALID_SETTINGS, f"there is no file {str(snapshot)!r}")
    return SourceKind.SNAPSHOT, {"path": str(snapshot.expanduser().absolute()), "entries": None}


def _mcp_spec(
    command: list[str],
    url: str | None,
    *,
    sse: bool,
    header: list[str],
    forward_header: list[str],
    env: list[str],
    cwd: Path | None,
    life: JsonObject,
) -> JsonObject | None:
    if command and url:
        raise ToolError(INVALID_SETTINGS, "give either a command or --url, not both")
    if url is not None:
        forward = _pairs(forward_header, "--forward-header")
        return {
            "transport": "sse" if sse else "http",
            "url": url,
            "headers": _pairs(header, "--header"),
            **({"forward_headers": forward} if forward else {}),
            **life,
        }
    if not command:
        if life:
            text = "--start, --idle and --affinity are for MCP servers: -- COMMAND, or --url"
            raise ToolError(INVALID_SETTINGS, text)
        return None
    spec: JsonObject = {
        "transport": "stdio",
        "command": command[0],
        "args": [*command[1:]],
        "env": _pairs(env, "--env"),
        **life,
    }
    if cwd:
        return {**spec, "cwd": str(cwd.expanduser().absolute())}
    return with_folder(spec, Path.cwd())


def _given(**settings: Json) -> JsonObject:
    """The settings that were given."""
    return {name: value for name, value in settings.items() if value is not None}


def _pairs(texts: list[str], option: str) -> JsonObject:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ToolError(INVALID_SETTINGS, f"{option} {text!r} is not NAME=VALUE")
        pairs[name.strip()] = value
    return {**pairs}
