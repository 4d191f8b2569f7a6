"""`toolcrib read`: read in a result that was kept because it was large."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_registry.call import Call
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.handles import HandleReader, ReadWish

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.handles import Reading, Vault

_RANGE: Final = re.compile(r"(-?\d{1,15}):(-?\d{1,15})", re.ASCII)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("read")(read)


def read(
    handle: Annotated[str, typer.Argument(help="The handle, as in h_mfrggzdfmztwq2lk.")],
    path: Annotated[str | None, typer.Option(help="A path: rows[5].name.")] = None,
    filter: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option(help="An expression over `it`: [r.name for r in it.rows].")
    ] = None,
    range: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option(help="START:END, in characters of a text or items of a list.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read in a large result that was kept: toolcrib read h_mfrggzdfmztwq2lk --path rows[5].

    All of it is printed unless a path, a filter or a range picks a part.
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> Reading:
        wish = ReadWish(handle, path, filter, _range(range))
        async with open_store(session.settings) as store:
            clock = SystemClock()
            sealer = load("store.sealer")(session.settings.keys_file, clock)
            vault: Vault = load("vault")(load("store.handles")(store.database), sealer, clock)
            reader = HandleReader(vault, await Catalogue.open(store))
            return await reader.read(wish, Call("", takes_whole=True))

    reading = session.run(work)
    if as_json:
        session.output.document(_document(reading))
    else:
        value = reading.value
        session.output.line(value if isinstance(value, str) else dump_json(value, indent=2))
        if reading.note:
            session.output.note(reading.note)


def _range(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise ToolError(INVALID_ARGUMENTS, f"{text!r} is no range; write START:END, as in 0:100")
    return int(found[1]), int(found[2])


def _document(reading: Reading) -> JsonObject:
    facts: JsonObject = {"value": reading.value}
    if reading.total is not None:
        facts = {**facts, "start": reading.start, "end": reading.end, "total": reading.total}
    return {**facts, "note": reading.note} if reading.note else facts
