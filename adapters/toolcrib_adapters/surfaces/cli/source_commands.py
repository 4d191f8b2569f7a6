"""`toolcrib sources | remove`: what is registered, what it is doing, and taking one out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.output import short
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.retirement import is_misfit, remove_source
from toolcrib_registry.shown_text import without_secrets

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import SourceState
    from toolcrib_registry.records import SourceRecord, ToolRecord
    from toolcrib_registry.snapshot import Snapshot


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("sources")(sources)
    app.command("remove")(remove)


def sources(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the sources; their state is what a running crib reports."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        async with open_store(session.settings) as store:
            snapshot, states = await store.snapshot(), await store.reported()
            failures = await store.last_failures()
        processes = load("processes.roll")(session.settings.home).running()
        tools = Counter(version.source for version in snapshot.live_tools())
        rows = [
            _row(snapshot, record, _State(states.get(name), failures.get(name)), tools[name])
            | {"processes": [*processes.get(name, ())]}
            for name, record in sorted(snapshot.sources.items())
        ]
        if as_json:
            session.output.document({"sources": [*rows]})
            return
        keys = ("name", "kind", "state", "processes", "tools", "quarantined", "held", "where")
        session.output.table(
            (*keys, "reason"),
            [[short(_shown(row[key]), 60) for key in (*keys, "reason")] for row in rows],
            empty="no sources; `toolcrib import PATH` or `toolcrib add NAME ...` registers some",
        )

    session.run(work)


def _shown(value: Json) -> str:
    """A cell; of processes only how many there are."""
    return str(len(value)) if isinstance(value, list) else str(value)


def remove(
    names: Annotated[list[str], typer.Argument(help="Sources to take out.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take sources out: their tools are retired at once, other sources are not touched."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        now = SystemClock().now().isoformat()
        async with open_store(session.settings) as store:
            catalogue = await Catalogue.open(store)
            for name in names:
                await catalogue.change(partial(_without, name, now))
        if as_json:
            session.output.document({"removed": [*names]})
        else:
            session.output.note(f"removed: {', '.join(names)}")

    session.run(work)


def _without(name: str, now: str, snapshot: Snapshot) -> list[Change]:
    return remove_source(snapshot, name, now)


@dataclass(frozen=True, slots=True)
class _State:
    """What a running crib says of a source, and how it failed in the last one that ran."""

    now: SourceState | None
    last_failure: SourceState | None

    @property
    def reason(self) -> str:
        """Why it is of no use, as far as that is known."""
        if self.now is not None:
            return self.now.reason
        last = self.last_failure
        return f"when it ran last: {last.reason}" if last is not None else ""


def _row(snapshot: Snapshot, record: SourceRecord, known: _State, tools: int) -> JsonObject:
    state = known.now
    return {
        "name": record.name,
        "kind": record.kind.value,
        "group": record.group,
        "state": state.status.value if state else "not running",
        "reason": without_secrets(known.reason),
        "retry_at": state.retry_at if state else None,
        "tools": tools,
        "quarantined": len(snapshot.quarantined.get(record.name, ())),
        "held": sum(_is_held(tool, record.name) for tool in snapshot.tools.values()),
        "where": _where(record),
    }


def _is_held(tool: ToolRecord, source: str) -> bool:
    """Whether a tool of that source waits for its overlay to fit."""
    return any(
        record.source == source and is_misfit(tool.statuses[version])
        for version, record in tool.versions.items()
    )


def _where(record: SourceRecord) -> str:
    spec = record.spec
    args = spec.get("args")
    words = [spec.get("command"), *(args if isinstance(args, list) else [])]
    if spec.get("command"):
        return without_secrets(" ".join(str(word) for word in words))
    return without_secrets(
        str(spec.get("url") or spec.get("target") or spec.get("path") or "published")
    )
