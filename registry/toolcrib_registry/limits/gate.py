"""A gate: how many calls may run behind it, how many may begin, who waits before it.

Knows nothing of tools or rules; `gates.py` says what holds here and sends calls through. What was
set for all processes together is leased (`lease.py`); a gate without a lease asks nobody. Used from
one event loop.
"""

from __future__ import annotations

from math import ceil, inf
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_registry.limits.adaptive_cap import AdaptiveCap
from toolcrib_registry.limits.line import Line, Turn
from toolcrib_registry.limits.meter import Meter
from toolcrib_registry.limits.token_bucket import TokenBucket

if TYPE_CHECKING:
    from toolcrib_registry.limits.gate_limits import GateLimits
    from toolcrib_registry.limits.lease import Lease

_UNKNOWN_SECONDS: Final = 1.0
"""How long a call may take where none has ended yet."""
_LONGEST_AFTER: Final = 900.0
_SHORTEST_LOOK: Final = 0.001


class Gate:
    """One gate.

    Attributes:
        limits: what holds.
        cap: how many may run, as far as this process has learned.
        bucket: how many may begin; with a lease on the rate only the pauses.
        meter: what was measured.
        line: who waits.
        lease: what this process may use of what was set for all; None if nothing was.
        running: how many calls are behind the gate.
        halved_because: why the cap was halved last.
    """

    def __init__(self, limits: GateLimits, now: float) -> None:
        """A gate with nobody behind it."""
        self.limits = limits
        self.cap = AdaptiveCap()
        self.bucket = TokenBucket(at=now)
        self.meter = Meter()
        self.line = Line()
        self.lease: Lease | None = None
        self.running = 0
        self.halved_because = ""
        self._watch: Turn | None = None
        self.limit(limits, None, now)

    def limit(self, limits: GateLimits, lease: Lease | None, now: float) -> None:
        """Take over other limits; whoever runs goes on."""
        self.limits, self.lease = limits, lease
        self.cap.most = limits.cap
        self.bucket.limit(None if lease is not None else limits.rate, limits.burst, now)
        self.admit(now)

    def has_room(self, now: float) -> bool:
        """Whether one more call may go through now."""
        cap = self.cap.present
        if cap is not None and self.running >= cap:
            return False
        if self.lease is not None and not self.lease.allows(self.running, now):
            return False
        return self.bucket.wait(now) <= 0

    def enter(self, now: float) -> None:
        """Go through; there has to be room."""
        self.running += 1
        self.bucket.take(now)
        if self.lease is not None:
            self.lease.take()

    def leave(self, now: float) -> None:
        """Come back; whoever waits longest may go."""
        self.running -= 1
        if self.lease is not None:
            self.lease.came_back()
        if self.line:
            self.admit(now)

    def admit(self, now: float) -> None:
        """Let in as many of those that wait as there is room for."""
        while self.line and self.has_room(now):
            turn = self.line.pop()
            turn.line, turn.is_admitted = None, True
            self.enter(now)
            turn.told.set()

    async def wait(self, turn: Turn, seconds: float) -> bool:
        """Wait for a place, and say whether it was got; not, if time is up or it was called off."""
        until = anyio.current_time() + seconds
        turn.line, turn.is_admitted = self.line, False
        self.line.append(turn)
        if self.lease is not None:
            self.lease.ask()
        is_through = False
        try:
            while turn.line is not None and (now := anyio.current_time()) < until:
                turn.told = anyio.Event()
                with anyio.move_on_after(self._look_after(turn, until, now)):
                    await turn.told.wait()
                self.admit(anyio.current_time())
            is_through = turn.is_admitted
        finally:
            self._end(turn, is_through=is_through)
        return is_through

    def _look_after(self, turn: Turn, until: float, now: float) -> float:
        """How long to sleep; one of those that wait watches the clock for all of them."""
        if self._watch is None:
            self._watch = turn
        if self._watch is not turn:
            return until - now
        return min(until - now, max(self._opens_in(now), _SHORTEST_LOOK))

    def _opens_in(self, now: float) -> float:
        # Where places are missing, somebody who leaves lets the next one in.
        seconds = self.bucket.wait(now)
        return seconds if seconds > 0 else inf

    def _end(self, turn: Turn, *, is_through: bool) -> None:
        if turn.line is not None:
            self.line.remove(turn)
            turn.line = None
        elif turn.is_admitted and not is_through:
            # The place came in the same moment as the end of the waiting.
            self.leave(anyio.current_time())
        if self._watch is turn:
            self._watch = None
            following = self.line.first()
            if following is not None:
                following.told.set()

    def waits_in_vain(self, seconds: float, now: float) -> bool:
        """Whether nobody who comes now can be through in so many seconds."""
        ahead = len(self.line) + 1
        wait = self.bucket.wait(now, ahead)
        if self.lease is not None:
            wait = max(wait, self.lease.comes_in(ahead))
        return wait > seconds

    @property
    def may_be_leased(self) -> bool:
        """Whether there may be room that this process has only not leased yet."""
        if self.lease is None or self.bucket.paused_until > anyio.current_time():
            return False
        cap, ahead = self.cap.present, len(self.line)
        if cap is not None and self.running + ahead >= cap:
            return False
        return self.limits.rate is None or ahead < self.limits.burst

    def comes_in(self, now: float) -> float:
        """In how many seconds somebody who comes now would be through, by what was measured."""
        ahead = len(self.line) + 1
        seconds = self.bucket.wait(now, ahead)
        if self.lease is not None:
            seconds = max(seconds, self.lease.comes_in(ahead))
        cap = self.cap.present
        if cap is not None:
            takes = self.meter.latency_seconds
            seconds = max(seconds, (_UNKNOWN_SECONDS if takes is None else takes) * ahead / cap)
        return max(0.1, ceil(min(seconds, _LONGEST_AFTER) * 10) / 10)
