"""What a server wrote to its standard error last: read all of it, so that it never blocks, keep a little."""

from __future__ import annotations

import os
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT_LINES: Final = 20
_LONGEST_LINE: Final = 500
_CHUNK: Final = 65_536


class StderrTail:
    """A pipe for a process's standard error; `write_end` goes to the process."""

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._rest = b""

    @property
    def text(self) -> str:
        """The last lines."""
        rest = self._rest.decode(errors="replace")
        return "\n".join([*self._lines, *([rest] if rest else [])]).strip()

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
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._rest = self._rest[-_LONGEST_LINE:]
        self._lines.extend(line[:_LONGEST_LINE].decode(errors="replace") for line in lines)
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
