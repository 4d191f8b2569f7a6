"""The `toolcrib` command: which subcommands there are. Each lives in a file of its own.

Only the file of the command that was asked for is imported, so that `search` does not wait for what
`import` needs; `--help` looks at all of them.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolcrib_adapters.extras import load

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOW_TRACEBACKS: Final = "TOOLCRIB_TRACEBACKS"
FAULT: Final = 70
"""The exit code of a fault of ours (`EX_SOFTWARE`)."""

_PARTS_OF_COMMANDS: Final = {
    "import": "cli.import",
    "add": "cli.add",
    "remove": "cli.sources",
    "sources": "cli.sources",
    "tools": "cli.catalogue",
    "groups": "cli.catalogue",
    "show": "cli.show",
    "refresh": "cli.refresh",
    "apply": "cli.declarations",
    "export": "cli.declarations",
    "schema": "cli.declarations",
    "group": "cli.groups",
    "overlay": "cli.overlays",
    "overlays": "cli.overlays",
    "search": "cli.search",
    "call": "cli.call",
    "publish": "cli.publish",
    "profile": "cli.profile",
    "keys": "cli.keys",
    "serve": "cli.serve",
    "connect": "cli.connect",
    "doctor": "cli.doctor",
    "demo": "cli.demo",
}


def build_app(arguments: Sequence[str]) -> typer.Typer:
    """The command line, with the commands that `arguments` may mean."""
    app = typer.Typer(
        name="toolcrib",
        help="One MCP endpoint in front of all your tools: a versioned registry with search.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=_options,
    )
    asked = _PARTS_OF_COMMANDS.get(arguments[0]) if arguments else None
    for part in [asked] if asked else dict.fromkeys(_PARTS_OF_COMMANDS.values()):
        load(part)(app)
    return app


def main() -> None:
    """Run the command line.

    Raises:
        SystemExit: always, with the exit code.
    """
    try:
        build_app(sys.argv[1:])()
    except Exception as error:
        if os.environ.get(SHOW_TRACEBACKS):
            raise
        sys.stderr.write(
            f"error: a fault inside toolcrib ({type(error).__name__}: {error}); please report it "
            f"with what {SHOW_TRACEBACKS}=1 in the environment adds to this\n"
        )
        raise SystemExit(FAULT) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"toolcrib {load('version')('toolcrib')}")
        raise typer.Exit


def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """One MCP endpoint in front of all your tools.

    Start with `toolcrib import ~/.mcp.json` or `toolcrib add NAME -- COMMAND`, look with `toolcrib
    search "what you want done"`, and point your MCP client at `toolcrib serve`. `toolcrib demo`
    shows all of it.
    """
