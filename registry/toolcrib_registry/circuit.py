"""The breaker of one tool as a value: closed, open or half open, and what an outcome makes of it.

A failure counts up, a success down, so that a tool which fails now and then stays closed and one
which fails more often than not opens. Open, nothing is called until its time is over; then one call
is let through to look. Pure; `breaker.py` keeps one a tool.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

FAILURES_TO_OPEN: Final = 5
FIRST_OPEN_SECONDS: Final = 1.0
LONGEST_OPEN_SECONDS: Final = 30.0
_PROBE_SECONDS: Final = 0.5
"""When to ask again while somebody else looks."""
_DOUBLINGS: Final = 10
_LEAST_PART: Final = 0.8
_SPREAD: Final = 0.4
"""An opening lasts 0.8 to 1.2 times its length."""


class CircuitState(StrEnum):
    """Whether calls pass."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class Circuit:
    """A tool that failed lately.

    Attributes:
        failures: how many more failures than successes there were.
        openings: how often it opened since it worked last.
        until: when it may be tried again, in seconds of the clock; None while it is closed.
        is_probed: whether a call looks at this moment.
        failed_at: when the last failure that counted was seen.
    """

    failures: int = 0
    openings: int = 0
    until: float | None = None
    is_probed: bool = False
    failed_at: float = float("-inf")

    def state(self, now: float) -> CircuitState:
        """What a call finds."""
        if self.until is None:
            return CircuitState.CLOSED
        return CircuitState.OPEN if now < self.until else CircuitState.HALF_OPEN

    def seconds_closed_to(self, now: float) -> float | None:
        """How long a call that comes now has to wait; None if it may pass."""
        if self.until is None or (now >= self.until and not self.is_probed):
            return None
        return max(self.until - now, _PROBE_SECONDS if self.is_probed else 0.0)

    def probing(self) -> Circuit:
        """One call is let through."""
        return replace(self, is_probed=True)

    def let_go(self) -> Circuit:
        """The call that looked learned nothing; the next may look."""
        return replace(self, is_probed=False)

    def failed(self, now: float, roll: float) -> Circuit:
        """A call that was let through failed; `roll` is chance, from 0 up to 1."""
        more = replace(self, failures=self.failures + 1, failed_at=now)
        was_open = self.until is not None
        if more.failures < FAILURES_TO_OPEN and not was_open:
            return more
        seconds = FIRST_OPEN_SECONDS * 2 ** min(self.openings, _DOUBLINGS)
        seconds = min(seconds, LONGEST_OPEN_SECONDS) * (_LEAST_PART + _SPREAD * roll)
        return replace(more, openings=self.openings + 1, until=now + seconds, is_probed=False)

    def succeeded(self) -> Circuit | None:
        """A call that was let through worked; None: as if nothing had ever been."""
        if self.until is not None or self.failures <= 1:
            return None
        return replace(self, failures=self.failures - 1)
