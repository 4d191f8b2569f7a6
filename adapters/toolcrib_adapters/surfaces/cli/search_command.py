"""`toolcrib search`: ask the stored index. No source is started and nothing leaves the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.main import open_search
from toolcrib_adapters.surfaces.cli.output import short
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("search")(search)
