"""Where the index is kept: a folder of the home. Loads nothing, so that a fault is told at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)


def index_folder(home: Path) -> Path:
    """The folder of the index in `home`, made on first use.

    Where it cannot be made the index is made again each time: slower, never wrong.
    """
    folder = home / "index"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        _log.warning("no index can be kept in %s: %s", folder, error.strerror)
    return folder
