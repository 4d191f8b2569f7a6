"""`toolcrib keys`: the keys that seal what clients have to bring back, and their rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.key_ring import MOST_KEYS, KeyRing
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_adapters.key_ring import Key
    from toolcrib_protocol.json_value import JsonObject


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    keys = typer.Typer(
        help="The keys that seal questions in flight; all replicas of a crib share them.",
        no_args_is_help=True,
    )
    keys.command("list")(list_keys)
    keys.command("rotate")(rotate)
    app.add_typer(keys, name="keys")


def list_keys(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the keys by name and age; the secrets stay in the file.

    The first key seals, all of them open.

    Example: toolcrib keys list
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        _show(session, _ring(session).keys())

    session.run(work)


def rotate(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Put a new key in front: it seals from now on, and the older ones still open.

    Running cribs take it up with their next question. The oldest of more than three goes.

    Example: toolcrib keys rotate
    """
    session = Session.start(home, as_json=as_json)

    async def work() -> None:
        _show(session, _ring(session).rotate(SystemClock().now()))

    session.run(work)


def _ring(session: Session) -> KeyRing:
    return KeyRing.open(session.settings.keys_file, SystemClock().now())


def _show(session: Session, keys: Sequence[Key]) -> None:
    rows: list[JsonObject] = [
        {"id": key.id, "made": key.made, "seals": position == 0}
        for position, key in enumerate(keys)
    ]
    if session.output.as_json:
        document: JsonObject = {
            "file": str(session.settings.keys_file),
            "keys": [*rows],
            "most": MOST_KEYS,
        }
        session.output.document(document)
        return
    session.output.table(
        ("id", "made", "does"),
        [
            [str(row["id"]), str(row["made"]), "seals and opens" if row["seals"] else "opens"]
            for row in rows
        ],
        empty="no keys",
    )
