"""What the keyword leg scores: BM25, whatever was added and removed before."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_adapters.search.keyword_index import K1, B, KeywordIndex

WORDS = st.lists(st.sampled_from(["mail", "send", "list", "file", "天气", "search"]), max_size=8)


def bm25(documents: dict[int, list[str]], query: list[str], size: int) -> list[float]:
    """The textbook's formula, slowly."""
    average = sum(max(len(words), 1) for words in documents.values()) / max(len(documents), 1)
    scores = [0.0] * size
    for word, repeated in Counter(query).items():
        having = [row for row, words in documents.items() if word in words]
        rarity = math.log(1 + (len(documents) - len(having) + 0.5) / (len(having) + 0.5))
        for row in having:
            count = documents[row].count(word)
            norm = K1 * (1 - B + B * max(len(documents[row]), 1) / max(average, 1))
            scores[row] += rarity * min(repeated, 2) * count * (K1 + 1) / (count + norm)
    return scores


@settings(max_examples=60)
@given(
    documents=st.lists(WORDS, max_size=12),
    removed=st.sets(st.integers(0, 11)),
    merged_after=st.integers(0, 12),
    query=WORDS,
)
def test_scores_are_those_of_bm25_over_what_is_there(
    documents: list[list[str]], removed: set[int], merged_after: int, query: list[str]
) -> None:
    index = KeywordIndex()
    for row, words in enumerate(documents):
        index.put(row, words)
        if row == merged_after:
            index._merge()
    for row in removed:
        index.remove(row)
        index.remove(row)
    there = {row: words for row, words in enumerate(documents) if row not in removed}
    expected = bm25(there, query, len(documents))
    again = KeywordIndex.restored(index.dump())
    for each in (index, again):
        assert each.scores(query, len(documents))[0].tolist() == pytest.approx(expected, rel=1e-4)


def test_coverage_weighs_rare_words_more() -> None:
    index = KeywordIndex()
    for row in range(10):
        index.put(row, ["list", "thing"])
    index.put(10, ["invoice"])
    shares = index.coverage(["list", "invoice"], 11)
    assert (shares[10] > 0.7, 0 < shares[0] < 0.3) == (True, True)
    assert index.coverage(["list", "nowhere"], 11).max() < 0.2
    assert not index.coverage([], 11).any()


def test_a_large_index_is_merged_by_itself_and_forgets_what_was_removed() -> None:
    index = KeywordIndex()
    for row in range(3_000):
        index.put(row, [f"word{row}", f"other{row % 7}", "all", "same"])
        if row % 2:
            index.remove(row)
    size = 3_000
    assert index.scores(["word10"], size)[0].argmax() == 10
    assert not index.scores(["word11"], size)[0].any()
    assert int((index.scores(["same"], size)[0] > 0).sum()) == size / 2


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    index = KeywordIndex()
    index.put(0, ["a", "b"])
    index._merge()
    arrays = index.dump()
    arrays["starts"] = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="do not belong together"):
        KeywordIndex.restored(arrays)
