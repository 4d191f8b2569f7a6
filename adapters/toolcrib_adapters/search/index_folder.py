"""Where the index is kept: a folder of the home. Loads nothing, so that a fault is told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_protocol.errors import STORE_UNAVAILABLE, ToolError

if TYPE_CHECKING:
    from pathlib import Path


def index_folder(home: Path) -> Path:
    """The folder of the index in `home`, made on first use.

    Raises:
        ToolError: `store_unavailable` if it cannot be made.
    """
    folder = home / "index"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(
            STORE_UNAVAILABLE, f"the folder {folder} cannot be used: {error.strerror}"
        ) from error
    return folder
