"""Whether files changed on disk, by modification time and size.

Used by sources that are read again on a change; does not watch by itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Stamp = tuple[int, int] | None
    """Modification time (ns) and size, or None for a file that is not there."""


def stamp_of(path: str | Path) -> Stamp:
    """What tells two states of a file apart."""
    try:
        facts = Path(path).stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size


def stamps_of(paths: Iterable[str], before: Mapping[str, Stamp] | None = None) -> dict[str, Stamp]:
    """The stamps of `paths`; one taken before the files were read wins over a newer one."""
    known = before or {}
    return {path: known[path] if path in known else stamp_of(path) for path in paths}
