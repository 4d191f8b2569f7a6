"""What is remembered of vectors, beside other processes and after damage."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from toolcrib_adapters.search.vector_cache import VectorCache

if TYPE_CHECKING:
    from pathlib import Path

WRITER = """
import sys, numpy as np
from pathlib import Path
from toolcrib_adapters.search.vector_cache import VectorCache
cache, name = VectorCache(Path(sys.argv[1])), sys.argv[2]
for batch in range(30):
    cache.put({f"{name}-{batch}-{n}": np.full(8, n, np.float32) for n in range(20)})
"""


def vector(number: float) -> np.ndarray:
    return np.full(8, number, np.float32)


def test_what_was_put_is_found_by_another_process_object(tmp_path: Path) -> None:
    VectorCache(tmp_path / "v.db").put({f"k{n}": vector(n) for n in range(1_200)})
    found = VectorCache(tmp_path / "v.db").get([f"k{n}" for n in range(1_300)])
    assert len(found) == 1_200
    assert found["k7"].tolist() == vector(7).tolist()


@pytest.mark.promise("search-two-processes")
def test_two_processes_write_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b")
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    keys = [f"{name}-{batch}-{n}" for name in "ab" for batch in range(30) for n in range(20)]
    assert len(VectorCache(path).get(keys)) == len(keys)


@pytest.mark.parametrize("content", [b"no database at all" * 100, b""])
def test_a_damaged_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "v.db"
    path.write_bytes(content)
    cache = VectorCache(path)
    assert cache.get(["k"]) == {}
    cache.put({"k": vector(1)})
    assert cache.get(["k"])["k"].tolist() == vector(1).tolist()


def test_a_file_that_is_damaged_while_it_is_written_is_given_up_once(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    path.write_bytes(b"no database at all" * 100)
    cache = VectorCache(path)
    cache.put({"k": vector(1)})
    cache.put({"k": vector(1)})
    assert cache.get(["k"])["k"].tolist() == vector(1).tolist()


def test_a_place_that_cannot_be_used_costs_only_time(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "missing" / "v.db")
    cache.put({"k": vector(1)})
    assert cache.get(["k"]) == {}


@pytest.mark.promise("unruly-lists")
def test_vectors_that_no_tool_needs_are_forgotten_but_for_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    cache, live = VectorCache(path), [f"live{n}" for n in range(100)]
    cache.put({key: vector(1) for key in live})
    for batch in range(5):
        cache.put({f"{batch}-{n}": np.full(384, n, np.float32) for n in range(1_000)})
        cache.prune(lambda: live)
        if batch < 3:
            assert len(cache.get([f"0-{n}" for n in range(1_000)])) == 1_000
    size = path.stat().st_size
    assert len(cache.get(live)) == 100
    assert [len(cache.get([f"{b}-{n}" for n in range(1_000)])) for b in range(5)] == [
        *[0, 0, 0],
        *[1_000, 1_000],
    ]
    for batch in range(5, 15):
        cache.put({f"{batch}-{n}": np.full(384, n, np.float32) for n in range(1_000)})
        cache.prune(lambda: live)
    assert path.stat().st_size < 3 * size


@pytest.mark.promise("unruly-lists")
def test_live_vectors_are_kept_however_many_they_are(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "v.db")
    live = [f"live{n}" for n in range(5_000)]
    cache.put({key: vector(1) for key in live})
    cache.prune(lambda: live)
    assert len(cache.get(live)) == 5_000


def test_a_damaged_file_is_thrown_away_when_it_is_pruned(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    path.write_bytes(b"no database at all" * 100)
    cache = VectorCache(path)
    cache.prune(list)
    cache.put({"k": vector(1)})
    assert cache.get(["k"])["k"].tolist() == vector(1).tolist()
