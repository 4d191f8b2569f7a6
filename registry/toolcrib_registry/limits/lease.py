"""What this process may use of a limit that was set for all processes together.

The gate looks here without asking anybody; `leases.py` fetches more, gives back what is idle, and
renews. What is not renewed in time is not used any more.
"""

from __future__ import annotations

from math import ceil, inf
from typing import TYPE_CHECKING, Final

from toolcrib_registry.ports.limits import Wish

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_registry.limits.gate_limits import GateLimits
    from toolcrib_registry.ports.limits import Grant

IDLE_SECONDS: Final = 2.0
"""Slots that were not all used for so long are given back."""
TOKEN_SECONDS: Final = 1.0
"""Tokens that were not used for so long are given back."""
BLOCK_SECONDS: Final = 0.1
"""Tokens are fetched for about so long."""


class Lease:
    """The part of this process at one gate."""

    def __init__(self, limits: GateLimits, ask: Callable[[], None]) -> None:
        """Nothing is leased yet.

        Args:
            limits: what was set.
            ask: has somebody fetch more.
        """
        self.limits = limits
        self.ask = ask
        self.slots = 0
        self.tokens = 0
        self.again_at = 0.0
        self._slots_until = -inf
        self._tokens_until = -inf
        self._share: int | None = None
        self._last_full = -inf
        self._wanted = 0
        self._is_booked = False

    def allows(self, running: int, now: float) -> bool:
        """Whether one more call may go through."""
        if self.limits.shares_cap and (now >= self._slots_until or running >= self.slots):
            return False
        return self.limits.rate is None or (self.tokens > 0 and now < self._tokens_until)

    def take(self) -> None:
        """One more call goes through."""
        self.tokens = max(0, self.tokens - 1)

    def came_back(self) -> None:
        """A call ended; if others have to do without, its slot goes to them."""
        if self._share is not None and self.slots > self._share:
            self.slots -= 1
            self.ask()

    def comes_in(self, ahead: int) -> float:
        """In how many seconds so many calls can have begun, at best."""
        rate = self.limits.rate
        return 0.0 if rate is None else max(0.0, ahead - self.tokens - self.limits.burst) / rate

    def wish(self, running: int, waiting: int, now: float) -> Wish:
        """What to ask for now."""
        limits = self.limits
        cap = limits.cap if limits.shares_cap else None
        if now >= self._slots_until:
            self.slots = 0
        busy = running + waiting
        if busy >= self.slots:
            self._last_full = now
        is_idle = now - self._last_full > IDLE_SECONDS
        slots = 0 if cap is None else min(cap, busy if is_idle else max(busy, self.slots))
        self._wanted = slots
        returned = self._returned(now)
        return Wish(
            cap,
            limits.rate,
            limits.burst,
            running,
            slots,
            self._tokens_wanted(waiting),
            returned,
        )

    def _tokens_wanted(self, waiting: int) -> int:
        rate = self.limits.rate
        if rate is None or not waiting or self.tokens:
            return 0
        return min(waiting, ceil(rate * BLOCK_SECONDS))

    def _returned(self, now: float) -> int:
        if not self.tokens or now < self._tokens_until:
            return 0
        returned, self.tokens = self.tokens, 0
        return returned

    def granted(self, grant: Grant, asked_at: float, now: float, seconds: float) -> None:
        """Take over what was granted; the time counts from before it was asked for."""
        self.slots = grant.slots
        self._is_booked = self._wanted > 0 or grant.slots > 0
        self._slots_until = asked_at + seconds
        self._share = grant.share
        self.tokens += grant.tokens
        if grant.tokens:
            self._tokens_until = now + TOKEN_SECONDS
        self.again_at = now + grant.again_in

    @property
    def holds_anything(self) -> bool:
        """Whether there is something to renew or to give back.

        What this process has given up itself still stands in the book until the store is told.
        """
        return self._is_booked or self.tokens > 0
