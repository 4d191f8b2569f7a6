"""`toolcrib capture start | stop | status`: debug sessions, in which calls are captured.

A session is a rule with an end, `capture_until`, which every crib of this home follows. What was
captured is shown by `toolcrib calls show ID --raw`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.catalogue_commands import read_snapshot
from toolcrib_adapters.surfaces.cli.moments import written_moment
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.call_rules import RuleScope, ScopeKind
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_registry.call_rules import set_rules
from toolcrib_registry.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolcrib_protocol.call_rules import CallRules
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.changes import Change
    from toolcrib_registry.snapshot import Snapshot


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    capture = typer.Typer(
        help="Keep what goes over the wire for a while: toolcrib capture start --minutes 15.",
        no_args_is_help=True,
    )
    capture.command("start")(start)
    capture.command("stop")(stop)
    capture.command("status")(status)
    app.add_typer(capture, name="capture")


def start(
    minutes: Annotated[float, typer.Option(help="For how long.", min=0.1, max=24 * 60)] = 15.0,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="tool:GROUP/NAME, group:NAME or source:NAME; default: every source."),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Capture calls: arguments as received and as sent, answers as they came and as delivered.

    What looks like a secret is taken out, each part is cut at 64 KiB, and all of it is sealed and
    goes after 7 days. Where `capture` is set to false nothing is captured.

    Example: toolcrib capture start --minutes 15 --scope group:mail
    """
    session = Session.start(home, as_json=as_json)
    until = SystemClock().now().timestamp() + minutes * 60

    def decide(snapshot: Snapshot) -> list[Change]:
        scopes = [RuleScope.parse(each) for each in scope or ()] or _sources(snapshot)
        return _ending(snapshot, scopes, until)

    _change(session, decide)


def stop(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """End every debug session; rules with `capture` stay as they are.

    Example: toolcrib capture stop
    """

    def decide(snapshot: Snapshot) -> list[Change]:
        running = [s for s, each in snapshot.rules.items() if each.rules.capture_until is not None]
        return _ending(snapshot, running, None)

    _change(Session.start(home, as_json=as_json), decide)


def status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show what is captured now, and until when.

    Example: toolcrib capture status
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        _print(session, await read_snapshot(session))

    session.run(work)


def _sources(snapshot: Snapshot) -> list[RuleScope]:
    if not snapshot.sources:
        raise ToolError(INVALID_SETTINGS, "there is no source to capture the calls of")
    return [RuleScope(ScopeKind.SOURCE, name) for name in sorted(snapshot.sources)]


def _ending(snapshot: Snapshot, scopes: Sequence[RuleScope], until: float | None) -> list[Change]:
    values: JsonObject = {"capture_until": until}
    return [change for scope in scopes for change in set_rules(snapshot, scope, values)]


def _change(session: Session, decide: Callable[[Snapshot], list[Change]]) -> None:
    async def work() -> None:
        async with open_store(session.settings) as store:
            catalogue = await Catalogue.open(store)
            _print(session, await catalogue.change(decide))

    session.run(work)


def _print(session: Session, snapshot: Snapshot) -> None:
    now = SystemClock().now().timestamp()
    told: JsonObject = {
        str(scope): words
        for scope, record in sorted(snapshot.rules.items())
        if (words := _words(record.rules, now)) is not None
    }
    if session.output.as_json:
        session.output.document({"captures": told})
        return
    rows = [(scope, str(words)) for scope, words in told.items()]
    session.output.table(("scope", "captures"), rows, empty="nothing is captured")


def _words(rules: CallRules, now: float) -> str | None:
    if rules.capture is not None:
        return "always" if rules.capture else "never"
    until = rules.capture_until
    return None if until is None or until <= now else f"until {written_moment(until)} UTC"
