"""`toolcrib call`: call one tool from the shell, through the same path as every other call."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from toolcrib_adapters.expansion import variables_in
from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_crib, open_store
from toolcrib_adapters.surfaces.attach.greeting import RETIRING, differing
from toolcrib_adapters.surfaces.attach.link import GONE, greeted
from toolcrib_adapters.surfaces.attach.place import CAN_ATTACH, Place, RunAlone
from toolcrib_adapters.surfaces.cli.call_report import as_document, report
from toolcrib_adapters.surfaces.cli.output import EXIT_CODES
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_adapters.surfaces.cli.wishes import wish_of
from toolcrib_protocol.errors import OUTCOME_UNKNOWN, SOURCE_UNAVAILABLE, ErrorKind, ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_protocol.result import CALL_META, Result

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolcrib_adapters.surfaces.attach.link import Link
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallRecord, CallRecordStore

_RECORD_SECONDS: Final = 3.0
_POLL_SECONDS: Final = 0.05


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
    key: Annotated[
        str | None,
        typer.Option(help="An idempotency key: with the same key the call is carried out once."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ask the source, even if an answer is remembered.")
    ] = False,
    attach: Annotated[
        bool, typer.Option(help="Let a crib that runs already make the call.")
    ] = True,
    as_agent: Annotated[
        bool,
        typer.Option(help="Deliver as to an agent: a large result is kept, a preview printed."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the path of the call after its result.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tool: toolcrib call time/get_current_time '{"timezone": "Asia/Tokyo"}'.

    A crib of this home that runs already makes the call, so that no source is started twice.
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> Result:
        given = sys.stdin.read() if arguments == "-" else arguments
        wish: JsonObject = {
            "tool": ref,
            "arguments": parse_json(given),
            "timeout_seconds": timeout,
            "as_agent": as_agent,
            "key": key,
            "fresh": fresh,
        }
        return await _called(session, wish, attach=attach)

    result = session.run(work)
    record = session.run(partial(_record_of, session, result)) if explain else None
    if as_json:
        explained = {} if record is None else {"record": as_document(record)}
        session.output.document({**_document(result), **explained})
    elif result.error is None:
        session.output.line(result.text or dump_json(result.data, indent=2))
    else:
        session.output.failure(result.error)
    for line in report(record) if record is not None and not as_json else ():
        session.output.note(line)
    if result.error is not None:
        raise typer.Exit(EXIT_CODES[result.error.kind])


async def _record_of(session: Session, result: Result) -> CallRecord | None:
    """The record of the call, which is written a moment after its answer."""
    call = result.meta.get(CALL_META)
    if not isinstance(call, str):
        return None
    async with open_store(session.settings) as store:
        records: CallRecordStore = load("store.call_records")(store.database)
        with anyio.move_on_after(_RECORD_SECONDS):
            while True:
                record = await records.record(call)
                if record is not None:
                    return record
                await anyio.sleep(_POLL_SECONDS)
    session.output.note(f"the record of the call {call} has not been written yet")
    return None


async def _called(session: Session, wish: JsonObject, *, attach: bool) -> Result:
    """The answer of the running crib, or of one that runs for this call alone."""
    async with open_store(session.settings) as store:
        snapshot = await store.snapshot()
    ref = str(wish["tool"])
    source = snapshot.sources.get(snapshot.resolve(snapshot.identify(ref)).source)
    if attach and CAN_ATTACH and source is not None:
        asked = {**wish, "revision": snapshot.revision}
        answer = await _asked(session, asked, variables_in(source.spec))
        if answer is not None:
            return answer
    name = source.name if source is not None else ""
    async with open_crib(session.settings, wants=lambda record: record.name == name) as crib:
        return Result.from_mcp(await load("serving.call")(crib, wish))


async def _asked(session: Session, wish: JsonObject, variables: Collection[str]) -> Result | None:
    """The running crib's answer; None if there is none, or it knows other `variables`."""
    settings = session.settings
    try:
        link = await greeted(Place(settings.home), wish_of(settings, ask="call"))
    except (RunAlone, ToolError) as reason:
        session.output.note(f"{reason}; calling without it")
        return None
    if link is None:
        return None
    async with link.stream:
        others = [name for name in differing(link.welcome, os.environ) if name in variables]
        if others:
            session.output.note(
                f"the running crib knows another {', '.join(others)}; calling without it"
            )
            return None
        return await _answered(link, wish)


async def _answered(link: Link, wish: JsonObject) -> Result:
    try:
        await link.send(dump_json(wish).encode())
    except GONE as error:
        text = "the running crib ended before it got the call; call again"
        raise ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE) from error
    line = await anext(link.lines, b"")
    while line == RETIRING:
        line = await anext(link.lines, b"")
    answer = parse_json(line.decode("utf-8", "replace")) if line else None
    if not isinstance(answer, dict):
        raise ToolError(
            OUTCOME_UNKNOWN,
            f"the running crib ended before the call of {wish['tool']!r} was answered. It may have "
            "been carried out: look before repeating it",
            ErrorKind.NEEDS_HUMAN,
        )
    return Result.from_mcp(answer)


def _document(result: Result) -> JsonObject:
    return {
        "status": result.status.value,
        "data": result.data,
        "error": result.error.as_json() if result.error else None,
        "content": [*result.content],
        "meta": result.meta,
    }
