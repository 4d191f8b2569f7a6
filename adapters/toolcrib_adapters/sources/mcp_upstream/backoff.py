"""How long to wait before an upstream is tried again.

Pure: the attempt and a roll of the dice in, seconds out. Used by the owner task of an upstream.
"""

from __future__ import annotations

from typing import Final

_AT_ONCE_SECONDS: Final = 0.1
"""What just died is most often well after a new start: it serves again within a second."""
_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 60.0
_MOST_DOUBLINGS: Final = 10


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
