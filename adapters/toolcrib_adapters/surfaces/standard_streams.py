"""The process's standard streams and sockets as lines, read without threads.

Free of the protocol and of the SDK: a process that only bridges to a running crib must start at
once. Used by `stdio.py` and `attach`.
"""

from __future__ import annotations

import logging
import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

_log = logging.getLogger(__name__)

CHUNK: Final = 65_536
LONGEST_LINE: Final = 64 * 1024 * 1024


async def lines_of(receive: Callable[[], Awaitable[bytes]]) -> AsyncIterator[bytes]:
    """The lines that arrive, without their ends; what follows the last end is none.

    Args:
        receive: gives some bytes, none at the end.
    """
    pieces: list[bytes] = []
    size = 0
    while chunk := await receive():
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join([*pieces, line])
            pieces, size = [], 0
        if rest:
            pieces.append(rest)
            size += len(rest)
        if size > LONGEST_LINE:
            _log.error("a message of more than %d bytes; ending the connection", LONGEST_LINE)
            return


async def received(descriptor: int) -> bytes:
    """Some bytes of a file descriptor; waiting for them can be cancelled, unlike in a thread."""
    try:
        await anyio.wait_readable(descriptor)
    except OSError:
        # A regular file is always readable and cannot be waited for.
        return await anyio.to_thread.run_sync(os.read, descriptor, CHUNK)
    return os.read(descriptor, CHUNK)


async def write_whole(descriptor: int, text: bytes) -> None:
    """Write all of `text`; waiting for a reader can be cancelled, unlike in a thread.

    Raises:
        OSError: nobody can read it any more.
    """
    left = memoryview(text)
    while left:
        # A regular file is always writable and cannot be waited for.
        with suppress(PermissionError):
            await anyio.wait_writable(descriptor)
        with suppress(BlockingIOError):
            # So much can be written to a pipe that is ready without waiting.
            left = left[os.write(descriptor, left[: select.PIPE_BUF]) :]
