"""What was measured at a gate: how long calls take, how many end well in a second.

Both are averages that forget: the latency over the last calls, the rate over the last seconds.
Pure: whoever uses it says what time it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Final

MEMORY_SECONDS: Final = 10.0
"""What is so much older counts for a third."""
_NEWEST_PART: Final = 0.2
_SHORTEST_SECONDS: Final = 1.0
"""In less time than this nothing about a rate can be said."""


@dataclass(slots=True)
class Meter:
    """Averages of one gate.

    Attributes:
        latency_seconds: of calls that ended well; None before the first.
        rate_when_refused: how many calls a second ended well when the source refused; None if it
            never did.
        refused: how many calls were turned away at the gate.
    """

    latency_seconds: float | None = None
    rate_when_refused: float | None = None
    refused: int = 0
    _sum: float = 0.0
    _at: float = 0.0
    _since: float | None = None

    def ended(self, seconds: float, now: float) -> None:
        """A call ended well that took so long."""
        before = self.latency_seconds
        self.latency_seconds = (
            seconds if before is None else before + _NEWEST_PART * (seconds - before)
        )
        if self._since is None:
            self._since = now - max(seconds, 0.0)
        self._sum = self._faded(now) + 1.0
        self._at = now

    def rate(self, now: float) -> float:
        """How many calls ended well in a second, lately."""
        if self._since is None:
            return 0.0
        watched = max(now - self._since, _SHORTEST_SECONDS)
        return self._faded(now) / (MEMORY_SECONDS * (1 - exp(-watched / MEMORY_SECONDS)))

    def source_refused(self, now: float) -> None:
        """The source said that this was too much."""
        rate, before = self.rate(now), self.rate_when_refused
        if rate > 0:
            self.rate_when_refused = (
                rate if before is None else before + _NEWEST_PART * (rate - before)
            )

    def _faded(self, now: float) -> float:
        return self._sum * exp(-max(0.0, now - self._at) / MEMORY_SECONDS)
