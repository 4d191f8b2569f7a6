"""How the two legs of a search become one order, and whether anything fits at all.

`0.6 x min-max(dense) + 0.4 x keyword` per query beats reciprocal rank fusion on every set we
measured, because a weak keyword leg cannot pull down a good dense one. Pure functions over arrays;
used by `search`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from toolcrib_registry.named_tools import NamedTools

DENSE_WEIGHT: Final = 0.6
_CLAUSE_WEIGHT: Final = 0.4
_LEAST_FULL: Final = 0.3
"""A tool that has this share of a query's words, by their rarity, can have the full keyword score.

Where the best tool has less, all scores are small: that one common word of ten occurs somewhere is
no reason to set that tool above those that mean the same. These constants are those that did best
on average over twelve public sets, and on either half of their queries.
"""
_LOOKED_AT: Final = 2
_TINY: Final = 1e-9
Ranked = TypeVar("Ranked")


class Fit(Enum):
    """Whether the best tools have anything to do with a query."""

    GOOD = "good"
    WEAK = "weak"
    NONE = "none"


# Calibrated by `benchmarks/search_floor.py` on public sets; docs/benchmarks.md has the figures.
# Hiding the right tool costs more than showing a wrong one, so the floor is low and what lies a
# little above it is shown as weak.
_WEAK: Final = 0.31
_FLOOR: Final = 0.15
_FLOOR_WITHOUT_WORDS: Final = 0.27
"""Gibberish is as similar to some tool as a paraphrase can be; it shares no word with any."""


def fit(similarity: float | None, coverage: Callable[[], float]) -> Fit:
    """How well the best tools fit.

    Args:
        similarity: of the query and the nearest tool, 0 being that of unrelated texts; None where
            there are only words.
        coverage: the share of the query's words, by their weight, that one tool has; asked only
            where the similarity does not decide alone.
    """
    if similarity is None:
        return Fit.NONE if coverage() == 0 else Fit.GOOD
    if similarity >= _WEAK:
        return Fit.GOOD
    covered = coverage()
    floor = _FLOOR if covered > 0 else _FLOOR_WITHOUT_WORDS
    certainty = similarity + covered / 2
    if certainty < floor:
        return Fit.NONE
    return Fit.WEAK if certainty < _WEAK else Fit.GOOD


@dataclass(frozen=True, slots=True)
class Legs:
    """What both legs say about the same candidate rows, for one text.

    Attributes:
        dense: similarity of each, NaN for those whose vector is not made yet; or None without
            vectors.
        lowest: the least similarity over all allowed rows (over the candidates alone, min-max lost
            up to 6 points).
        keyword: BM25 score of each (0: no word in common).
        full: about the BM25 score of a row with all words, whether or not there is one.
    """

    dense: NDArray[np.float32] | None
    lowest: float
    keyword: NDArray[np.float32]
    full: float

    @property
    def highest(self) -> float:
        """The greatest similarity; 0 where there is none."""
        known = self.dense[~np.isnan(self.dense)] if self.dense is not None else np.zeros(0)
        return float(known.max()) if len(known) else 0.0


def fused(legs: Legs) -> NDArray[np.float32]:
    """One score in 0..1 for each candidate."""
    top = float(legs.keyword.max(initial=0.0))
    keyword = legs.keyword / top if top > 0 else legs.keyword
    if legs.dense is None:
        return keyword
    keyword = keyword * min(top / max(_LEAST_FULL * legs.full, _TINY), 1.0)
    spread = legs.highest - legs.lowest
    dense = (legs.dense - legs.lowest) / max(spread, _TINY)
    # What has no vector yet stands for itself by its words: as 0 it would lose to noise.
    dense = np.where(np.isnan(dense), keyword, dense)
    joined: NDArray[np.float32] = (DENSE_WEIGHT * dense + (1 - DENSE_WEIGHT) * keyword).astype(
        np.float32
    )
    return joined


def with_clauses(
    whole: NDArray[np.float32], clauses: Sequence[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """For a long query the best clause counts too: each of its steps gets its tool."""
    if not clauses:
        return whole
    best = np.max(np.stack(clauses), axis=0)
    joined: NDArray[np.float32] = (1 - _CLAUSE_WEIGHT) * whole + _CLAUSE_WEIGHT * best
    return joined


@dataclass(frozen=True, slots=True)
class Choice:
    """A row that is shown, its score in 0..1, and why."""

    row: int
    score: float
    why: str


def chosen(
    ranked: Sequence[tuple[int, float]], named: NamedTools, limit: int, why: str
) -> list[Choice]:
    """The rows that are shown: those named on purpose, then by score; none that was named is lost.

    Args:
        ranked: rows with their scores, best first.
        named: rows whose names stand in the query.
        limit: how many are shown.
        why: said of those that were not named.
    """
    scores = dict(ranked)
    shown = list(dict.fromkeys([*named.first, *scores]))[:limit]
    absent = [row for row in named.kept if row not in shown]
    absent = absent[: max(limit - len(named.first) - 1, 0)]
    shown = [*shown[: limit - len(absent)], *absent]
    reasons = dict.fromkeys(named.kept, "name in the query") | dict.fromkeys(named.first, "named")
    return [
        Choice(row, 1.0 if row in named.first else scores.get(row, 0.0), reasons.get(row, why))
        for row in shown
    ]


def diversified(
    ranked: Sequence[tuple[int, float]], limit: int, says: Callable[[int], Hashable]
) -> list[tuple[int, float]]:
    """The best rows in their order, but those that say the same as a better one behind the others.

    Ten copies of one server must not fill an answer. Looks at a few times as many rows as are
    shown. `says` is what a row says.
    """
    head = ranked[: _LOOKED_AT * limit]
    first = {says(row): row for row, _ in reversed(head)}
    kept = [(row, score) for row, score in head if first[says(row)] == row]
    return [*kept, *(pair for pair in head if pair not in kept)]


def merged(rankings: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """A fair order over several queries: the first of each, then the second of each."""
    order: dict[Ranked, None] = {}
    for place in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking):
                order.setdefault(ranking[place])
    return list(order)
