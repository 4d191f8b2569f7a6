"""`toolcrib vacuum`: takes out what has lived long enough, and says what is kept for how long.

Cribs that serve do the same in the background; this is for those who want it now, or want to see.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer
from anyio import to_thread

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.errors import STORE_BUSY, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_adapters.stores.sql import SqlStore
    from toolcrib_adapters.stores.sql.vacuum import Swept, Vacuum
    from toolcrib_protocol.json_value import JsonObject


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("vacuum")(vacuum)


def vacuum(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what there is and what would go.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take out records, captures and kept results that are old enough, and give the room back.

    A crib that serves does this every ten minutes. TOOLCRIB_KEEP_CALL_DAYS, TOOLCRIB_KEEP_CALLS and
    TOOLCRIB_KEEP_CAPTURE_DAYS say how long.

    Example: toolcrib vacuum --dry-run
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        async with open_store(session.settings) as store:
            before = await to_thread.run_sync(_size, store)
            swept, is_rebuilt = await _swept(session, store, dry_run=dry_run)
            after = await to_thread.run_sync(_size, store)
        sizes: JsonObject = {"bytes_before": before, "bytes_after": after}
        facts: JsonObject = {**sizes, "dry_run": dry_run, "rebuilt": is_rebuilt}
        _print(session, swept, facts)

    session.run(work)


async def _swept(
    session: Session, store: SqlStore, *, dry_run: bool
) -> tuple[Sequence[Swept], bool]:
    owner = f"vacuum-{os.getpid()}-{uuid4().hex[:8]}"
    sweeper: Vacuum = load("store.vacuum")(
        store.database, SystemClock(), session.settings.keep, owner=owner
    )
    if dry_run:
        return await sweeper.look(), False
    swept = await sweeper.sweep()
    if swept is None:
        text = "another process sweeps this database just now; come back in two minutes"
        raise ToolError(STORE_BUSY, text, ErrorKind.RETRYABLE)
    try:
        return swept, await sweeper.rebuild()
    except ToolError as error:
        session.output.note(f"the file could not be written anew, so it does not shrink: {error}")
        return swept, False


def _size(store: SqlStore) -> int:
    return store.database.size()


def _print(session: Session, swept: Sequence[Swept], facts: JsonObject) -> None:
    if session.output.as_json:
        tables: JsonObject = {
            each.table: {"rows": each.rows, "taken_out": each.taken_out, "kept": each.kept}
            for each in swept
        }
        session.output.document({**facts, "tables": tables})
        return
    heading = "would go" if facts["dry_run"] else "taken out"
    rows = [(each.table, f"{each.rows:,}", f"{each.taken_out:,}", each.kept) for each in swept]
    session.output.table(("table", "rows", heading, "kept"), rows, empty="no tables")
    megabytes = [int(str(facts[key])) / 1e6 for key in ("bytes_before", "bytes_after")]
    session.output.line(f"the database has {megabytes[1]:.1f} MB, before {megabytes[0]:.1f} MB")
