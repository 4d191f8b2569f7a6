"""The home folder: is it there, whose is it, who may read it, is its disk full?"""

from __future__ import annotations

import os
import shutil
import stat
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from toolcrib_adapters.doctor.finding import Finding, Severity
from toolcrib_adapters.key_ring import KeyRing
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolcrib_adapters.settings import CribSettings

_TOO_LITTLE_BYTES: Final = 50_000_000
_LITTLE_BYTES: Final = 500_000_000
_OTHERS: Final = 0o077
_OTHERS_WRITE: Final = 0o022
_PRIVATE: Final = ("crib.db", "crib.db-wal", "crib.db-shm", "crib.log", "connections.json")
"""What holds settings with secrets in them, or may."""


def has_crib(settings: CribSettings) -> bool:
    """Whether there is a catalogue to look at; one elsewhere says so itself."""
    return settings.database is not None or (settings.home / "crib.db").is_file()


def home_findings(settings: CribSettings) -> Iterator[Finding]:
    """What is wrong with the folder and the files in it."""
    home = settings.home
    if not has_crib(settings):
        yield Finding(
            "home",
            Severity.PROBLEM,
            f"there is no crib at {home}",
            "toolcrib import PATH, or toolcrib add NAME -- COMMAND, makes one; --home or "
            "TOOLCRIB_HOME names another folder",
            str(home),
        )
        return
    if not home.is_dir():
        return
    yield from _access(home)
    yield from _space(home)
    yield from _index(home / "index")
    if os.name == "posix":
        yield from _folder_mode(home)
        for name in _PRIVATE:
            yield from _file_mode(home / name)
        yield from _file_mode(settings.keys_file)
    yield from _key_ring(settings.keys_file)


def _access(home: Path) -> Iterator[Finding]:
    if not os.access(home, os.W_OK | os.X_OK):
        yield Finding(
            "home",
            Severity.PROBLEM,
            f"this user may not write to {home}",
            f"chown -R $USER {home}, or choose another folder with --home",
            str(home),
        )


def _space(home: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(home).free
    if free < _LITTLE_BYTES:
        yield Finding(
            "disk",
            Severity.PROBLEM if free < _TOO_LITTLE_BYTES else Severity.WARNING,
            f"the disk of {home} has {free / 1e6:,.0f} MB left",
            "free some space; what cannot be written is refused, nothing is lost",
            free,
        )


def _folder_mode(home: Path) -> Iterator[Finding]:
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & _OTHERS_WRITE:
        yield Finding(
            "permissions",
            Severity.PROBLEM,
            f"others may write to {home} (mode {mode:04o})",
            f"chmod go-w {home}",
            f"{mode:04o}",
            partial(_chmod, home, mode & ~_OTHERS_WRITE),
        )


def _file_mode(path: Path) -> Iterator[Finding]:
    try:
        found = path.stat()
    except OSError:
        return
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid not in {os.getuid(), 0}:
        yield Finding(
            "permissions",
            Severity.PROBLEM,
            f"{path} belongs to the user {found.st_uid}, not to this one",
            f"chown $USER {path}",
            found.st_uid,
        )
    elif mode & _OTHERS:
        yield Finding(
            "permissions",
            Severity.PROBLEM,
            f"others may read {path}, which may hold secrets (mode {mode:04o})",
            f"chmod 600 {path}",
            f"{mode:04o}",
            partial(_chmod, path, 0o600),
        )


def _index(folder: Path) -> Iterator[Finding]:
    if os.path.lexists(folder) and not folder.is_dir():
        text = f"{folder} is no folder, so no search index is kept and each search makes its own"
        yield Finding("index", Severity.PROBLEM, text, f"mv {folder} {folder}.old", str(folder))


def _key_ring(path: Path) -> Iterator[Finding]:
    """Whether a crib can start with its keys; who may read them is told as of other files."""
    try:
        if stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            return
    except OSError:
        return  # the first crib makes it
    try:
        KeyRing(path).keys()
    except ToolError as error:
        mend = f"mv {path} {path}.old; the next crib makes a new one, and open questions are lost"
        yield Finding("keys", Severity.PROBLEM, error.message, mend, str(path))


async def _chmod(path: Path, mode: int) -> None:
    await to_thread.run_sync(path.chmod, mode)
