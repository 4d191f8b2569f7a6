"""Connects sources once and waits until their lists are in the catalogue and in the index.

What `import` and `add` do after registering, so that `search` finds the tools at once. Ends what it
started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from toolcrib_adapters.main import open_crib
from toolcrib_protocol.errors import NEEDS_SIGN_IN, SOURCE_UNAVAILABLE, ErrorKind, ToolError
from toolcrib_registry.ports import SourceState, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from toolcrib_adapters.main import Crib
    from toolcrib_adapters.surfaces.cli.session import Session
    from toolcrib_protocol.json_value import JsonObject


async def connect_once(
    session: Session, names: Collection[str], timeout_seconds: float
) -> list[JsonObject]:
    """One row a source: name, status, tools, quarantined, reason."""
    async with open_crib(session.settings, wants=lambda record: record.name in names) as crib:
        with _progress(session) as progress:
            states = await _settle(crib, names, timeout_seconds, progress)
            await _index(crib, progress)
        return [_row(crib, name, states.get(name)) for name in sorted(names)]


async def index_all(session: Session, crib: Crib) -> None:
    """Wait until everything in the catalogue is in the index."""
    with _progress(session) as progress:
        await _index(crib, progress)


def _progress(session: Session) -> Progress:
    # Bars belong on a terminal, beside the answer.
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=session.output.side,
        transient=True,
        disable=session.output.as_json or not session.output.side.is_terminal,
    )


async def _settle(
    crib: Crib, names: Collection[str], timeout_seconds: float, progress: Progress
) -> dict[str, SourceState]:
    bar = progress.add_task("connecting", total=len(names))
    states: dict[str, SourceState] = {}

    async def one(name: str) -> None:
        state = await crib.supervisor.settled(name)
        if state is not None:
            states[name] = state
        progress.advance(bar)

    with anyio.move_on_after(timeout_seconds):
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(one, name)
    return states


async def _index(crib: Crib, progress: Progress) -> None:
    bar = progress.add_task("indexing", total=None)
    async for done, total in crib.search.building():
        progress.update(bar, completed=done, total=total)


def _row(crib: Crib, name: str, state: SourceState | None) -> JsonObject:
    snapshot = crib.catalogue.snapshot
    tools = sum(record.source == name for record in snapshot.live_tools())
    return {
        "source": name,
        "status": state.status.value if state else SourceStatus.CONNECTING.value,
        "tools": tools,
        "quarantined": len(snapshot.quarantined.get(name, ())),
        "reason": state.reason if state else "no answer in time; `toolcrib serve` keeps trying",
    }


def failed_source(rows: Sequence[JsonObject], *, all_of_them: bool) -> ToolError | None:
    """Why the command cannot call itself done: a source (or each of them) is of no use yet."""
    usable = {SourceStatus.READY.value, SourceStatus.IDLE.value}
    failed = [row for row in rows if row["status"] not in usable]
    if not failed or (all_of_them and len(failed) < len(rows)):
        return None
    signs_in = all(row["status"] == SourceStatus.NEEDS_SIGN_IN.value for row in failed)
    names = ", ".join(str(row["source"]) for row in failed)
    return ToolError(
        NEEDS_SIGN_IN if signs_in else SOURCE_UNAVAILABLE,
        f"{names}: registered, but not usable yet; `toolcrib serve` keeps trying, `toolcrib remove "
        "NAME` takes a source away",
        ErrorKind.NEEDS_HUMAN if signs_in else ErrorKind.RETRYABLE,
    )


def print_rows(session: Session, rows: list[JsonObject]) -> None:
    """Show what became of each source."""
    session.output.table(
        ["source", "status", "tools", "quarantined", "reason"],
        [
            [str(row[key]) for key in ("source", "status", "tools", "quarantined", "reason")]
            for row in rows
        ],
        empty="no sources",
    )
