"""BM25 that can add and remove: an immutable segment of arrays, and a small live one over it.

bm25s scores fast but cannot change; an inverted index in plain Python scores slowly. Here most rows
lie in arrays sorted by term (scoring is a few vector additions), new rows in dictionaries until
there are enough of them to be merged. Removed rows keep their place and score nothing.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

K1: Final = 1.2
B: Final = 0.4
"""Of BM25 (Robertson and Zaragoza, 2009). A long contract has parameters, not padding, so length
counts less than the usual 0.75; nine public sets gained up to 2 points of nDCG by it."""
_MERGE_SHARE: Final = 0.25
_MERGE_LEAST: Final = 10_000
"""Live postings are merged when there are this many, and this share of the merged ones."""


@dataclass(slots=True)
class _Postings:
    """The rows that have a word, and how often; arrays, so that numpy reads them as they are."""

    rows: array[int] = field(default_factory=lambda: array("i"))
    counts: array[float] = field(default_factory=lambda: array("f"))

    def add(self, row: int, count: int) -> None:
        self.rows.append(row)
        self.counts.append(count)


class KeywordIndex:
    """A `toolcrib_registry.ports.KeywordIndex`; used from one thread at a time."""

    def __init__(self) -> None:
        """An empty index."""
        self._terms: dict[str, int] = {}
        self._starts = np.zeros(1, np.int64)
        self._rows = np.zeros(0, np.int32)
        self._counts = np.zeros(0, np.float32)
        self._live: dict[str, _Postings] = defaultdict(_Postings)
        self._live_postings = 0
        self._lengths = np.zeros(0, np.float32)
        """Words of each row; 0 for rows that are not there."""
        self._has_removed = False
        self._documents = 0
        self._total_length = 0.0

    def put(self, row: int, words: Sequence[str]) -> None:
        """Index `words` under a row number that was never used before."""
        counted = Counter(words)
        for word, count in counted.items():
            self._live[word].add(row, count)
        self._live_postings += len(counted)
        if row >= len(self._lengths):
            grown = np.zeros(max(row + 1, len(self._lengths) * 2, 64), np.float32)
            grown[: len(self._lengths)] = self._lengths
            self._lengths = grown
        self._lengths[row] = max(len(words), 1)
        self._documents += 1
        self._total_length += float(self._lengths[row])
        if self._live_postings > max(_MERGE_LEAST, len(self._rows) * _MERGE_SHARE):
            self._merge()

    def remove(self, row: int) -> None:
        """Forget a row; its postings go at the next merge."""
        if row < len(self._lengths) and self._lengths[row]:
            self._documents -= 1
            self._total_length -= float(self._lengths[row])
            self._lengths[row] = 0
            self._has_removed = True

    def scores(self, words: Sequence[str], size: int) -> tuple[NDArray[np.float32], float]:
        """The BM25 score of each of the first `size` rows, and about that of one with all words."""
        total = np.zeros(size, np.float32)
        full = 0.0
        average = self._total_length / max(self._documents, 1)
        for word, repeated in Counter(words).items():
            rows, counts = self._postings(word)
            norms = K1 * (1 - B + B * self._lengths[rows] / max(average, 1.0))
            rarity = self._rarity(len(rows))
            full += rarity
            total[rows] += rarity * min(repeated, 2) * (K1 + 1) * counts / (counts + norms)
        return total, full

    def coverage(self, words: Sequence[str], size: int) -> NDArray[np.float32]:
        """How much of the words, by their rarity, each of the first `size` rows has; 0..1."""
        covered = np.zeros(size, np.float32)
        total = 0.0
        for word in set(words):
            rows, _ = self._postings(word)
            rarity = self._rarity(len(rows))
            covered[rows] += rarity
            total += rarity
        return covered / max(total, 1.0)

    def _rarity(self, rows: int) -> float:
        """What a word that occurs in so many rows is worth (inverse document frequency)."""
        return math.log(1 + (self._documents - rows + 0.5) / (rows + 0.5))

    def _postings(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The rows that have `word`, and how often."""
        term = self._terms.get(word)
        rows, counts = self._rows[:0], self._counts[:0]
        if term is not None:
            here = slice(int(self._starts[term]), int(self._starts[term + 1]))
            rows, counts = self._rows[here], self._counts[here]
        live = self._live.get(word)
        if live is not None:
            rows = np.concatenate([rows, np.frombuffer(live.rows, np.int32)])
            counts = np.concatenate([counts, np.frombuffer(live.counts, np.float32)])
        if not self._has_removed:
            return rows, counts
        there = self._lengths[rows] > 0
        return rows[there], counts[there]

    def _merge(self) -> None:
        """Bring the live rows into the arrays and drop removed ones."""
        ids = dict(self._terms)
        old_ids = np.repeat(np.arange(len(ids), dtype=np.int64), np.diff(self._starts))
        live_ids = [ids.setdefault(word, len(ids)) for word in self._live]
        lengths, live_rows, live_counts = self._live_arrays()
        all_ids = np.concatenate([old_ids, np.repeat(np.array(live_ids, np.int64), lengths)])
        all_rows = np.concatenate([self._rows, live_rows])
        all_counts = np.concatenate([self._counts, live_counts])
        kept = self._lengths[all_rows] > 0
        all_ids, all_rows, all_counts = all_ids[kept], all_rows[kept], all_counts[kept]
        order = np.argsort(all_ids, kind="stable")
        ends = np.cumsum(np.bincount(all_ids, minlength=len(ids)))
        self._terms, self._starts = ids, np.concatenate([[0], ends]).astype(np.int64)
        self._rows, self._counts = all_rows[order], all_counts[order]
        self._live.clear()
        self._live_postings = 0
        self._has_removed = False

    def _live_arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """Postings of each live word, and all of them in that order: rows and counts."""
        rows, counts = array("i"), array("f")
        for postings in self._live.values():
            rows.extend(postings.rows)
            counts.extend(postings.counts)
        lengths = [len(postings.rows) for postings in self._live.values()]
        return (
            np.array(lengths, np.int64),
            np.frombuffer(rows, np.int32),
            np.frombuffer(counts, np.float32),
        )

    def dump(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a file; a copy that later changes leave alone."""
        lengths, rows, counts = self._live_arrays()
        return {
            "terms": _joined(self._terms),
            "starts": self._starts,
            "rows": self._rows,
            "counts": self._counts,
            "live_terms": _joined(self._live),
            "live_lengths": lengths,
            "live_rows": rows,
            "live_counts": counts,
            "lengths": self._lengths.copy(),
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> KeywordIndex:
        """The index that `dump` wrote.

        Raises:
            KeyError, ValueError: the arrays are not of one index.
        """
        index = cls()
        index._terms = {term: number for number, term in enumerate(_split(arrays["terms"]))}
        index._starts, index._rows = arrays["starts"], arrays["rows"]
        index._counts, index._lengths = arrays["counts"], arrays["lengths"]
        if len(index._starts) != len(index._terms) + 1 or len(index._rows) != index._starts[-1]:
            raise ValueError("the arrays of the keyword index do not belong together")
        rows, counts = arrays["live_rows"], arrays["live_counts"]
        ends = np.cumsum(arrays["live_lengths"]).tolist()
        starts = [0, *ends][: len(ends)]
        for word, start, end in zip(_split(arrays["live_terms"]), starts, ends, strict=True):
            index._live[word] = _Postings(
                array("i", rows[start:end].tobytes()), array("f", counts[start:end].tobytes())
            )
        index._live_postings = len(rows)
        index._has_removed = True
        index._documents = int((index._lengths > 0).sum())
        index._total_length = float(index._lengths.sum(dtype=np.float64))
        return index


def _joined(words: Mapping[str, object]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(words).encode(), np.uint8)


def _split(written: NDArray[np.uint8]) -> list[str]:
    text = written.tobytes().decode()
    return text.split("\n") if text else []
