"""Ends what killed cribs left behind: process groups and temporary folders on the roll.

A group is ended only if its owner is dead and the group is provably the one that was written down:
its leader, or one of its members, has the number and the start time that stand on the roll.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.processes.identity import Identity, group_of
from toolcrib_adapters.processes.roll import Entry, Roll, strike

if TYPE_CHECKING:
    from collections.abc import Sequence

_log = logging.getLogger(__name__)

_LEAVE_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.01
FOLDER_PREFIX: Final = "toolcrib-"


@dataclass(frozen=True, slots=True)
class LeftOver:
    """Something that a killed crib left behind.

    Attributes:
        file: its entry.
        entry: what stands there.
        is_there: whether there still is something to end.
    """

    file: Path
    entry: Entry
    is_there: bool

    @property
    def text(self) -> str:
        """For people."""
        source = repr(self.entry.source)
        if self.entry.folder is not None:
            return f"the folder {self.entry.folder} of source {source}"
        return f"process group {self.entry.group} of source {source}"


def left_over(roll: Roll) -> list[LeftOver]:
    """What cribs that were killed left on this roll."""
    return [
        LeftOver(file, entry, _is_group_there(entry) or _is_folder_there(entry))
        for file, entry in roll.abandoned()
    ]


def sweep(roll: Roll) -> Sequence[LeftOver]:
    """End and remove it all; returns what was there."""
    found = left_over(roll)
    _end_groups([item.entry for item in found if item.is_there and item.entry.group])
    for item in found:
        if item.is_there:
            _log.warning("a crib that was killed had left %s behind; it is ended", item.text)
        if item.is_there and item.entry.folder is not None:
            shutil.rmtree(item.entry.folder, ignore_errors=True)
        if not _is_group_there(item.entry):
            strike(item.file)
    return [item for item in found if item.is_there]


def _end_groups(entries: Sequence[Entry]) -> None:
    waiting = list(entries)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for entry in waiting:
            # Looked at again just before: another crib may sweep at the same time.
            if _is_group_there(entry) and entry.group is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(entry.group, number)
        give_up = time.monotonic() + _LEAVE_SECONDS
        while waiting and time.monotonic() < give_up:
            waiting = [entry for entry in waiting if _is_group_there(entry)]
            time.sleep(_POLL_SECONDS if waiting else 0)


def _is_group_there(entry: Entry) -> bool:
    if entry.group is None:
        return False
    known = [Identity(entry.group, entry.started)]
    known += [Identity(pid, started) for pid, started in entry.members.items()]
    return any(one.lives and group_of(one.pid) == entry.group for one in known)


def _is_folder_there(entry: Entry) -> bool:
    """Whether it is a folder as we make them: the roll is a file that others can write."""
    if entry.folder is None:
        return False
    path = Path(entry.folder)
    is_ours = path.name.startswith(FOLDER_PREFIX) and path.parent == Path(tempfile.gettempdir())
    try:
        return is_ours and path.is_dir() and path.lstat().st_uid == os.getuid()
    except OSError:
        return False
