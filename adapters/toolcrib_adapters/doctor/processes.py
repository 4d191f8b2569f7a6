"""Processes of sources that have lost their crib: it was killed, and they did not notice.

Linux only: read from /proc. What is told is a likeness (the arguments of a source, and no crib
above it), so nothing is ended here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.doctor.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolcrib_registry.records import SourceRecord

_ADOPTERS: Final = frozenset({"systemd", "init", "tini", "dumb-init", "docker-init"})
"""Who gets the children of a process that ended."""
_OURS: Final = "toolcrib_adapters."
_TELLING: Final = 4
"""Shorter arguments tell nothing."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this user.

    Attributes:
        pid: its number.
        parent: its parent's.
        name: as the kernel calls it.
        command: its command line, with spaces between the words.
    """

    pid: int
    parent: int
    name: str
    command: str


def my_processes(proc: Path = Path("/proc")) -> list[Process]:
    """The processes of this user; none where there is no /proc."""
    found = []
    for folder in proc.glob("[0-9]*"):
        try:
            if folder.stat().st_uid != os.getuid():
                continue
            before, _, after = (folder / "stat").read_text(errors="replace").rpartition(") ")
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:  # it ended meanwhile
            continue
        name = before.partition(" (")[2]
        parent = int(after.split()[1])
        found.append(Process(int(folder.name), parent, name, words.decode(errors="replace")))
    return found


def orphan_findings(
    sources: Iterable[SourceRecord], processes: Iterable[Process]
) -> Iterator[Finding]:
    """Processes that look like a source's and have no crib above them."""
    by_pid = {process.pid: process for process in processes}
    # A crib that clients share is adopted, too, and belongs to nobody.
    orphans = [
        process
        for process in by_pid.values()
        if _is_adopted(process, by_pid) and _OURS not in process.command
    ]
    for record in sources:
        for process in orphans:
            if _looks_like(process, record):
                yield Finding(
                    "orphan",
                    Severity.WARNING,
                    f"process {process.pid} looks like source {record.name!r} and belongs to no "
                    f"crib: {process.command.strip()[:200]}",
                    f"look at it, and end it if nobody needs it: kill {process.pid}",
                    process.pid,
                )


def _is_adopted(process: Process, by_pid: dict[int, Process]) -> bool:
    parent = by_pid.get(process.parent)
    return process.parent == 1 or (parent is not None and parent.name in _ADOPTERS)


def _looks_like(process: Process, record: SourceRecord) -> bool:
    """Whether the command line has in it what the source's has, whatever started it."""
    command, args = record.spec.get("command"), record.spec.get("args")
    words = [str(arg) for arg in args] if isinstance(args, list) else []
    told = [_bare(word) for word in words if not word.startswith("-") and "${" not in word]
    marks = [word for word in told if len(word) >= _TELLING]
    if marks:
        return all(mark in process.command for mark in marks)
    # Without arguments only a command that is there whole tells something.
    is_whole = not words and isinstance(command, str) and command.startswith("/")
    return is_whole and process.command.strip().split(" ")[-1] == command


def _bare(word: str) -> str:
    """A package without its scope and version; anything else as it is."""
    match = re.fullmatch(r"@[^/]+/([^@]+)(?:@.*)?", word)
    return match.group(1) if match else word
