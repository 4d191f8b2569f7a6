"""How many calls may begin: a bucket that fills at a steady rate up to a burst.

Also keeps the pause that a source asks for (Retry-After): nothing leaves before it. Pure: whoever
uses it says what time it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Final

LONGEST_PAUSE_SECONDS: Final = 900.0
"""A source that asks for more is asked again after this."""
_ALMOST: Final = 1e-9
"""What adding up fractions may lose."""


@dataclass(slots=True)
class TokenBucket:
    """A bucket; without a rate it never runs empty.

    Attributes:
        rate: tokens a second; None for no limit.
        burst: how many fit.
        tokens: how many there were at `at`.
        at: when that was.
        paused_until: nothing is given before.
    """

    rate: float | None = None
    burst: float = 1.0
    tokens: float = 1.0
    at: float = 0.0
    paused_until: float = -inf

    def limit(self, rate: float | None, burst: float, now: float) -> None:
        """Take over other limits; a bucket that had none is full."""
        had_none = self.rate is None
        self.fill(now)
        self.rate, self.burst = rate, burst
        self.tokens = burst if had_none else min(self.tokens, burst)

    def fill(self, now: float) -> float:
        """Add what came since, and say how much there is."""
        passed = max(0.0, now - self.at)
        self.at = now
        self.tokens = min(self.burst, self.tokens + passed * (self.rate or 0.0))
        return inf if self.rate is None else self.tokens

    def wait(self, now: float, tokens: int = 1) -> float:
        """In how many seconds that many tokens are there, if nobody else takes any."""
        pause = max(0.0, self.paused_until - now)
        if self.rate is None:
            return pause
        missing = tokens - self.fill(now)
        return pause if missing <= _ALMOST else max(pause, missing / self.rate)

    def take(self, now: float) -> bool:
        """Take a token, if there is one and nothing is paused."""
        if self.wait(now) > 0:
            return False
        if self.rate is not None:
            self.tokens = max(0.0, self.tokens - 1)
        return True

    def pause(self, seconds: float, now: float) -> None:
        """Give nothing for so long; a longer pause that runs already stays."""
        if isfinite(seconds) and seconds > 0:
            self.paused_until = max(self.paused_until, now + min(seconds, LONGEST_PAUSE_SECONDS))
