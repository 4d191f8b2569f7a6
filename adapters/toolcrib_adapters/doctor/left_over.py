"""What killed cribs left behind, as it stands on the roll of this home: this can be mended."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from toolcrib_adapters.doctor.finding import Finding, Severity
from toolcrib_adapters.processes.roll import Roll
from toolcrib_adapters.processes.sweep import left_over, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MEND = "toolcrib doctor --mend ends it, and so does the next start of a crib"


def left_over_findings(home: Path) -> Iterator[Finding]:
    """Groups and folders whose crib was killed."""
    if sys.platform == "win32":
        return
    roll = Roll(home)
    for item in left_over(roll):
        if item.is_there:
            text = f"{item.text} was left by a crib that was killed"
            value = item.entry.group or item.entry.folder
            act = partial(_mend, roll)
            yield Finding("left over", Severity.WARNING, text, _MEND, value, act)


async def _mend(roll: Roll) -> None:
    await to_thread.run_sync(sweep, roll)
