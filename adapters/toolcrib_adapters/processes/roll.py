"""The roll of what a crib started, in its home folder: one small file for each process group.

Written when a process starts and taken away when its group is gone. What stays there has an owner
that was killed, and `sweep.py` ends it. Not for other processes to steer anything by.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from toolcrib_adapters.processes.identity import Identity, descendants, this_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

FOLDER: Final = "processes"


class Entry(BaseModel):
    """One thing that somebody has to take away.

    Attributes:
        source: whose it is, for people.
        place: where the numbers mean something.
        owner: number of the crib's process.
        owner_started: its start time.
        group: the process group; None for a folder.
        started: when the leader of the group started.
        members: start times of others in the group, by number.
        folder: a temporary folder.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str
    place: dict[str, str]
    owner: int
    owner_started: str
    group: int | None = None
    started: str = ""
    members: dict[int, str] = {}
    folder: str | None = None

    @property
    def is_abandoned(self) -> bool:
        """Whether its owner ran here and runs no more."""
        return not Identity(self.owner, self.owner_started).lives


class Roll:
    """The entries of one home folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER
        self._place = this_place()
        self._owner = Identity.of(os.getpid())

    def enter_group(self, source: str, pid: int) -> Path | None:
        """Write down a group that was just started; None if it has ended already.

        Raises:
            OSError: the home folder cannot be written.
        """
        leader = Identity.of(pid)
        if leader is None or self._owner is None:
            return None
        return self._write(self._entry(source, group=pid, started=leader.started))

    def enter_folder(self, source: str, folder: Path) -> Path | None:
        """Write down a temporary folder.

        Raises:
            OSError: the home folder cannot be written.
        """
        if self._owner is None:
            return None
        return self._write(self._entry(source, folder=str(folder)))

    def note_members(self, file: Path, pid: int) -> None:
        """Add who is in the group by now: a leader may leave before its children.

        Raises:
            OSError: the home folder cannot be written.
        """
        entry = _read(file)
        members = descendants(pid)
        if entry is not None and members:
            self._write(entry.model_copy(update={"members": dict(members)}), file)

    def abandoned(self) -> Iterator[tuple[Path, Entry]]:
        """What was left behind by owners that are dead."""
        for file in sorted(self._folder.glob("*.json")):
            entry = _read(file)
            if entry is None:
                continue
            if entry.place == self._place:
                if entry.is_abandoned:
                    yield file, entry
            elif self._is_before_restart(entry) and entry.folder is None:
                # The machine was started anew: no process of then is left.
                strike(file)

    def running(self) -> Mapping[str, Sequence[int]]:
        """The groups of each source whose crib runs, of all cribs of this home."""
        found: dict[str, list[int]] = {}
        for file in sorted(self._folder.glob("*.json")):
            entry = _read(file)
            is_here = entry is not None and entry.place == self._place
            if entry is not None and is_here and entry.group and not entry.is_abandoned:
                found.setdefault(entry.source, []).append(entry.group)
        return found

    def _is_before_restart(self, entry: Entry) -> bool:
        ours = self._place
        is_same = entry.place.get("machine") == ours["machine"] and bool(ours["boot"])
        return is_same and entry.place.get("boot") != ours["boot"]

    def _entry(self, source: str, **facts: object) -> Entry:
        owner = {"owner": 0, "owner_started": ""}
        if self._owner is not None:
            owner = {"owner": self._owner.pid, "owner_started": self._owner.started}
        return Entry.model_validate({"source": source, "place": self._place, **owner, **facts})

    def _write(self, entry: Entry, file: Path | None = None) -> Path:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = file or self._folder / f"{entry.owner}-{secrets.token_hex(8)}.json"
        draft = file.with_suffix(".new")
        draft.write_text(entry.model_dump_json())
        draft.replace(file)
        return file


def strike(file: Path) -> None:
    """Take an entry away; somebody else may have done it."""
    file.unlink(missing_ok=True)


def _read(file: Path) -> Entry | None:
    try:
        return Entry.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
