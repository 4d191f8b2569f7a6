"""Names for running cribs, by which another process can tell whether they still live.

A name says on which machine (since its last start, and in which process namespace) which process
it is, and when that process started: numbers of processes are used again. From elsewhere, or where
the system does not say, nothing can be told, and the lease decides.
"""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

_PROC = Path("/proc")
_STARTED = 19
"""Where `/proc/PID/stat` says when a process started, counted after its name."""


class ProcessOwners:
    """`Owners` that are processes."""

    def __init__(self, proc: Path = _PROC) -> None:
        """One more owner, in this process.

        Args:
            proc: where the system tells of processes.
        """
        self._proc = proc
        self._place = _place(proc)
        pid = os.getpid()
        self.me = f"{self._place}:{pid}:{self._started(pid)}:{uuid4().hex[:8]}"

    def runs(self, owner: str) -> bool | None:
        """Whether an owner's process runs; None if that cannot be told from here."""
        place, _, rest = owner.partition(":")
        pid, _, more = rest.partition(":")
        started = more.partition(":")[0]
        if not self._place or place != self._place or not pid.isdecimal() or not started:
            return None
        return self._started(int(pid)) == started

    def _started(self, pid: int) -> str:
        """When a process started, in the system's own count; empty if it does not run."""
        try:
            # The name of a process may hold anything, also blanks and brackets.
            facts = (self._proc / str(pid) / "stat").read_text("utf-8", "replace")
        except OSError:
            return ""
        words = facts.rpartition(")")[2].split()
        return words[_STARTED] if len(words) > _STARTED and words[0] != "Z" else ""


def _place(proc: Path) -> str:
    """This machine since its last start, and the namespace of its process numbers; may be empty."""
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = (proc / "self/ns/pid").readlink().name
    except (OSError, ValueError):
        return ""
    return f"{boot}/{namespace}".replace(":", "")
