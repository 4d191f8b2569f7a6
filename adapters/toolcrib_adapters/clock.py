"""The real clock. Tests drive `toolcrib_registry.hand_clock.HandClock` instead."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import anyio


class SystemClock:
    """Time as the machine tells it."""

    def now(self) -> datetime:
        """The time of day, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        await anyio.sleep(seconds)
