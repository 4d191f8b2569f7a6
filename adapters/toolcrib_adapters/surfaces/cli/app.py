"""The `toolcrib` command: which subcommands there are. Each lives in a file of its own."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from toolcrib_adapters.surfaces.cli import (
    add_command,
    call_command,
    catalogue_commands,
    demo_command,
    import_command,
    publish_command,
    search_command,
    serve_command,
    source_commands,
)

app = typer.Typer(
    name="toolcrib",
    help="One MCP endpoint in front of all your tools: a versioned registry with search.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (
    import_command,
    add_command,
    source_commands,
    catalogue_commands,
    search_command,
    call_command,
    publish_command,
    serve_command,
    demo_command,
):
    commands.register(app)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the flag
    if wanted:
        typer.echo(f"toolcrib {version('toolcrib')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Options of the command as a whole."""


def main() -> None:
    """Run the command line."""
    app()
