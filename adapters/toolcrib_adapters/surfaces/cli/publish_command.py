"""`toolcrib publish`: register contracts or Python functions, here or with a running crib."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.surfaces.cli.refreshing import index_all
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_adapters.surfaces.cli.targets import python_target
from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.names import slug

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_protocol.json_value import Json, JsonObject

_CONTRACT_SUFFIXES = frozenset({".json", ".yaml", ".yml"})


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("publish")(publish)


def publish(
    what: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_MODULE",
            help="A contract file (.json, .yaml), or a Python file or module with @tool functions.",
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="URL", help="A running crib's endpoint; default: the crib of --home."
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="The source's name; default: the file's.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish tools at run time; a crib that serves offers them at once.

    Publishing the same again changes nothing; a second file of the same source joins the first.
    A Python target is loaded by the crib, so with --to it has to be on the crib's machine.
    """
    session = Session.start(home, as_json=as_json)

    async def work() -> JsonObject:
        wish = await anyio.to_thread.run_sync(_wish, what, source)
        return await (_publish_here(session, wish) if to is None else _publish_to(to, wish))

    receipt = session.run(work)
    if as_json:
        session.output.document(receipt)
    else:
        _print(session, receipt)
    if not receipt["published"]:
        raise typer.Exit(1)


def _wish(what: str, source: str | None) -> JsonObject:
    """The parameters of `toolcrib/publish`."""
    path = Path(what).expanduser()
    if path.suffix.lower() in _CONTRACT_SUFFIXES:
        name = source or slug(path.stem)
        return {"source": name, "kind": "snapshot", "entries": _entries(path, name)}
    target = python_target(what)
    stem = path.stem if path.is_file() else what
    return {"source": source or slug(stem), "kind": "python", "target": target}


def _entries(path: Path, group: str) -> list[Json]:
    read = load("contract_documents")(path, group)
    entries = [entry if isinstance(entry, dict) else entry.as_json() for entry in read.entries]
    return [*entries, *(entry.raw for entry in read.unreadable)]


async def _publish_here(session: Session, wish: JsonObject) -> JsonObject:
    name = wish["source"]
    async with open_crib(session.settings, wants=lambda record: record.name == name) as crib:
        answer: JsonObject = await load("serving.publish")(crib, wish)
        await index_all(session, crib)
        return answer


async def _publish_to(url: str, wish: JsonObject) -> JsonObject:
    # The client is the one speaker of our protocol. Adapters must not depend on it (they are its
    # other side), so the one command that acts as a client loads it by name, as an optional part.
    what = [wish["target"]] if wish["kind"] == "python" else [*_objects(wish["entries"])]
    async with load("client")(url) as crib:
        receipt = await crib.publish(*what, source=wish["source"])
    told: JsonObject = asdict(receipt)
    return {**told, **{key: [*_objects(told[key])] for key in ("published", "quarantined")}}


def _objects(entries: Json) -> Iterable[JsonObject]:
    for entry in entries if isinstance(entries, list | tuple) else ():
        if not isinstance(entry, dict):
            raise ToolError(INVALID_CONTRACT, f"{entry!r} is no tool: an entry must be an object")
        yield entry


def _print(session: Session, receipt: JsonObject) -> None:
    published, quarantined = receipt["published"], receipt["quarantined"]
    for tool in published if isinstance(published, list) else ():
        if isinstance(tool, dict):
            session.output.line(f"{tool['status']:<10} {tool['reference']}")
    for entry in quarantined if isinstance(quarantined, list) else ():
        if isinstance(entry, dict):
            name = entry["name"] or "an entry without a name"
            session.output.note(f"refused    {name}: {entry['pointer'] or '/'}: {entry['reason']}")
