"""Processes of sources that have lost their crib: it was killed, and they did not notice.

Linux only: read from /proc. What is told is a likeness (the whole command line of a source, or its
arguments where a launcher such as npx changes that; no crib above it), so nothing is ended here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.doctor.finding import Finding, Severity
from toolcrib_registry.shown_text import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolcrib_registry.records import SourceRecord

_ADOPTERS: Final = frozenset({"systemd", "init", "tini", "dumb-init", "docker-init"})
"""Who gets the children of a process that ended."""
_OURS: Final = "toolcrib_adapters."
_LAUNCHERS: Final = frozenset({"npx", "uvx", "bunx", "pnpm", "npm", "uv", "pipx", "sh", "bash"})
"""What they start has another command line than they were given."""
_MOST_BEFORE: Final = 2
_TELLING: Final = 4
"""Shorter arguments tell nothing."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this user.

    Attributes:
        pid: its number.
        parent: its parent's.
        name: as the kernel calls it.
        words: its command line.
        folder: where it runs; empty if that is not known.
    """

    pid: int
    parent: int
    name: str
    words: tuple[str, ...]
    folder: str = ""

    @property
    def command(self) -> str:
        """The command line, with spaces between the words."""
        return " ".join(self.words)


def my_processes(proc: Path = Path("/proc")) -> list[Process]:
    """The processes of this user; none where there is no /proc."""
    found = []
    for folder in proc.glob("[0-9]*"):
        try:
            if folder.stat().st_uid != os.getuid():
                continue
            before, _, after = (folder / "stat").read_text(errors="replace").rpartition(") ")
            line = (folder / "cmdline").read_bytes().decode(errors="replace")
            place = str((folder / "cwd").readlink())
        except OSError:  # it ended meanwhile
            continue
        name = before.partition(" (")[2]
        parent = int(after.split()[1])
        words = tuple(line.rstrip("\0").split("\0"))
        found.append(Process(int(folder.name), parent, name, words, place))
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
    alike = [_Likeness.of(record) for record in sources]
    for process in orphans:
        names = [likeness.name for likeness in alike if likeness.fits(process)]
        if names:
            told = " or ".join(repr(name) for name in names)
            shown = without_secrets(process.command)[:200]
            yield Finding(
                "orphan",
                Severity.WARNING,
                f"process {process.pid} looks like source {told} and belongs to no crib: {shown}",
                f"look at it, and end it if nobody needs it: kill {process.pid}",
                process.pid,
            )


def _is_adopted(process: Process, by_pid: dict[int, Process]) -> bool:
    parent = by_pid.get(process.parent)
    return process.parent == 1 or (parent is not None and parent.name in _ADOPTERS)


@dataclass(frozen=True, slots=True)
class _Likeness:
    """How a process of a source looks.

    Attributes:
        name: the source's.
        command: what starts it; empty for a source that is no process.
        words: its arguments; None where a variable is filled in.
        folder: where it runs, if the settings say so.
    """

    name: str
    command: str
    words: tuple[str | None, ...]
    folder: str | None

    @classmethod
    def of(cls, record: SourceRecord) -> _Likeness:
        command, args = record.spec.get("command"), record.spec.get("args")
        words = [str(arg) for arg in args] if isinstance(args, list) else []
        cwd = record.spec.get("cwd")
        return cls(
            record.name,
            command if isinstance(command, str) else "",
            tuple(None if "${" in word else word for word in words),
            cwd if isinstance(cwd, str) and "${" not in cwd else None,
        )

    def fits(self, process: Process) -> bool:
        """Whether the process looks like that."""
        if not self.command:
            return False
        if self.folder and process.folder and Path(self.folder) != Path(process.folder):
            return False
        if PurePath(self.command).name in _LAUNCHERS:
            marks = self._marks()
            return bool(marks) and all(mark in process.command for mark in marks)
        return self._is_whole(process.words)

    def _is_whole(self, words: tuple[str, ...]) -> bool:
        """Whether the command line ends with ours; an interpreter may stand before a script."""
        before = len(words) - len(self.words)
        if not 0 < before <= _MOST_BEFORE:
            return False
        if not self.words:
            # Without arguments only a command that is there whole tells something.
            return self.command.startswith("/") and words[-1] == self.command
        ours = (PurePath(self.command).name, *self.words)
        given = (PurePath(words[before - 1]).name, *words[before:])
        return all(one in {None, other} for one, other in zip(ours, given, strict=True))

    def _marks(self) -> list[str]:
        """What a launcher leaves of the arguments."""
        told = [_bare(word) for word in self.words if word and not word.startswith("-")]
        return [word for word in told if len(word) >= _TELLING]


def _bare(word: str) -> str:
    """A package without its scope and version; anything else as it is."""
    match = re.fullmatch(r"@[^/]+/([^@]+)(?:@.*)?", word)
    return match.group(1) if match else word
