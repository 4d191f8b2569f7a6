"""`toolcrib serve`: one MCP endpoint in front of all sources, until told to end."""

from __future__ import annotations

from typing import Annotated

import typer

from toolcrib_adapters.extras import load
from toolcrib_adapters.surfaces.cli.session import HomeOption, Session

DEFAULT_PORT = 8765


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("serve")(serve)


def serve(
    stdio: Annotated[
        bool,
        typer.Option(
            "--stdio", help="Speak MCP on standard input and output, for a client that starts us."
        ),
    ] = False,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65_535)
    ] = DEFAULT_PORT,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host",
            help="A name under which clients may address this endpoint, besides HOST; repeatable.",
        ),
    ] = None,
    allow_publish: Annotated[
        bool | None,
        typer.Option(
            "--allow-publish/--no-publish",
            help="Let clients register tools at run time, Python files of this machine included. "
            "Default: only on a loopback address or --stdio.",
            show_default=False,
        ),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Serve all tools at one MCP endpoint: http://HOST:PORT/mcp.

    Point your MCP client at that URL, or let it start `toolcrib serve --stdio`. What other commands
    change in the same home takes effect here within a second. Ctrl-C or SIGTERM ends it: calls that
    run get ten seconds to finish.
    """
    session = Session.start(home)

    async def work() -> None:
        endpoint = load("serving.endpoint")(
            stdio, host, port, tuple(allowed_host or ()), allow_publish
        )
        await load("serving.serve")(session.settings, endpoint, session.output.note)

    session.run(work)
