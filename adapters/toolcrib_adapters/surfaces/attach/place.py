"""Where the clients of one home find its running crib: the socket, the locks, the log.

The lock is the truth about who runs the sources: the kernel gives it back however a process ends.
The socket of a process that was killed stays behind as a file and means nothing. Opens nothing but
the lock files; `link.py` and `listener.py` do the rest.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import STORE_UNAVAILABLE, ErrorKind, ToolError

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import JsonObject

CAN_ATTACH: Final = sys.platform != "win32"
"""Windows has no such sockets and locks: there each client runs a crib of its own."""
LONGEST_SOCKET_PATH: Final = 100
"""What a socket's address may be long: 103 bytes on macOS, 107 on Linux."""
_MOST_OWNER_BYTES: Final = 4_096
_RUNTIME_DIR: Final = "XDG_RUNTIME_DIR"


class RunAlone(Exception):  # noqa: N818 - it is an answer, not a fault
    """The running crib is not for this client, which may run one of its own."""


@dataclass(frozen=True, slots=True)
class Place:
    """The files of one home by which its clients share a crib."""

    home: Path

    @property
    def lock(self) -> Path:
        """Held by the crib that runs the sources; says who that is."""
        return self.home / "crib.lock"

    @property
    def starting(self) -> Path:
        """Held by the one client that starts a crib while the others wait."""
        return self.home / "crib.starting"

    @property
    def log(self) -> Path:
        """What a crib that was started by a client has to say."""
        return self.home / "crib.log"

    @property
    def socket(self) -> Path:
        """Where a crib listens: in its home, or where the path is short enough."""
        usual = self.home / "crib.sock"
        if len(os.fsencode(usual)) <= LONGEST_SOCKET_PATH:
            return usual
        name = sha256(os.fsencode(self.home)).hexdigest()[:20] + ".sock"
        return _private_folder() / name

    def make_home(self) -> None:
        """Make the folder if it is not there.

        Raises:
            ToolError: `store_unavailable`.
        """
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(self.home, error) from error

    def owner(self) -> JsonObject:
        """What the crib that holds or held the lock wrote about itself; empty if nothing usable."""
        try:
            with self.lock.open("rb") as file:
                said = json.loads(file.read(_MOST_OWNER_BYTES))
        except (OSError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}

    @property
    def known_socket(self) -> Path:
        """Where the crib that holds the lock says it listens.

        The environment of that crib may have named another folder for sockets than ours does.
        """
        said = self.owner().get("socket")
        return Path(said) if isinstance(said, str) and said else self.socket


def _private_folder() -> Path:
    """A folder for sockets that nobody else can write to.

    Raises:
        ToolError: `store_unavailable` if somebody else owns it.
    """
    runtime = os.environ.get(_RUNTIME_DIR)
    if runtime and _is_mine(Path(runtime)):
        return Path(runtime)
    folder = Path(tempfile.gettempdir()) / f"toolcrib-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not _is_mine(folder):
        raise ToolError(
            STORE_UNAVAILABLE,
            f"{folder} is not a folder of this user alone, so no socket is put there; remove it, "
            "or choose a home with a shorter path",
            ErrorKind.NEEDS_HUMAN,
        )
    return folder


def _is_mine(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def is_mine(socket: Path) -> bool:
    """Whether `socket` is a socket that this user made: nobody else may pose as our crib."""
    try:
        found = socket.lstat()
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid()


@contextmanager
def held(path: Path, said: JsonObject | None = None) -> Iterator[bool]:
    """Hold the lock at `path` while the block runs; False if somebody else holds it.

    Args:
        path: the lock; the file is made if it is not there and stays.
        said: what to write into it, for whoever looks.

    Raises:
        ToolError: `store_unavailable` if the file cannot be used.
    """
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        try:
            got = _locked(descriptor)
        except OSError as error:  # some network file systems have no locks
            raise _unusable(path, error) from error
        if got and said is not None:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(said).encode(), 0)
        yield got
    finally:
        os.close(descriptor)  # gives the lock back


def is_blocked(socket: Path) -> bool:
    """Whether something that is no socket lies where one has to be made."""
    return os.path.lexists(socket) and not socket.is_socket()


def check_free(socket: Path) -> None:
    """Return if a socket can be made there.

    Raises:
        ToolError: `store_unavailable`: something else is in the way.
    """
    if is_blocked(socket):
        text = (
            f"{socket} is no socket, and a crib has to make one there; move it away, or run with "
            "--no-attach"
        )
        raise ToolError(STORE_UNAVAILABLE, text, ErrorKind.NEEDS_HUMAN)


def no_socket(socket: Path, error: OSError) -> ToolError:
    """Why no socket could be made there."""
    return _unusable(socket, error)


def _unusable(path: Path, error: OSError) -> ToolError:
    text = (
        f"{path} cannot be used: {error.strerror}; choose another --home, or run one crib for each "
        "client with --no-attach"
    )
    return ToolError(STORE_UNAVAILABLE, text, ErrorKind.NEEDS_HUMAN)


def _locked(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
