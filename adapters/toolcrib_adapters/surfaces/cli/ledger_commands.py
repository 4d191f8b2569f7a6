"""`toolcrib ledger list | settle`: calls that may have changed something, and those that were lost.

Reads what every crib of this home writes; no source is started.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.moments import written_moment
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_registry.ledger_settling import listed, settle
from toolcrib_registry.ports import EntryState

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import LedgerEntry


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    ledger = typer.Typer(
        help="Calls that change something: toolcrib ledger list --unknown.", no_args_is_help=True
    )
    ledger.command("list")(list_entries)
    ledger.command("settle")(settle_entry)
    app.add_typer(ledger, name="ledger")


def list_entries(
    unknown: Annotated[
        bool, typer.Option("--unknown", help="Only those whose outcome nobody knows.")
    ] = False,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=100_000)] = 100,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List calls under way, lost ones and those with a key: toolcrib ledger list --unknown.

    A finished call without a key leaves the ledger; `toolcrib calls` shows all of them.
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> list[LedgerEntry]:
        async with open_store(session.settings) as store:
            ledger = load("store.ledger")(store.database)
            owners, now = load("owners")(), SystemClock().now().timestamp()
            async with aclosing(ledger):
                return await listed(ledger, owners, now, limit=limit, only_unknown=unknown)

    entries = session.run(work)
    if as_json:
        session.output.document({"entries": [_document(entry) for entry in entries]})
        return
    session.output.table(
        ("key", "id", "tool", "caller", "began", "state", "why"),
        [
            (
                entry.key or "-",
                entry.id,
                entry.tool,
                entry.caller,
                written_moment(entry.began),
                entry.state.value,
                entry.why,
            )
            for entry in entries
        ],
        empty="no call is of unknown outcome" if unknown else "the ledger is empty",
    )


def settle_entry(
    key: Annotated[str, typer.Argument(help="The key or the id of a call of unknown outcome.")],
    done: Annotated[
        bool, typer.Option("--done/--not-done", help="Whether it took effect.", show_default=False)
    ],
    caller: Annotated[
        str | None, typer.Option(help="Whose call, if several callers used the key.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what came of a lost call, after you have looked: toolcrib ledger settle order-17 --done.

    With --done the call is not made again with this key; with --not-done it may be.
    """
    session = Session.start(home, as_json=as_json)

    async def work() -> LedgerEntry:
        async with open_store(session.settings) as store:
            ledger = load("store.ledger")(store.database)
            owners, now = load("owners")(), SystemClock().now().timestamp()
            async with aclosing(ledger):
                return await settle(ledger, owners, now, key, caller=caller, was_done=done)

    entry = session.run(work)
    if as_json:
        state = EntryState.DONE.value if done else "not done"
        session.output.document({"settled": {**_document(entry), "state": state, "why": ""}})
        return
    after = "will not be made again with its key" if done else "may be made again"
    session.output.line(f"{entry.tool}, call {entry.key or entry.id}: settled; it {after}")


def _document(entry: LedgerEntry) -> JsonObject:
    return {
        "id": entry.id,
        "key": entry.key,
        "caller": entry.caller,
        "tool": entry.tool,
        "version": entry.version,
        "began": entry.began,
        "ended": entry.ended,
        "state": entry.state.value,
        "why": entry.why,
    }
