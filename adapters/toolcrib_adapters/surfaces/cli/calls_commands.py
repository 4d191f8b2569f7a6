"""`toolcrib calls [list] | show | stats`: what was called, by whom, and how it went.

Reads the records that every crib of this home writes; no source is started.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.call_report import as_document, report
from toolcrib_adapters.surfaces.cli.call_statistics import statistics
from toolcrib_adapters.surfaces.cli.moments import moment, written_moment, written_seconds
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import Status
from toolcrib_registry.call_recording import CANCELLED
from toolcrib_registry.memory_call_records import FAILED
from toolcrib_registry.ports import CallQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.captures import Captures
    from toolcrib_registry.ports import CallRecord, CallRecordStore

ToolOption = Annotated[str | None, typer.Option("--tool", "-t", help="GROUP/NAME.")]
SourceOption = Annotated[str | None, typer.Option(help="A source.")]
CallerOption = Annotated[str | None, typer.Option(help="A caller's id.")]
StatusOption = Annotated[
    str | None, typer.Option(help=f"{FAILED}, {CANCELLED}, {', '.join(Status)}.")
]
SinceOption = Annotated[
    str | None, typer.Option(help="15m, 2h, 3d ago, or 2026-12-01T14:00.", show_default=False)
]
_FOLLOW_SECONDS: Final = 0.5
_OVERLAP_SECONDS: Final = 60.0
"""Calls are written when they end: one that began earlier may come later."""
_STATISTICS_OF: Final = 20_000


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    calls = typer.Typer(help="What was called: toolcrib calls --status failed --since 1h.")
    calls.callback(invoke_without_command=True)(list_calls)
    calls.command("show")(show)
    calls.command("stats")(stats)
    app.add_typer(calls, name="calls")


def list_calls(
    context: typer.Context,
    tool: ToolOption = None,
    source: SourceOption = None,
    status: StatusOption = None,
    caller: CallerOption = None,
    since: SinceOption = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=100_000)] = 30,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with calls to come.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List calls, the newest last: toolcrib calls --tool time/get_current_time --since 1h.

    A record holds neither arguments nor results; `toolcrib calls show ID` shows the path of one
    call. With --follow and --json each line is a document.
    """
    if context.invoked_subcommand is not None:
        return
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        query = CallQuery(
            tool=tool,
            source=source,
            status=_status(status),
            caller=caller,
            since=_since(since),
            limit=limit,
        )
        async with open_store(session.settings) as store:
            records: CallRecordStore = load("store.call_records")(store.database)
            found = (await records.find(query))[::-1]
            if not follow:
                _print_list(session, found)
                return
            await _follow(session, records, query, found)

    session.run(work)


def show(
    call: Annotated[str, typer.Argument(help="A call's id, as `_meta` and `calls` tell it.")],
    raw: Annotated[
        bool, typer.Option("--raw", help="Also what was captured: arguments and answers.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one call: who, what, how it ended, and its path step by step.

    Example: toolcrib calls show 634e133244908616 --raw
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        async with open_store(session.settings) as store:
            records: CallRecordStore = load("store.call_records")(store.database)
            record = await records.record(call.strip())
            if record is None:
                text = f"no record of a call {call!r}; `toolcrib calls` lists those that are kept"
                raise ToolError(INVALID_SETTINGS, text)
            captured = await _captured(session, records, record.id) if raw else None
        if as_json:
            shown = {} if captured is None else {"captured": captured}
            session.output.document({**as_document(record), **shown})
            return
        for line in report(record):
            session.output.line(line)
        if captured is not None:
            session.output.line(dump_json(captured, indent=2))

    session.run(work)


def stats(
    source: SourceOption = None,
    caller: CallerOption = None,
    since: SinceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sum calls up by tool: how many, how many failed, how long they took.

    Of the newest 20,000 records. Example: toolcrib calls stats --since 1d
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        query = CallQuery(source=source, caller=caller, since=_since(since), limit=_STATISTICS_OF)
        async with open_store(session.settings) as store:
            found = await load("store.call_records")(store.database).find(query)
        rows = statistics(found)
        if as_json:
            session.output.document({"tools": [*rows]})
            return
        session.output.table(
            ("tool", "calls", "failed", "p50", "p95", "attempts", "repaired"),
            [
                (
                    str(row["tool"]) or "(unknown)",
                    str(row["calls"]),
                    str(row["failed"]),
                    written_seconds(float(str(row["p50_seconds"]))),
                    written_seconds(float(str(row["p95_seconds"]))),
                    str(row["attempts"]),
                    str(row["repaired"]),
                )
                for row in rows
            ],
            empty="no calls are recorded",
        )

    session.run(work)


async def _captured(session: Session, records: CallRecordStore, call: str) -> JsonObject:
    settings = session.settings
    capture = await records.capture(call)
    if capture is None:
        text = (
            f"nothing was captured of the call {call!r}; `toolcrib capture start` captures the "
            "calls to come"
        )
        raise ToolError(INVALID_SETTINGS, text)
    sealer = load("store.sealer")(settings.keys_file, SystemClock())
    captures: Captures = load("call_captures")(sealer)
    return captures.read(capture)


async def _follow(
    session: Session, records: CallRecordStore, query: CallQuery, found: Sequence[CallRecord]
) -> None:
    seen: dict[str, float] = {}
    while True:
        for record in found:
            if record.id not in seen:
                seen[record.id] = record.began
                _print_one(session, record)
        since = max(seen.values(), default=SystemClock().now().timestamp()) - _OVERLAP_SECONDS
        seen = {call: began for call, began in seen.items() if began >= since}
        await anyio.sleep(_FOLLOW_SECONDS)
        later = replace(query, since=max(since, query.since or 0.0), limit=_STATISTICS_OF)
        found = (await records.find(later))[::-1]


def _print_list(session: Session, found: Sequence[CallRecord]) -> None:
    if session.output.as_json:
        session.output.document({"calls": [as_document(record) for record in found]})
        return
    session.output.table(
        ("began (UTC)", "id", "tool", "outcome", "took", "attempts", "caller", "marks"),
        [_row(record) for record in found],
        empty="no calls are recorded; calls through a crib of this home are",
    )


def _print_one(session: Session, record: CallRecord) -> None:
    if session.output.as_json:
        session.output.line(dump_json(as_document(record)))
    else:
        session.output.line("  ".join(_row(record)))


def _row(record: CallRecord) -> tuple[str, ...]:
    marks = record.facts.get("marks")
    return (
        written_moment(record.began),
        record.id,
        f"{record.tool}@{record.version}" if record.tool else record.asked,
        record.code or record.status,
        written_seconds(record.seconds),
        str(record.facts.get("attempts", 0)),
        record.caller,
        ", ".join(map(str, marks)) if isinstance(marks, list) else "",
    )


def _since(told: str | None) -> float | None:
    return None if told is None else moment(told, SystemClock().now())


def _status(told: str | None) -> str | None:
    known = {FAILED, CANCELLED, *Status}
    if told is not None and told not in known:
        raise ToolError(INVALID_SETTINGS, f"{told!r} is no status; use {', '.join(sorted(known))}")
    return told
