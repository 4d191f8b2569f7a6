"""`toolcrib demo`: real servers, real questions, one endpoint, in a folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolcrib_adapters.extras import load
from toolcrib_adapters.surfaces.cli.session import Session


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("demo")(demo)


def demo(
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the demo keeps its servers; default: the user's cache."),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Install nothing: go on with what is there.")
    ] = False,
) -> None:
    """See it work, with a few public MCP servers.

    Installs them into a folder of its own, imports them, starts the endpoint, asks in English and
    Chinese, calls what it found. Your own catalogue is not touched. The second run is quick.
    """
    session = Session.start(None)

    async def work() -> bool:
        done: bool = await load("demo")(session, folder, offline=offline)
        return done

    if not session.run(work):
        raise typer.Exit(1)
