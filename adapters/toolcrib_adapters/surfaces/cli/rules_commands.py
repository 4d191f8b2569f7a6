"""`toolcrib rules list | set | drop`: what the operator sets for the calls of tools and groups."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.catalogue_commands import read_snapshot
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.call_rules import CallRules, RuleScope
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_protocol.names import nearest
from toolcrib_registry.call_rules import drop_rules, set_rules
from toolcrib_registry.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.changes import Change
    from toolcrib_registry.snapshot import Snapshot

ScopeArgument = Annotated[
    str, typer.Argument(help="tool:GROUP/NAME, group:NAME or source:NAME; need not exist yet.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    rules = typer.Typer(
        help="What holds for calls: toolcrib rules set group:mail max_concurrency=2 retries=0.",
        no_args_is_help=True,
    )
    rules.command("list")(list_rules)
    rules.command("set")(set_)
    rules.command("drop")(drop)
    app.add_typer(rules, name="rules")


def list_rules(
    scope: Annotated[str | None, typer.Argument(help="Only the rules of this scope.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is set, and what could be: toolcrib rules list group:mail."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        wanted = None if scope is None else RuleScope.parse(scope)
        snapshot = await read_snapshot(session)
        records = [
            record for each, record in sorted(snapshot.rules.items()) if wanted in {None, each}
        ]
        found: JsonObject = {str(each.scope): each.rules.as_json() for each in records}
        _print(session, found, {str(each.scope): each.unreadable for each in records})

    session.run(work)


def set_(
    scope: ScopeArgument,
    settings: Annotated[
        list[str],
        typer.Argument(
            help="KEY=VALUE, lists with commas; KEY= unsets. Keys: "
            + ", ".join(CallRules.model_fields)
        ),
    ],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set rules; others of the scope stay: toolcrib rules set tool:mail/send retries=0.

    The rules of a tool win over those of its home group, and these over those of its source. A crib
    that serves takes them over within a second.
    """

    def decide(snapshot: Snapshot) -> list[Change]:
        values: JsonObject = dict(map(_setting, settings))
        return set_rules(snapshot, RuleScope.parse(scope), values)

    _change(Session.start(home, as_json=as_json), scope, decide)


def drop(scope: ScopeArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Take all rules of a scope away: toolcrib rules drop group:mail."""

    def decide(snapshot: Snapshot) -> list[Change]:
        return drop_rules(snapshot, RuleScope.parse(scope))

    _change(Session.start(home, as_json=as_json), scope, decide)


def _change(session: Session, scope: str, decide: Callable[[Snapshot], list[Change]]) -> None:
    async def work() -> None:
        async with open_store(session.settings) as store:
            catalogue = await Catalogue.open(store)
            after = await catalogue.change(decide)
        known = after.rules.get(RuleScope.parse(scope))
        _print(session, {scope: {} if known is None else known.rules.as_json()})

    session.run(work)


def _setting(text: str) -> tuple[str, Json]:
    key, equals, written = text.partition("=")
    key = key.strip().replace("-", "_")
    if not equals:
        raise ToolError(INVALID_SETTINGS, f"{text!r} sets nothing; write KEY=VALUE")
    if key not in CallRules.model_fields:
        close = nearest(key, CallRules.model_fields) or [*CallRules.model_fields]
        raise ToolError(INVALID_SETTINGS, f"there is no rule {key!r}; use {', '.join(close)}")
    return key, _value(key, written.strip())


def _value(key: str, written: str) -> Json:
    if not written:
        return None
    if "tuple" in str(CallRules.model_fields[key].annotation) and not written.startswith("["):
        return [part.strip() for part in written.split(",") if part.strip()]
    try:
        return parse_json(written)
    except ToolError:
        return written


def _print(
    session: Session, found: JsonObject, faults: Mapping[str, str] = MappingProxyType({})
) -> None:
    unreadable: JsonObject = {scope: fault for scope, fault in faults.items() if fault}
    if session.output.as_json:
        document: JsonObject = {"rules": found}
        session.output.document({**document, "unreadable": unreadable} if unreadable else document)
        return
    for scope, facts in found.items():
        session.output.line(scope, style="bold")
        if scope in unreadable:
            told = f"  cannot be read, careful rules hold: {unreadable[scope]}"
            session.output.line(told, style="bold red")
        for key, value in facts.items() if isinstance(facts, dict) else ():
            shown = value if isinstance(value, str) else dump_json(value)
            session.output.line(f"  {key} = {shown}")
        if not facts:
            session.output.line("  nothing is set")
    if not found:
        session.output.line("no rules are set; `toolcrib rules set --help` names them")
