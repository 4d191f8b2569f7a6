"""How long to wait before an upstream is tried again. Used by the owner task of an upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.errors import ToolError
    from toolcrib_registry.ports import Clock

_AT_ONCE_SECONDS: Final = 0.1
"""What just died is most often well after a new start: it serves again within a second."""
_FIRST_SECONDS: Final = 0.25
_LONGEST_SECONDS: Final = 60.0
_MOST_DOUBLINGS: Final = 12
_LONGEST_ASKED: Final = 300.0
"""So long a server may keep us away that asks for it."""
_STABLE_SECONDS: Final = 30.0
"""A connection that lasted so long makes the next pause a first one again."""


def pause_seconds(attempt: int, roll: float) -> float:
    """The pause after failure number `attempt` (from 0).

    Args:
        attempt: how many tries have failed before this one.
        roll: from 0 up to 1; sources that failed together must not come back together.
    """
    if attempt <= 0:
        return _AT_ONCE_SECONDS * (1 + roll) / 2
    longest = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS))
    return longest * (1 + roll) / 2


class Attempts:
    """The attempts to connect to one upstream, and what became of them.

    Attributes:
        is_forgotten: whether the last one ended because the server did not know it any more: it
            is there, and takes another.
    """

    def __init__(self, clock: Clock, roll: Callable[[], float]) -> None:
        """None yet.

        Args:
            clock: time.
            roll: chance for the pauses, from 0 up to 1.
        """
        self._clock = clock
        self._roll = roll
        self._failures = 0
        self._started = clock.monotonic()
        self.is_forgotten = False
        self._has_answered = False

    def begin(self) -> None:
        """Another attempt."""
        self._started = self._clock.monotonic()
        self.is_forgotten = self._has_answered = False

    def answered(self) -> None:
        """A call was answered: what served is no server that dies at every start."""
        self._has_answered = True

    def ended(self, failure: ToolError, *, was_ready: bool) -> float:
        """How long to wait after the attempt, and what came of it, has ended.

        Args:
            failure: why.
            was_ready: whether there was a connection for a while.
        """
        is_stable = was_ready and self._clock.monotonic() - self._started > _STABLE_SECONDS
        self._failures = 0 if is_stable or self._has_answered else self._failures + 1
        if self.is_forgotten and self._failures <= 1:
            return 0.0
        asked = failure.details.get("retry_after_seconds")
        wanted = min(asked, _LONGEST_ASKED) if isinstance(asked, int | float) else 0.0
        return max(wanted, pause_seconds(max(0, self._failures - 1), self._roll()))
