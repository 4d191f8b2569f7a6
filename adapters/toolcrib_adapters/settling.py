"""Waits until a burst of events is over: one piece of work then answers all of them.

Used where upstreams say that their lists changed, and where our callers are told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from toolcrib_registry.ports import Clock


class Settling:
    """A burst of events, and the moment when it is over."""

    def __init__(self, clock: Clock, quiet_seconds: float, longest_seconds: float) -> None:
        """No event yet.

        Args:
            clock: time.
            quiet_seconds: a burst is over when nothing has happened for so long.
            longest_seconds: a burst that goes on for so long is answered in between.
        """
        self._clock = clock
        self._quiet = quiet_seconds
        self._longest = longest_seconds
        self._events = 0
        self._stirred = anyio.Event()

    def stir(self) -> None:
        """Something happened."""
        self._events += 1
        self._stirred.set()

    async def settled(self) -> None:
        """Return when something has happened and the burst is over, or has gone on for too long.

        What happens after the return belongs to the next burst.
        """
        await self._stirred.wait()
        started, seen = self._clock.monotonic(), -1
        while seen != self._events and self._clock.monotonic() - started < self._longest:
            seen = self._events
            await self._clock.sleep(self._quiet)
        self._stirred = anyio.Event()
