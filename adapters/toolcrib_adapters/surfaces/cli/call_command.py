"""`toolcrib call`: call one tool from the shell, through the same path as every other call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from toolcrib_adapters.main import open_crib, open_store
from toolcrib_adapters.surfaces.cli.output import EXIT_CODES
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_registry.calls import Call

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json
    from toolcrib_protocol.result import Result


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("call")(call)


def call(
    ref: Annotated[str, typer.Argument(help="A reference (group/tool@^1) or a published name.")],
    arguments: Annotated[
        str, typer.Argument(help="The arguments as a JSON object; - reads standard input.")
    ] = "{}",
    timeout: Annotated[
        float | None, typer.Option(help="Seconds; default: the tool's own or 30.", min=0.1)
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tool: toolcrib call time/get_current_time '{"timezone": "Asia/Tokyo"}'."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> Result:
        given = sys.stdin.read() if arguments == "-" else arguments
        return await _called(session, ref, parse_json(given), timeout)

    result = session.run(work)
    if as_json:
        session.output.document(_document(result))
    elif result.error is None:
        session.output.line(result.text or dump_json(result.data, indent=2))
    else:
        session.output.failure(result.error)
    if result.error is not None:
        raise typer.Exit(EXIT_CODES[result.error.kind])


async def _called(session: Session, ref: str, arguments: Json, timeout: float | None) -> Result:
    async with open_store(session.settings) as store:
        snapshot = await store.snapshot()
    record = snapshot.resolve(snapshot.identify(ref))
    async with open_crib(
        session.settings, wants=lambda source: source.name == record.source
    ) as crib:
        # Connecting is not part of the call's own time limit.
        with anyio.move_on_after(120):
            await crib.supervisor.settled(record.source)
        return await crib.calls.call(Call(ref, arguments, timeout_seconds=timeout))


def _document(result: Result) -> Json:
    return {
        "status": result.status.value,
        "data": result.data,
        "error": result.error.as_json() if result.error else None,
        "content": [*result.content],
        "meta": result.meta,
    }
