"""How the two legs of a search become one order. Pure functions over arrays.

`0.7 x min-max(dense) + 0.3 x min-max(keyword)` per query beat reciprocal rank fusion on every set
we measured, because a weak keyword leg cannot pull down a good dense one. Names that stand in the
query always survive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from toolcrib_registry.search_text import is_unspaced, spelling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

DENSE_WEIGHT: Final = 0.7
UNSPACED_DENSE_WEIGHT: Final = 0.2
"""The shipped encoder knows English only: for Chinese and the like the words (pairs of characters) decide."""
_LONGEST_NAME_WORDS: Final = 8
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Legs:
    """What both legs say about the same candidate rows, for one text.

    Attributes:
        dense: similarity of each, or None without vectors.
        lowest: the least similarity over all allowed rows (over the candidates alone, min-max lost
            up to 6 points).
        keyword: BM25 score of each (0: no word in common).
    """

    dense: NDArray[np.float32] | None
    lowest: float
    keyword: NDArray[np.float32]


def fused(text: str, legs: Legs) -> NDArray[np.float32]:
    """One score in 0..1 for each candidate."""
    top = float(legs.keyword.max(initial=0.0))
    keyword = legs.keyword / top if top > 0 else legs.keyword
    if legs.dense is None or not len(legs.dense):
        return keyword
    highest = float(legs.dense.max())
    dense = (legs.dense - legs.lowest) / max(highest - legs.lowest, _TINY)
    weight = UNSPACED_DENSE_WEIGHT if is_unspaced(text) else DENSE_WEIGHT
    joined: NDArray[np.float32] = (weight * dense + (1 - weight) * keyword).astype(np.float32)
    return joined


def with_clauses(
    whole: NDArray[np.float32], clauses: Sequence[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """For a long query the best clause counts half: each of its steps gets its tool."""
    if not clauses:
        return whole
    joined: NDArray[np.float32] = 0.5 * whole + 0.5 * np.max(np.stack(clauses), axis=0)
    return joined


@dataclass(frozen=True, slots=True)
class NamedTools:
    """Tools whose names stand in a query.

    Attributes:
        first: rows that the query names on purpose, in the query's order: they come first.
        kept: rows whose names occur in a sentence: they keep a place.
    """

    first: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()


def named_in(
    query: str, rows_by_spelling: Mapping[str, Sequence[int]], allowed: Callable[[int], bool]
) -> NamedTools:
    """The tools that `query` names, in any spelling.

    A name is meant on purpose where the query is nothing but names, or where it is written as
    programs write it (`search_graph`, `fetchEmails`). A name of several plain words inside a
    sentence only keeps its place; a name of one plain word inside a sentence is just a word.
    """
    tokens = query.split()
    found: list[tuple[int, bool, Sequence[int]]] = []
    start = 0
    while start < len(tokens):
        length, rows = _longest_name(tokens, start, rows_by_spelling)
        if length:
            is_program_text = length == 1 and _is_program_text(tokens[start])
            found.append((length, is_program_text, [row for row in rows if allowed(row)]))
        start += max(length, 1)
    is_all_names = sum(length for length, _, _ in found) == len(tokens)
    first = [row for _, told, rows in found if told or is_all_names for row in rows]
    kept = [row for length, _, rows in found if length > 1 for row in rows]
    return NamedTools(
        tuple(dict.fromkeys(first)), tuple(r for r in dict.fromkeys(kept) if r not in first)
    )


def best(
    rows: NDArray[np.int64], scores: NDArray[np.float32], named: NamedTools, limit: int
) -> list[tuple[int, float, str]]:
    """The rows that are shown, each with its score and why: named ones first, then by score; none that was named is lost."""
    by_score = rows[np.argsort(-scores, kind="stable")[: limit + len(named.first)]].tolist()
    found = {row: float(score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)}
    shown = list(dict.fromkeys([*named.first, *by_score]))[:limit]
    absent = [row for row in named.kept if row not in shown][: max(limit - len(named.first) - 1, 0)]
    shown = [*shown[: limit - len(absent)], *absent]
    why = dict.fromkeys(named.kept, "name in the query") | dict.fromkeys(named.first, "named")
    return [
        (row, 1.0 if row in named.first else found.get(row, 0.0), why.get(row, "fits the query"))
        for row in shown
    ]


def _longest_name(
    tokens: Sequence[str], start: int, rows_by_spelling: Mapping[str, Sequence[int]]
) -> tuple[int, Sequence[int]]:
    for length in range(min(_LONGEST_NAME_WORDS, len(tokens) - start), 0, -1):
        rows = rows_by_spelling.get(spelling("".join(tokens[start : start + length])))
        if rows:
            return length, rows
    return 0, ()


def _is_program_text(token: str) -> bool:
    inner = token.strip("`'\"()[],.:;!?")
    return (
        "_" in inner or "/" in inner or any(c.isupper() for c in inner[1:]) or ("-" in inner[1:-1])
    )


def merged(rankings: Sequence[Sequence[int]], limit: int) -> list[int]:
    """A fair order over several queries: the first of each, then the second of each."""
    order: dict[int, None] = {}
    for place in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking):
                order.setdefault(ranking[place])
    return list(order)[:limit]
