"""`toolcrib apply | export | schema`: a crib as a file that can be reviewed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_crib, open_store
from toolcrib_adapters.surfaces.cli.refreshing import (
    connect_once,
    failed_source,
    index_all,
    print_rows,
)
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.errors import CONFLICT, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_registry.catalogue import Catalogue

if TYPE_CHECKING:
    from toolcrib_adapters.declarations.reading import DeclaredCrib
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.declaring import Decision
    from toolcrib_registry.differences import Detail, Difference

_SIGNS = {"add": "+", "change": "~", "remove": "-"}


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("apply")(apply)
    app.command("export")(export)
    app.command("schema")(schema)


def apply(
    file: Annotated[Path, typer.Argument(help="The file, usually crib.toml.")],
    diff: Annotated[
        bool, typer.Option("--diff", help="Show old and new value of each key that differs.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Also take out what neither this nor another file put in."),
    ] = False,
    connect: Annotated[
        bool, typer.Option(help="Connect sources that are new or changed once now.")
    ] = True,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for sources.", min=1)] = 90,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the crib what a file says, all or nothing: toolcrib apply crib.toml --dry-run --diff.

    Only what differs is touched: a source whose settings are the same stays connected. What an
    earlier file of the same name put in and this one does not name is taken out again.
    """
    session = Session.start(home, as_json=as_json)

    async def work() -> None:
        declared = await load("declarations.read")(file)
        for warning in declared.warnings:
            session.output.note(f"warning: {warning}", style="yellow")
        decided = await (_decided if dry_run else _applied)(session, declared, prune=prune)
        changed = [] if dry_run or not connect else _changed_sources(decided)
        rows = await connect_once(session, changed, timeout) if changed else []
        if not dry_run and decided.differences and not rows:
            await _index(session)
        if as_json:
            session.output.document(_document(declared, decided, rows, applied=not dry_run))
        else:
            _print(session, decided, rows, diff=diff)
        session.stop_unless_usable(failed_source(rows, all_of_them=True))

    session.run(work)


def export(
    file: Annotated[
        Path | None, typer.Argument(help="Where to write it; without it, standard output.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write over a file that is there.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the present state as a file that `apply` reads: toolcrib export crib.toml.

    ${NAME} is written as it was given, never its value.
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        async with open_store(session.settings) as store:
            snapshot = await store.snapshot()
        if as_json:
            session.output.document(load("declarations.document")(snapshot))
        elif file is None:
            typer.echo(load("declarations.text")(snapshot), nl=False)
        else:
            _write(file.expanduser(), load("declarations.text")(snapshot), replace=replace)
            session.output.note(f"written: {file}")

    session.run(work)


def schema() -> None:
    """Print the JSON Schema of such a file, for editors and for checks in CI."""
    typer.echo(dump_json(load("declarations.schema")(), indent=2))


async def _applied(session: Session, declared: DeclaredCrib, *, prune: bool) -> Decision:
    async with open_store(session.settings) as store:
        catalogue = await Catalogue.open(store)
        applied: Decision = await load("declarations.apply")(
            catalogue, declared, SystemClock(), prune=prune
        )
        return applied


async def _decided(session: Session, declared: DeclaredCrib, *, prune: bool) -> Decision:
    async with open_store(session.settings) as store:
        snapshot = await store.snapshot()
        decided: Decision = load("declarations.decision")(
            snapshot, declared, SystemClock(), prune=prune
        )
        return decided


async def _index(session: Session) -> None:
    async with open_crib(session.settings, wants=lambda _: False) as crib:
        await index_all(session, crib)


def _changed_sources(decided: Decision) -> list[str]:
    return [
        difference.name
        for difference in decided.differences
        if difference.kind == "source" and difference.action != "remove"
    ]


def _write(file: Path, text: str, *, replace: bool) -> None:
    """Write a file that is its user's alone: settings may hold keys that were written out.

    Raises:
        ToolError: `conflict` if it is there already.
    """
    flags = os.O_TRUNC if replace else os.O_EXCL
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    except FileExistsError as error:
        raise ToolError(CONFLICT, f"{file} is there already; --replace writes over it") from error
    except OSError as error:
        raise ToolError(CONFLICT, f"{file} cannot be written: {error.strerror}") from error
    with os.fdopen(opened, "w", encoding="utf-8") as stream:
        stream.write(text)


def _document(
    declared: DeclaredCrib, decided: Decision, rows: list[JsonObject], *, applied: bool
) -> JsonObject:
    return {
        "file": str(declared.file),
        "name": declared.declaration.name,
        "applied": applied,
        "differences": [difference.as_json() for difference in decided.differences],
        "warnings": [*declared.warnings],
        "sources": [*rows],
    }


def _print(session: Session, decided: Decision, rows: list[JsonObject], *, diff: bool) -> None:
    if not decided.differences:
        session.output.note("nothing to change")
    for difference in decided.differences:
        session.output.line(_line(difference))
        for detail in difference.details if diff else ():
            session.output.line(f"    {detail.key}: {_values(detail)}")
    if rows:
        print_rows(session, rows)


def _values(detail: Detail) -> str:
    if detail.old is None and detail.new is None:
        return "(not shown)"
    new = "(not set)" if detail.new is None else dump_json(detail.new)
    return new if detail.old is None else f"{dump_json(detail.old)} -> {new}"


def _line(difference: Difference) -> str:
    keys = [detail.key for detail in difference.details]
    told = f": {', '.join(keys)}" if keys and difference.action == "change" else ""
    return f"{_SIGNS[difference.action]} {difference.kind} {difference.name}{told}"
