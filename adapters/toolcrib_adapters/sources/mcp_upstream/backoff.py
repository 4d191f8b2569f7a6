"""How long to wait before an upstream is tried again.

Pure: the attempt and a roll of the dice in, seconds out. Used by the owner task of an upstream.
"""

from __future__ import annotations

from typing import Final

_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 60.0
_MOST_DOUBLINGS: Final = 10


def pause_seconds(attempt: int, roll: float) -> float:
    """The pause after failure number `attempt` (from 0).

    Args:
        attempt: how many tries have failed before this one.
        roll: from 0 up to 1; sources that failed together must not come back together.
    """
    longest = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(attempt, _MOST_DOUBLINGS))
    return longest * (1 + roll) / 2
