"""What every command starts from: the settings, the output, and one event loop around its work."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import anyio
import typer

from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.cli.failures import first_failure
from toolcrib_adapters.surfaces.cli.output import EXIT_CODES, Output
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

_STOPPED: Final = 130
"""The exit code of what Ctrl-C ended, as shells count it."""

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Folder of this crib's catalogue and index; else TOOLCRIB_HOME says it.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True, slots=True)
class Session:
    """One command's surroundings."""

    settings: CribSettings
    output: Output

    @classmethod
    def start(
        cls, home: Path | None, *, as_json: bool = False, only_reads: bool = False
    ) -> Session:
        """The surroundings for a command that was given `--home` and `--json`.

        One that `only_reads` does not make the folder that `--home` names: most likely that is a
        typing error, and an empty answer would hide it.

        Raises:
            typer.Exit: the settings cannot be used; the reason is printed.
        """
        logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
        output = Output(as_json=as_json)
        try:
            settings = CribSettings.read(home)
            if only_reads and home is not None:
                settings.check_exists()
            return cls(settings, output)
        except ToolError as error:
            raise typer.Exit(output.failure(error)) from None

    def stop_unless_usable(self, failure: ToolError | None) -> None:
        """End the command with the exit code of `failure`, which its answer tells already.

        Raises:
            typer.Exit: there is a failure.
        """
        if failure is None:
            return
        if not self.output.as_json:
            self.output.failure(failure)
        raise typer.Exit(EXIT_CODES[failure.kind])

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` on an event loop; failures become a sentence and an exit code.

        Raises:
            typer.Exit: the work failed.
        """
        try:
            return anyio.run(work)
        except KeyboardInterrupt:
            self.output.note("stopped")
            raise typer.Exit(_STOPPED) from None
        except (ToolError, ExceptionGroup) as error:
            # Task groups wrap what ends them; a person asked for one thing and gets one reason.
            failure = first_failure(error)
            if failure is None:
                raise
            raise typer.Exit(self.output.failure(failure)) from None
