"""Shares with 95 % intervals."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_Z: Final = 1.96
_T: Final = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t at 97.5 % for one and more degrees of freedom."""


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The interval of a share, also where it is near none or all."""
    if of == 0:
        return 0.0, 1.0
    share, z2 = hits / of, _Z**2
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z * (share * (1 - share) / of + z2 / (4 * of * of)) ** 0.5 / (1 + z2 / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def over_seeds(shares: Sequence[float]) -> tuple[float, float, float]:
    """Mean of the seeds' shares, and the ends of its interval."""
    mean = statistics.fmean(shares)
    if len(shares) == 1:
        return mean, 0.0, 1.0
    t = _T[min(len(shares) - 2, len(_T) - 1)]
    half = t * statistics.stdev(shares) / len(shares) ** 0.5
    return mean, max(0.0, mean - half), min(1.0, mean + half)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value below which that share of them lies; None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
