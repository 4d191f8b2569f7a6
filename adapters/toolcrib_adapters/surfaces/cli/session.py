"""What every command starts from: the settings, the output, and one event loop around its work."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import anyio
import typer

from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.cli.output import Output
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Folder of this crib's catalogue and index [env: TOOLCRIB_HOME].",
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
    def start(cls, home: Path | None, *, as_json: bool = False) -> Session:
        """The surroundings for a command that was given `--home` and `--json`.

        Raises:
            typer.Exit: the settings cannot be used; the reason is printed.
        """
        logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
        output = Output(as_json=as_json)
        try:
            return cls(CribSettings.read(home), output)
        except ToolError as error:
            raise typer.Exit(output.failure(error)) from None

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` on an event loop; failures become a sentence and an exit code.

        Raises:
            typer.Exit: the work failed.
        """
        try:
            return anyio.run(work)
        except* ToolError as group:
            code = self.output.failure(_first(group))
        except* KeyboardInterrupt:
            self.output.note("stopped")
            code = 130
        raise typer.Exit(code)


def _first(group: BaseExceptionGroup[ToolError]) -> ToolError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ToolError):
        return error
    raise error
