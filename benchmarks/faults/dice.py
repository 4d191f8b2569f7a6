"""Choices from a seed that come out the same on every Python.

Only `random.Random.random` is promised to give the same numbers for ever; all choices are made from
it here.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")


class Dice:
    """A seeded source of choices."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        """True in that share of all throws."""
        return self._random.random() < share

    def number(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return least + int(self._random.random() * (most - least + 1))

    def pick(self, of: Sequence[T]) -> T:
        """One of them, all alike."""
        return of[int(self._random.random() * len(of))]

    def some(self, of: Sequence[T], count: int) -> list[T]:
        """So many different ones, in the order in which they were drawn."""
        left = list(of)
        return [left.pop(int(self._random.random() * len(left))) for _ in range(count)]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """One of the keys, as often as its weight says."""
        mark = self._random.random() * sum(weights.values())
        for key, weight in weights.items():
            mark -= weight
            if mark < 0:
                return key
        return key
