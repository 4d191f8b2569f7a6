"""How many processes may run at once: a seat for each, and who has to stand up when all are taken.

A source that wants to start one takes a seat. When none is free, the holder that has been idle for
the longest is asked to leave; when none is idle, the newcomer waits for a while and is refused.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from toolcrib_protocol.errors import AT_CAPACITY, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

WAIT_SECONDS: Final = 10.0
"""How long a newcomer waits for a seat."""
_BACK_SECONDS: Final = 2


class Holder(Protocol):
    """Whoever has a seat."""

    @property
    def idle_since(self) -> float | None:
        """The moment (monotonic) since when nobody needs it; None while somebody does."""
        ...

    def leave(self) -> None:
        """Give the seat back soon; its end may take a moment."""
        ...


class Busy:
    """A holder that never leaves for others."""

    @property
    def idle_since(self) -> float | None:
        """Never idle."""
        return None

    def leave(self) -> None:
        """Not asked."""


class Seats:
    """The seats of one crib."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._holders: list[Holder] = []
        self._leaving: list[Holder] = []
        self._waiting = 0
        self._changed = anyio.Event()

    @property
    def taken(self) -> int:
        """How many processes run."""
        return len(self._holders)

    @property
    def most(self) -> int:
        """How many may."""
        return self._most

    @asynccontextmanager
    async def seat(self, holder: Holder, wait_seconds: float = WAIT_SECONDS) -> AsyncIterator[None]:
        """Hold a seat while the block runs.

        Raises:
            ToolError: `at_capacity`; nothing was started.
        """
        await self._take(holder, wait_seconds)
        try:
            yield
        finally:
            self._holders.remove(holder)
            if holder in self._leaving:
                self._leaving.remove(holder)
            self._tell()

    async def _take(self, holder: Holder, wait_seconds: float) -> None:
        self._waiting += 1
        try:
            with anyio.move_on_after(wait_seconds):
                while len(self._holders) >= self._most:
                    self._make_room()
                    await self._changed.wait()
                self._holders.append(holder)
                return
        finally:
            self._waiting -= 1
        text = (
            f"{self._most} processes run already and all are at work; nothing was started "
            "(TOOLCRIB_MOST_PROCESSES sets how many may)"
        )
        raise ToolError(
            AT_CAPACITY,
            text,
            ErrorKind.RETRYABLE,
            {"sent": False, "retry_after_seconds": _BACK_SECONDS},
        )

    def _make_room(self) -> None:
        """Ask one that is idle to leave, unless enough are on their way already."""
        if len(self._leaving) >= self._waiting:
            return
        idle = [
            (since, number, holder)
            for number, holder in enumerate(self._holders)
            if holder not in self._leaving and (since := holder.idle_since) is not None
        ]
        if idle:
            _, _, holder = min(idle)
            self._leaving.append(holder)
            holder.leave()

    def look(self) -> None:
        """Somebody has become idle: whoever waits may ask it to leave."""
        if self._waiting:
            self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
