"""`toolcrib keys`: what seals what clients bring back and what is stored, and its rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from anyio import to_thread

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.doctor.home_folder import has_crib
from toolcrib_adapters.extras import load
from toolcrib_adapters.key_ring import MOST_KEYS, KeyRing
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.errors import INVALID_SETTINGS, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolcrib_adapters.key_ring import Key
    from toolcrib_adapters.settings import CribSettings
    from toolcrib_adapters.stores.sql.sealed_rows import SealedRows
    from toolcrib_protocol.json_value import JsonObject


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    keys = typer.Typer(
        help="The keys that seal questions in flight and what is stored; all replicas share them.",
        no_args_is_help=True,
    )
    keys.command("list")(list_keys)
    keys.command("rotate")(rotate)
    app.add_typer(keys, name="keys")


def list_keys(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the keys by name and age, and how much they sealed; the secrets stay in the file.

    The first key seals, all of them open.

    Example: toolcrib keys list
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        _show(session, _ring(session).keys(), await _sealed(session.settings))

    session.run(work)


def rotate(
    force: Annotated[
        bool, typer.Option("--force", help="Also if something can be opened by nobody then.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a new key in front: it seals from now on, and the older ones still open.

    Running cribs take it up with their next question. The oldest of more than three goes; as long
    as something that is stored was sealed with it, that needs --force.

    Example: toolcrib keys rotate
    """
    session = Session.start(home, as_json=as_json)

    async def work() -> None:
        ring, sealed = _ring(session), await _sealed(session.settings)
        lost = [(key, sealed[key.id]) for key in ring.leaving() if key.id in sealed]
        if lost and not force:
            raise _refusal(lost)
        _show(session, ring.rotate(SystemClock().now()), sealed)
        for key, rows in lost:
            session.output.note(f"what {key.id} sealed cannot be opened any more: {_told(rows)}")

    session.run(work)


def _ring(session: Session) -> KeyRing:
    return KeyRing.open(session.settings.keys_file, SystemClock().now())


async def _sealed(settings: CribSettings) -> Mapping[str, SealedRows]:
    """How much is stored that was sealed with each key."""
    if not has_crib(settings):
        return {}
    async with open_store(settings) as store:
        found: Mapping[str, SealedRows] = await to_thread.run_sync(
            load("store.sealed_under"), store.database
        )
    return found


def _refusal(lost: Sequence[tuple[Key, SealedRows]]) -> ToolError:
    told = "; ".join(f"{key.id} sealed {_told(rows)}" for key, rows in lost)
    text = (
        f"with this rotation a key goes that is still needed: {told}. They go when they are old "
        "enough (`toolcrib vacuum` takes out what is); rotate then, or with --force now and lose "
        "them. Nothing was changed"
    )
    return ToolError(INVALID_SETTINGS, text, ErrorKind.NEEDS_HUMAN)


def _told(rows: SealedRows) -> str:
    return ", ".join(f"{number:,} rows of {table}" for table, number in rows.rows.items())


def _show(session: Session, keys: Sequence[Key], sealed: Mapping[str, SealedRows]) -> None:
    rows: list[JsonObject] = [
        {
            "id": key.id,
            "made": key.made,
            "seals": position == 0,
            "sealed": {**sealed[key.id].rows} if key.id in sealed else {},
        }
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
        ("id", "made", "does", "sealed rows"),
        [
            [
                key.id,
                key.made,
                "opens" if position else "seals and opens",
                str(sealed[key.id].total if key.id in sealed else 0),
            ]
            for position, key in enumerate(keys)
        ],
        empty="no keys",
    )
