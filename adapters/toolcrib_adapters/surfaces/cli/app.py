"""The `toolcrib` command: which subcommands there are. Each lives in a file of its own.

Only the file of the command that was asked for is imported, so that `search` does not wait for what
`import` needs; `--help` looks at all of them.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from toolcrib_adapters.extras import load

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOW_TRACEBACKS: Final = "TOOLCRIB_TRACEBACKS"
FAULT: Final = 70
"""The exit code of a fault of ours (`EX_SOFTWARE`)."""

_UNWRITTEN: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EPIPE})
"""What is the matter with where the output goes, not with us."""

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
    "read": "cli.read",
    "calls": "cli.calls",
    "capture": "cli.capture",
    "ledger": "cli.ledger",
    "publish": "cli.publish",
    "profile": "cli.profile",
    "keys": "cli.keys",
    "rules": "cli.rules",
    "limits": "cli.limits",
    "serve": "cli.serve",
    "connect": "cli.connect",
    "vacuum": "cli.vacuum",
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
        _run()
    except OSError as error:
        if error.errno not in _UNWRITTEN:
            _report(error)
        # What is still held back must not be tried, and told of, again at the very end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno != errno.EPIPE:
            sys.stderr.write(f"error: the output, or a file, cannot be written: {error.strerror}\n")
        raise SystemExit(1) from None
    except Exception as error:  # noqa: BLE001 - the border of the process
        _report(error)


def _run() -> None:
    try:
        build_app(sys.argv[1:])()
    finally:
        if sys.stdout is not None and not sys.stdout.closed:
            # Here and not when the interpreter ends, where nobody can tell of what goes wrong.
            sys.stdout.flush()


def _report(error: Exception) -> NoReturn:
    """Tell of a fault of ours, and end."""
    if os.environ.get(SHOW_TRACEBACKS):
        raise error
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
