"""How many calls a source bears at the same time, learned from how it answers.

A refusal (429, 503) halves the cap, successes raise it slowly up to what was set: additive
increase, multiplicative decrease. Answers to calls that began before the last halving say nothing
about the halved cap, so they do not count: eight refusals at once halve it once. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(slots=True)
class AdaptiveCap:
    """A cap that gives way and recovers.

    Attributes:
        most: what was set; None for no cap, which is then learned from the number that ran.
        learned: what the source bears, as far as is known; fractions count on the way up.
        halved_at: when it was halved last.
        halvings: how often.
    """

    most: int | None = None
    learned: float = inf
    halved_at: float = -inf
    halvings: int = 0

    @property
    def present(self) -> int | None:
        """How many may run now; None for any number."""
        if self.learned == inf:
            return self.most
        learned = max(1, int(self.learned))
        return learned if self.most is None else min(learned, self.most)

    def refused(self, began: float, running: int, now: float) -> bool:
        """A call that began then was refused, when so many ran; whether that halves the cap."""
        if began < self.halved_at:
            return False
        before = self.present
        bore = running if before is None else before
        self.learned = max(1.0, bore // 2)
        self.halved_at = now
        self.halvings += 1
        return True

    def succeeded(self, began: float) -> None:
        """A call that began then went well: a full round of them raises the cap by one."""
        if self.learned == inf or began < self.halved_at:
            return
        self.learned += 1 / self.learned
        if self.most is not None and self.learned >= self.most:
            self.learned = inf
