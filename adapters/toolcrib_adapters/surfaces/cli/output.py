"""How the command line speaks: tables for people, JSON for programs, sentences for errors.

Standard output carries the answer only; notes and errors go to standard error. Exit codes: 0 done,
1 failed, 2 wrong usage, 3 failed but the same command may work later, 4 a person has to act, 70 a
fault inside toolcrib, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolcrib_protocol.errors import ErrorKind
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolcrib_protocol.errors import ToolError
    from toolcrib_protocol.json_value import Json

EXIT_CODES: Final = {ErrorKind.FATAL: 1, ErrorKind.RETRYABLE: 3, ErrorKind.NEEDS_HUMAN: 4}

_NO_TERMINAL_WIDTH: Final = 500
# C0 (but tab and newline), DEL, C1, and the marks that turn the direction of text.
_DRIVING: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Output:
    """Where a command's answer goes, in the form that was asked for."""

    side: Console
    """What stands beside the answer: standard error."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._out = Console(file=sys.stdout, highlight=False, soft_wrap=True)
        self.side = Console(file=sys.stderr, highlight=False, soft_wrap=True)

    def document(self, value: Json) -> None:
        """Print `value` as JSON."""
        sys.stdout.write(dump_json(value, indent=2) + "\n")

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line of the answer; nothing in it is markup."""
        self._out.print(Text(harmless(text), style=style))

    def note(self, text: str, style: str = "") -> None:
        """Say something beside the answer."""
        self.side.print(Text(harmless(text), style=style))

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
        """Print rows under headings, or the sentence `empty`."""
        table = Table(*headings, box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*(Text(" ".join(harmless(cell).split())) for cell in row))
        if table.row_count:
            # A program that reads a table must find names whole, however narrow a terminal would
            # be.
            width = None if sys.stdout.isatty() else _NO_TERMINAL_WIDTH
            Console(file=sys.stdout, highlight=False, width=width).print(table)
        else:
            self.note(empty)

    def failure(self, error: ToolError) -> int:
        """Report an error and give the exit code for it."""
        if self.as_json:
            self.document({"error": error.as_json()})
        else:
            self.side.print(
                Text("error: ", style="bold red").append(harmless(error.message), style="default")
            )
        return EXIT_CODES[error.kind]


def harmless(text: str) -> str:
    """`text` with control characters and direction marks written out.

    Texts of foreign servers must not drive the terminal of whoever reads them.
    """
    return _DRIVING.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def short(text: str, width: int = 80) -> str:
    """The first line of `text`, cut to `width` characters."""
    line = text.strip().split("\n", 1)[0].strip()
    return line if len(line) <= width else f"{line[: width - 1]}…"
