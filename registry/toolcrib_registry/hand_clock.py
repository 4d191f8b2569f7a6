"""A clock that stands still until it is moved by hand: no test waits for real time.

Shipped, so that users' tests need not wait either.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf

import anyio
import anyio.lowlevel

_START = datetime(2026, 1, 1, tzinfo=UTC)


class HandClock:
    """A `Clock` whose time passes only in `advance`."""

    def __init__(self, start: datetime = _START) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, anyio.Event]] = []
        self._came = anyio.Event()

    def now(self) -> datetime:
        """The start plus all that was advanced."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """All that was advanced, in seconds."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved by `seconds`."""
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        sleeper = (self._elapsed + seconds, anyio.Event())
        self._sleepers.append(sleeper)
        came, self._came = self._came, anyio.Event()
        came.set()
        try:
            await sleeper[1].wait()
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    async def sleeper(self, within_seconds: float = inf) -> None:
        """Wait until somebody sleeps on this clock who is due in `within_seconds` or earlier."""
        while not any(at <= self._elapsed + within_seconds for at, _ in self._sleepers):
            await self._came.wait()

    def advance(self, seconds: float) -> None:
        """Let time pass, waking whoever is due."""
        self._elapsed += seconds
        due = [wake for at, wake in self._sleepers if at <= self._elapsed]
        self._sleepers = [(at, wake) for at, wake in self._sleepers if at > self._elapsed]
        for wake in due:
            wake.set()
