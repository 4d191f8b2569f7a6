"""What the vector leg answers, whatever FAISS does with odd cases."""

from __future__ import annotations

import numpy as np
import pytest

from toolcrib_adapters.search.faiss_index import FaissIndex
from toolcrib_protocol.errors import ToolError

DIMENSIONS = 16


def unit_vectors(count: int, seed: int = 1) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    lengths: np.ndarray = np.linalg.norm(made, axis=1, keepdims=True)
    made /= lengths
    return made


def filled(count: int, small: int = 50_000) -> tuple[FaissIndex, np.ndarray]:
    index, vectors = FaissIndex(DIMENSIONS, small=small), unit_vectors(count)
    index.put(np.arange(count, dtype=np.int64), vectors)
    return index, vectors


def test_the_nearest_come_first_with_their_similarities() -> None:
    index, vectors = filled(50)
    rows, scores = index.nearest(vectors[7], 3, None)
    truth = np.argsort(-(vectors @ vectors[7]))[:3]
    assert rows.tolist() == truth.tolist()
    assert scores == pytest.approx((vectors @ vectors[7])[truth], abs=1e-5)


def test_an_empty_index_and_a_question_for_too_many_give_no_padding() -> None:
    empty, (index, vectors) = FaissIndex(DIMENSIONS), filled(4)
    assert empty.nearest(vectors[0], 5, None)[0].tolist() == []
    assert sorted(index.nearest(vectors[0], 99, None)[0].tolist()) == [0, 1, 2, 3]
    assert index.nearest(vectors[0], 5, np.zeros(0, np.int64))[0].tolist() == []
    assert index.nearest(vectors[0], 5, np.array([77], np.int64))[0].tolist() == []


def test_only_allowed_rows_are_looked_at() -> None:
    index, vectors = filled(50)
    rows, _ = index.nearest(vectors[7], 50, np.array([3, 9, 20], np.int64))
    assert sorted(rows.tolist()) == [3, 9, 20]
    assert index.lowest(vectors[7], np.array([7], np.int64)) == pytest.approx(1.0, abs=1e-5)
    assert index.lowest(vectors[7], np.array([77], np.int64)) == 0.0


def test_a_row_that_is_put_twice_is_there_once() -> None:
    index, vectors = filled(5)
    index.put(np.array([2], np.int64), vectors[[4]])
    assert len(index) == 5
    assert sorted(index.nearest(vectors[4], 2, None)[0].tolist()) == [2, 4]


def test_a_removed_row_is_gone_and_removing_it_again_does_nothing() -> None:
    index, vectors = filled(5)
    for _ in range(2):
        index.remove(np.array([2, 99], np.int64))
    assert 2 not in index.nearest(vectors[2], 5, None)[0]
    assert not index.vectors(np.array([2], np.int64)).any()
    assert index.vectors(np.array([1, 2], np.int64))[0] == pytest.approx(vectors[1])


def test_vectors_of_another_dimension_are_refused_in_words() -> None:
    index, _ = filled(5)
    with pytest.raises(ToolError, match="do not fit an index of 16 dimensions"):
        index.put(np.array([9], np.int64), np.zeros((1, 3), np.float32))
    index.put(np.zeros(0, np.int64), np.zeros((0, 3), np.float32))
    assert len(index) == 5


def test_a_large_index_becomes_compact_and_answers_nearly_the_same() -> None:
    exact, vectors = filled(200)
    compact, _ = filled(100, small=150)
    compact.put(np.arange(100, 200, dtype=np.int64), vectors[100:])
    compact.remove(np.array([5], np.int64))
    exact.remove(np.array([5], np.int64))
    assert len(compact.dump()) < len(exact.dump()) / 2
    for query in unit_vectors(20, seed=2):
        assert exact.nearest(query, 1, None)[0][0] in compact.nearest(query, 3, None)[0]


def test_the_lowest_of_many_rows_is_nearly_the_lowest() -> None:
    index, vectors = filled(5_000)
    rows, query = np.arange(5_000, dtype=np.int64), unit_vectors(1, seed=3)[0]
    truth = float((vectors @ query).min())
    assert index.lowest(query, rows[:900]) == pytest.approx(
        float((vectors[:900] @ query).min()), abs=1e-5
    )
    assert truth <= index.lowest(query, rows) <= truth + 0.3


def test_a_dump_comes_back_and_anything_else_is_refused() -> None:
    index, vectors = filled(5)
    written = index.dump()
    again = FaissIndex.restored(written, DIMENSIONS)
    again.remove(np.array([0], np.int64))
    assert again.nearest(vectors[3], 1, None)[0].tolist() == [3]
    for broken, dimensions in ((written[:40], DIMENSIONS), (written, DIMENSIONS + 1)):
        with pytest.raises(ValueError, match="vector index"):
            FaissIndex.restored(broken, dimensions)
