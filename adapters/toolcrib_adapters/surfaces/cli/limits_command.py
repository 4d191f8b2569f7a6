"""`toolcrib limits [SCOPE]` and `limits suggest`: how the gates of running cribs stand, and why."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.call_rules import RuleScope
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_registry.call_rules import set_rules
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.limits import GateState, suggested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.changes import Change
    from toolcrib_registry.limits.suggestion import Suggestion
    from toolcrib_registry.ports import CribStore, LimitStore
    from toolcrib_registry.snapshot import Snapshot

SUGGEST: Final = "suggest"
_EMPTY: Final = (
    "no running crib has called a tool yet; `toolcrib rules list` shows what is set, and eight "
    "calls of a source run at once if nothing is"
)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("limits")(limits)


def limits(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[suggest] [SCOPE]",
            help="tool:GROUP/NAME, group:NAME or source:NAME; `suggest` says what to set instead.",
            show_default=False,
        ),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Set what is suggested.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how the limits of running cribs stand, and why: toolcrib limits source:mail.

    `toolcrib limits suggest --apply` sets rules that keep sources from refusing calls, worked out
    from what they refused, with 20 % left free.
    """
    session = Session.start(home, as_json=as_json, only_reads=not apply)

    async def work() -> None:
        wants_suggestions, scope = _wanted(words or [])
        if apply and not wants_suggestions:
            raise ToolError(INVALID_SETTINGS, "only `toolcrib limits suggest` can be applied")
        async with open_store(session.settings) as store:
            told = await _told(load("store.limits")(store.database), scope)
            if not wants_suggestions:
                _show(session, told)
                return
            suggestions = suggested(state for _, state in told)
            if apply:
                await _apply(store, suggestions)
        _show_suggestions(session, suggestions, is_applied=apply)

    session.run(work)


def _wanted(words: Sequence[str]) -> tuple[bool, str | None]:
    """Whether suggestions are wanted, and for which scope only."""
    wants_suggestions = bool(words) and words[0] == SUGGEST
    rest = words[1:] if wants_suggestions else words
    if len(rest) > 1:
        raise ToolError(INVALID_SETTINGS, f"one scope at a time, not {', '.join(rest)}")
    return wants_suggestions, str(RuleScope.parse(rest[0])) if rest else None


async def _told(store: LimitStore, scope: str | None) -> list[tuple[str, GateState]]:
    """What running cribs tell, each with its name."""
    read = [
        (crib, GateState.read(facts))
        for crib, gates in sorted((await store.told()).items())
        for facts in gates
    ]
    return [(crib, state) for crib, state in read if state and scope in {None, state.scope}]


async def _apply(store: CribStore, suggestions: Sequence[Suggestion]) -> None:
    catalogue = await Catalogue.open(store)
    for one in suggestions:
        await catalogue.change(partial(_change, one))


def _change(suggestion: Suggestion, snapshot: Snapshot) -> list[Change]:
    return set_rules(snapshot, RuleScope.parse(suggestion.scope), suggestion.rules)


def _show(session: Session, told: Sequence[tuple[str, GateState]]) -> None:
    if session.output.as_json:
        rows: list[JsonObject] = [{"crib": crib, **state.as_json()} for crib, state in told]
        session.output.document({"limits": [*rows]})
        return
    session.output.table(
        (
            "scope",
            "running",
            "cap",
            "waiting",
            "refused",
            "tokens",
            "a second",
            "each takes",
            "why",
        ),
        [_row(state) for _, state in told],
        empty=_EMPTY,
    )


def _row(state: GateState) -> list[str]:
    takes = "" if state.latency_seconds is None else f"{state.latency_seconds * 1000:.0f} ms"
    return [
        state.scope,
        str(state.running),
        "" if state.cap is None else str(state.cap),
        str(state.waiting),
        str(state.refused),
        "" if state.tokens is None else f"{state.tokens:g}",
        f"{state.calls_per_second:g}",
        takes,
        state.why,
    ]


def _show_suggestions(
    session: Session, suggestions: Sequence[Suggestion], *, is_applied: bool
) -> None:
    if session.output.as_json:
        rows: list[JsonObject] = [
            {"scope": one.scope, "rules": one.rules, "why": one.why, "command": one.command}
            for one in suggestions
        ]
        session.output.document({"suggestions": [*rows], "applied": is_applied})
        return
    for one in suggestions:
        session.output.line(one.command)
        session.output.note(f"{'set, because' if is_applied else 'because'} {one.why}")
    if not suggestions:
        session.output.note("no source refused calls of a running crib: nothing to suggest")
