"""BM25 that can add and remove: an immutable segment of arrays, and a small live one over it.

bm25s scores fast but cannot change; a plain inverted index in Python scores slowly. Here most rows
lie in arrays sorted by term (scoring is a few vector additions), new rows in dictionaries until
there are enough of them to be merged. Removed rows keep their place and score nothing.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

K1: Final = 1.2
B: Final = 0.75
"""The usual constants of BM25 (Robertson and Zaragoza, 2009)."""
_MERGE_SHARE: Final = 0.1
_MERGE_LEAST: Final = 500


class KeywordIndex:
    """A `toolcrib_registry.ports.KeywordIndex`; used from one thread at a time."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._starts = np.zeros(1, np.int64)
        self._rows = np.zeros(0, np.int32)
        self._counts = np.zeros(0, np.float32)
        self._lengths = np.zeros(0, np.float32)
        self._live: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._live_postings = 0

    def put(self, row: int, words: Sequence[str]) -> None:
        """Index `words` under a row number that was never used before."""
        counted = Counter(words)
        for word, count in counted.items():
            self._live[word].append((row, count))
        self._live_postings += len(counted)
        if row >= len(self._lengths):
            grown = np.zeros(max(row + 1, len(self._lengths) * 2, 64), np.float32)
            grown[: len(self._lengths)] = self._lengths
            self._lengths = grown
        self._lengths[row] = max(len(words), 1)
        if self._live_postings > max(_MERGE_LEAST * 20, len(self._rows) * _MERGE_SHARE):
            self.merge()

    def remove(self, row: int) -> None:
        """Forget a row; its postings go at the next merge."""
        if row < len(self._lengths):
            self._lengths[row] = 0

    def scores(self, words: Sequence[str], size: int) -> NDArray[np.float32]:
        """The BM25 score of each of the first `size` rows."""
        lengths = self._lengths[:size]
        total = np.zeros(size, np.float32)
        present = lengths > 0
        documents = int(present.sum())
        if not documents or not words:
            return total
        average = float(lengths.sum()) / documents
        norms = K1 * (1 - B + B * lengths / average)
        for word, repeated in Counter(words).items():
            rows, counts = self._postings(word, size)
            if len(rows):
                frequency = len(rows)
                idf = (
                    math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
                    if (frequency <= documents)
                    else 0.0
                )
                weight = counts * (K1 + 1) / (counts + norms[rows])
                total[rows] += weight * (idf * min(repeated, 2))
        total[~present] = 0
        return total

    def merge(self) -> None:
        """Bring the live rows into the arrays and drop removed ones."""
        terms = list(self._terms)
        old_ids = np.repeat(np.arange(len(terms), dtype=np.int64), np.diff(self._starts))
        ids = dict(self._terms)
        added_ids: list[int] = []
        added: list[tuple[int, int]] = []
        for word, postings in self._live.items():
            added_ids.extend([ids.setdefault(word, len(ids))] * len(postings))
            added.extend(postings)
        all_ids = np.concatenate([old_ids, np.array(added_ids, np.int64)])
        fresh = np.array(added, np.int64).reshape(-1, 2)
        all_rows = np.concatenate([self._rows, fresh[:, 0].astype(np.int32)])
        all_counts = np.concatenate([self._counts, fresh[:, 1].astype(np.float32)])
        kept = self._lengths[all_rows] > 0
        all_ids, all_rows, all_counts = all_ids[kept], all_rows[kept], all_counts[kept]
        order = np.argsort(all_ids, kind="stable")
        self._terms = ids
        self._starts = np.concatenate(
            [[0], np.cumsum(np.bincount(all_ids, minlength=len(ids)))]
        ).astype(np.int64)
        self._rows, self._counts = all_rows[order], all_counts[order]
        self._live.clear()
        self._live_postings = 0

    def _postings(self, word: str, size: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        term = self._terms.get(word)
        rows, counts = self._rows[:0], self._counts[:0]
        if term is not None:
            here = slice(int(self._starts[term]), int(self._starts[term + 1]))
            rows, counts = self._rows[here], self._counts[here]
        live = self._live.get(word)
        if live:
            fresh = np.array(live, np.int64)
            rows = np.concatenate([rows, fresh[:, 0].astype(np.int32)])
            counts = np.concatenate([counts, fresh[:, 1].astype(np.float32)])
        inside = rows < size
        return rows[inside], counts[inside]

    def dump(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a file."""
        self.merge()
        return {
            "terms": np.frombuffer("\n".join(self._terms).encode(), np.uint8),
            "starts": self._starts,
            "rows": self._rows,
            "counts": self._counts,
            "lengths": self._lengths,
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> KeywordIndex:
        """The index that `dump` wrote.

        Raises:
            KeyError, ValueError: the arrays are not of one index.
        """
        index = cls()
        written = arrays["terms"].tobytes().decode()
        index._terms = {term: i for i, term in enumerate(written.split("\n"))} if written else {}
        index._starts, index._rows = arrays["starts"], arrays["rows"]
        index._counts, index._lengths = arrays["counts"], arrays["lengths"].copy()
        if len(index._starts) != len(index._terms) + 1 or len(index._rows) != index._starts[-1]:
            raise ValueError("the arrays of the keyword index do not belong together")
        return index
