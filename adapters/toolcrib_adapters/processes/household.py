"""All that sources need to run processes: a seat, an entry on the roll, and the guardian.

One for each crib. Without a home folder (tests, a single source) nothing is written down and
nothing is limited; on Windows there are no groups to write down.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.processes.guardian import Guardian
from toolcrib_adapters.processes.roll import Roll, strike
from toolcrib_adapters.processes.seats import Seats
from toolcrib_adapters.processes.sweep import FOLDER_PREFIX, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolcrib_adapters.processes.sweep import LeftOver

_log = logging.getLogger(__name__)

_NO_LIMIT: Final = 1_000_000


class Household:
    """The processes of one crib.

    Attributes:
        seats: how many may run.
    """

    def __init__(self, home: Path | None = None, most: int = _NO_LIMIT) -> None:
        self.seats = Seats(most)
        self._roll = None if home is None or sys.platform == "win32" else Roll(home)
        self._guardian = Guardian()
        self._files: dict[int, Path] = {}

    def sweep(self) -> Sequence[LeftOver]:
        """End what cribs that were killed left behind; may take two seconds if there is some."""
        if self._roll is None:
            return ()
        try:
            return sweep(self._roll)
        except OSError as error:
            _log.warning("cannot look for what was left behind: %s", error)
            return ()

    @contextmanager
    def kept(self, source: str, pid: int) -> Iterator[None]:
        """The group of `pid` is on the roll while the block runs; at its end it must be gone."""
        self._begin(source, pid)
        try:
            yield
        finally:
            self._end(pid)

    def note_members(self, pid: int) -> None:
        """Look who is in the group of `pid` by now."""
        file = self._files.get(pid)
        if self._roll is None or file is None:
            return
        try:
            self._roll.note_members(file, pid)
        except OSError as error:
            _tell(error)

    @contextmanager
    def folder(self, source: str) -> Iterator[Path]:
        """A temporary folder that is removed in any case."""
        with tempfile.TemporaryDirectory(
            prefix=FOLDER_PREFIX, ignore_cleanup_errors=True
        ) as folder:
            file = self._enter_folder(source, Path(folder))
            try:
                yield Path(folder)
            finally:
                if file is not None:
                    strike(file)

    def _enter_folder(self, source: str, folder: Path) -> Path | None:
        if self._roll is None:
            return None
        try:
            return self._roll.enter_folder(source, folder)
        except OSError as error:
            _tell(error)
            return None

    def close(self) -> None:
        """The crib has ended everything it started."""
        self._guardian.close()

    def _begin(self, source: str, pid: int) -> None:
        if self._roll is None:
            return
        self._guardian.guard(pid)
        try:
            file = self._roll.enter_group(source, pid)
        except OSError as error:
            _tell(error)
            return
        if file is not None:
            self._files[pid] = file

    def _end(self, pid: int) -> None:
        if self._roll is None:
            return
        self._guardian.forget(pid)
        file = self._files.pop(pid, None)
        if file is not None:
            strike(file)


def _tell(error: OSError) -> None:
    # Sources run without the roll, too; the guardian knows the groups all the same.
    _log.warning("cannot write down what was started: %s", error)
