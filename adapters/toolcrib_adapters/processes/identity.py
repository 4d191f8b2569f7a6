"""Which process a number means: numbers are used again, a number with its start time is not.

Linux tells it in /proc, other systems through `ps`. Windows is not asked: it has no groups.
"""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PROC: Final = Path("/proc")
_STATE: Final = 0
_GROUP: Final = 2
_STARTED: Final = 19
"""Where the facts are behind the name in /proc/PID/stat."""
_PS_SECONDS: Final = 5.0
_MOST_MEMBERS: Final = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """One process, for ever.

    Attributes:
        pid: its number.
        started: when it started, in the words of the system.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The process that has this number now; None if there is none, or it has ended."""
        started = _started(pid)
        return None if started is None else cls(pid, started)

    @property
    def lives(self) -> bool:
        """Whether this very process still runs."""
        return _started(self.pid) == self.started


def this_place() -> dict[str, str]:
    """Where process numbers of this process mean something: machine, its start, its namespace."""
    return {
        "machine": platform.node(),
        "boot": _text(_PROC / "sys/kernel/random/boot_id"),
        "namespace": _link(_PROC / "self/ns/pid"),
    }


def descendants(pid: int) -> Mapping[int, str]:
    """The processes below `pid` in its group, with their start times."""
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting and len(found) < _MOST_MEMBERS:
        for child in _children(waiting.pop()):
            started = _started(child)
            if started is not None and group_of(child) == pid:
                found[child] = started
                waiting.append(child)
    return found


def group_of(pid: int) -> int | None:
    """The group of a process; None if it is gone."""
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def group_lives(group: int) -> bool:
    """Whether a process of the group still runs.

    One that has ended and waits for its parent does not: an orphan waits for the first process of
    its machine or container, which may take seconds, or for ever.
    """
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if not _PROC.joinpath("self").exists():
        return True
    return any(_is_in(group, entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit())


def _is_in(group: int, pid: str) -> bool:
    facts = _text(_PROC / pid / "stat").rpartition(") ")[2].split()
    return len(facts) > _GROUP and facts[_GROUP] == str(group) and facts[_STATE] not in "ZX"


def _children(pid: int) -> Iterator[int]:
    if _PROC.joinpath("self").exists():
        yield from map(int, _text(_PROC / f"{pid}/task/{pid}/children").split())
        return
    for line in _ps("-axo", "pid=,ppid=").splitlines():
        child, _, parent = line.strip().partition(" ")
        if parent.strip() == str(pid):
            yield int(child)


def _started(pid: int) -> str | None:
    if pid <= 0:
        return None
    if _PROC.joinpath("self").exists():
        facts = _text(_PROC / f"{pid}/stat").rpartition(") ")[2].split()
        # A zombie has ended; only its parent has not looked yet.
        return None if len(facts) <= _STARTED or facts[_STATE] in "ZX" else facts[_STARTED]
    told = _ps("-o", "state=,lstart=", "-p", str(pid)).strip()
    return None if not told or told.startswith("Z") else told.partition(" ")[2].strip()


def _ps(*words: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            ["/bin/ps", *words],
            capture_output=True,
            check=False,
            timeout=_PS_SECONDS,
            env={"LC_ALL": "C", "TZ": "UTC"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
