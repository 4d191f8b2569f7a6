"""How long a source that lists again and again is left alone: ever longer, until it is quiet.

Each new list may cost new names, new versions and new vectors, which stay. Pure but for the clock;
used by `relisting`.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_registry.ports import Clock

_FREE: Final = 5
"""So many lists in a row are nothing unusual: somebody works on a server."""
_LONGEST_SECONDS: Final = 60.0
_MOST_DOUBLINGS: Final = 6
_QUIET_SECONDS: Final = 60.0


class Churn:
    """The lists of one source, as they follow each other."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._quiet_at = -inf

    def pause_seconds(self, clock: Clock) -> float:
        """Called after each list: how long to wait before the next one."""
        now = clock.monotonic()
        self._in_a_row = 1 if now >= self._quiet_at else self._in_a_row + 1
        doublings = self._in_a_row - 1 - _FREE
        pause = 0.0
        if doublings >= 0:
            pause = min(_LONGEST_SECONDS, 2.0 ** min(doublings, _MOST_DOUBLINGS))
        self._quiet_at = now + pause + _QUIET_SECONDS
        return pause
