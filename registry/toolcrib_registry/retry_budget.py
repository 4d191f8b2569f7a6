"""How many retries a source may get: a fifth of its calls, so that no storm builds.

A source that fails every call would otherwise get several times the load just when it can bear
least. Counted over a sliding window; a few retries are always allowed. Pure but for what it counts;
used from one event loop.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_registry.ports import Clock

SHARE: Final = 0.2
FLOOR: Final = 10
WINDOW_SECONDS: Final = 30.0
_SLOTS: Final = 6
_SLOT_SECONDS: Final = WINDOW_SECONDS / _SLOTS
_MOST_SOURCES: Final = 10_000


@dataclass(slots=True)
class _Counts:
    """Calls and retries of the last slots of time."""

    slot: int = 0
    calls: list[int] = field(default_factory=lambda: [0] * _SLOTS)
    retries: list[int] = field(default_factory=lambda: [0] * _SLOTS)

    def move_to(self, slot: int) -> int:
        """Forget what is older than the window; the place of the present slot."""
        for passed in range(min(slot - self.slot, _SLOTS)):
            place = (slot - passed) % _SLOTS
            self.calls[place] = self.retries[place] = 0
        self.slot = max(self.slot, slot)
        return self.slot % _SLOTS


class RetryBudget:
    """The budgets of all sources."""

    def __init__(self, clock: Clock) -> None:
        """Full budgets."""
        self._clock = clock
        self._counts: OrderedDict[str, _Counts] = OrderedDict()

    def called(self, source: str) -> None:
        """A first attempt is made."""
        counts = self._of(source)
        counts.calls[counts.move_to(self._slot())] += 1

    def take(self, source: str) -> bool:
        """Use one retry; False if none is left."""
        counts = self._of(source)
        place = counts.move_to(self._slot())
        if sum(counts.retries) >= max(FLOOR, SHARE * sum(counts.calls)):
            return False
        counts.retries[place] += 1
        return True

    def _slot(self) -> int:
        return int(self._clock.monotonic() / _SLOT_SECONDS)

    def _of(self, source: str) -> _Counts:
        counts = self._counts.get(source)
        if counts is None:
            counts = self._counts[source] = _Counts(self._slot())
            if len(self._counts) > _MOST_SOURCES:
                self._counts.popitem(last=False)
        return counts
