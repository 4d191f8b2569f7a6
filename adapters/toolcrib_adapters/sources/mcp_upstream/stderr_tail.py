"""What a server wrote to its standard error last.

All of it is read, so that the server never blocks; a little is kept, for the reason of a failure.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT_BYTES: Final = 8_192
_CHUNK: Final = 65_536


class StderrTail:
    """A pipe for a process's standard error; `write_end` goes to the process."""

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._kept = b""

    @property
    def text(self) -> str:
        """The last of it."""
        return self._kept.decode(errors="replace").strip()

    def close_write_end(self) -> None:
        """The process has its own copy now; without this the pipe would never end."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    async def drain(self) -> None:
        """Read until the process and its children have closed the pipe, or this is cancelled."""
        while True:
            await anyio.wait_readable(self._read_end)
            if not self.read_available():
                return

    def read_available(self) -> bool:
        """Take what is there now; False at the end of the pipe."""
        try:
            chunk = os.read(self._read_end, _CHUNK)
        except BlockingIOError:
            return True
        self._kept = (self._kept + chunk)[-_KEPT_BYTES:]
        return bool(chunk)

    def close(self) -> None:
        """Close both ends."""
        self.close_write_end()
        os.close(self._read_end)


@contextmanager
def stderr_tail() -> Iterator[StderrTail]:
    """A tail that is closed at the end."""
    tail = StderrTail()
    try:
        yield tail
    finally:
        tail.close()
