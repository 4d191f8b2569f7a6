"""A server process with everything it started: whether it lives, and how all of it is ended.

Wrappers (`npx`, `uvx`, `sh -c`) have children that outlive them; so a server gets a group of its
own, and the group is what ends. Windows has no such groups: there only the process itself is ended.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.processes.identity import group_lives

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import Process

_LEAVE_SECONDS: Final = 2.0
"""How long a server may take to leave after its stdin was closed, and again after SIGTERM."""
_POLL_SECONDS: Final = 0.01
_WATCH_SECONDS: Final = 0.25


async def exited(process: Process) -> None:
    """Return when the process has ended, whoever else still holds its pipes open."""
    # Not `process.wait()`: it waits for pipes, too, and a grandchild may keep those for ever.
    if not hasattr(os, "pidfd_open"):
        await _until(lambda: process.returncode is not None, _WATCH_SECONDS)
        return
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


async def end(process: Process) -> None:
    """Close stdin and wait; then end the group, politely and at last by force, and wait for it."""
    if process.stdin is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
    with anyio.move_on_after(_LEAVE_SECONDS):
        await _until(lambda: process.returncode is not None, _POLL_SECONDS)
    for name in ("SIGTERM", "SIGKILL"):
        if not _signalled(process, name):
            break
        with anyio.move_on_after(_LEAVE_SECONDS):
            await _until(lambda: not _group_lives(process), _POLL_SECONDS)
    if process.stdout is not None:
        await process.stdout.aclose()
    with anyio.move_on_after(_LEAVE_SECONDS):
        await process.wait()


async def _until(holds: Callable[[], bool], poll_seconds: float) -> None:
    # Nobody is told about the end of a group: it has to be looked at.
    while not holds():  # noqa: ASYNC110
        await anyio.sleep(poll_seconds)


def _signalled(process: Process, name: str) -> bool:
    """Signal the group; False if nobody is left in it."""
    try:
        if sys.platform == "win32":
            process.terminate()
        else:
            # The group has the leader's number, also after the leader has left.
            os.killpg(process.pid, getattr(signal, name))
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group of zombies
        return True
    return True


def _group_lives(process: Process) -> bool:
    # Asking for the return code reaps the leader, which otherwise stays in its group as a zombie.
    if process.returncode is None or sys.platform == "win32":
        return process.returncode is None
    return group_lives(process.pid)
