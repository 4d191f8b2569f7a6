"""`toolcrib refresh`: sources are asked for their lists now, where they run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.refreshing import connect_once, failed_source
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.ports import SourceStatus
from toolcrib_registry.refresh import Relisted, ask_again, unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import CribStore, SourceState
    from toolcrib_registry.snapshot import Snapshot

_LOOK_SECONDS: Final = 0.1
_RUNNING: Final = "a running crib"
_SELF: Final = "this command"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("refresh")(refresh)


def refresh(
    sources: Annotated[
        list[str] | None, typer.Argument(help="Which sources; without any, all of them.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the sources.", min=1)] = 90,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask sources for their tools now: toolcrib refresh time.

    A crib that serves asks over the connection it has, or tries to connect at once where it has
    none; a source that runs nowhere is connected by this command.
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        async with open_store(session.settings) as store:
            before = await store.snapshot()
            names = _chosen(before, sources)
            states = await _asked_where_they_run(store, names, timeout)
        others = [name for name in names if name not in states]
        rows = await connect_once(session, others, timeout) if others else []
        async with open_store(session.settings) as store:
            after = await store.snapshot()
        told = [
            *(_row(before, after, state, name) for name, state in states.items()),
            *(_own_row(before, after, row) for row in rows),
        ]
        told.sort(key=lambda row: str(row["source"]))
        if as_json:
            session.output.document({"sources": [*told]})
        else:
            _print(session, told)
        session.stop_unless_usable(failed_source(told, all_of_them=False))

    session.run(work)


def _chosen(snapshot: Snapshot, sources: Sequence[str] | None) -> list[str]:
    return [snapshot.source(name).name for name in sources or sorted(snapshot.sources)]


async def _asked_where_they_run(
    store: CribStore, names: Sequence[str], timeout_seconds: float
) -> dict[str, SourceState]:
    """The states of those sources that a running crib asked, once it has."""
    running = [name for name in names if name in await store.reported()]
    if not running:
        return {}
    catalogue = await Catalogue.open(store)
    asked = await catalogue.change(partial(_wish, running))
    with anyio.move_on_after(timeout_seconds):
        # The board is another process's: it rings for nobody.
        while unanswered(asked, await store.reported(), running):  # noqa: ASYNC110
            await anyio.sleep(_LOOK_SECONDS)
    states = await store.reported()
    # A crib that ended meanwhile took its states with it: those sources are ours to ask.
    late = unanswered(asked, states, running)
    return {
        name: _unheard(states[name], timeout_seconds) if name in late else states[name]
        for name in running
        if name in states
    }


def _wish(names: Sequence[str], snapshot: Snapshot) -> list[Change]:
    return ask_again(snapshot, names)


def _unheard(state: SourceState, timeout_seconds: float) -> SourceState:
    text = f"the crib that runs it did not answer within {timeout_seconds:g} s"
    return replace(state, status=SourceStatus.FAILED, reason=text)


def _row(before: Snapshot, after: Snapshot, state: SourceState, name: str) -> JsonObject:
    return {
        "source": name,
        "status": state.status.value,
        "reason": state.reason,
        "asked_by": _RUNNING,
        **_changes(before, after, name),
    }


def _own_row(before: Snapshot, after: Snapshot, row: JsonObject) -> JsonObject:
    return {
        "source": row["source"],
        "status": row["status"],
        "reason": row["reason"],
        "asked_by": _SELF,
        **_changes(before, after, str(row["source"])),
    }


def _changes(before: Snapshot, after: Snapshot, name: str) -> JsonObject:
    quarantined = len(after.quarantined.get(name, ()))
    return {**Relisted.between(before, after, name).as_json(), "quarantined": quarantined}


def _print(session: Session, rows: Iterable[Mapping[str, Json]]) -> None:
    keys = ("source", "status", "added", "changed", "removed", "quarantined", "reason")
    told = list(rows)
    session.output.table(
        keys,
        [[_cell(row[key]) for key in keys] for row in told],
        empty="no sources; `toolcrib import PATH` or `toolcrib add NAME ...` registers some",
    )
    for row in told:
        for sign, key in (("+", "added"), ("~", "changed"), ("-", "removed")):
            entries = row[key]
            for entry in entries if isinstance(entries, list) else ():
                session.output.line(f"{sign} {_entry(entry)}")


def _entry(entry: Json) -> str:
    return f"{entry['tool']} (it was {entry['before']})" if isinstance(entry, dict) else str(entry)


def _cell(value: Json) -> str:
    return str(len(value)) if isinstance(value, list) else str(value)
