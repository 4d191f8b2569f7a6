"""The index on disk is a cache: compared with the catalogue at start, thrown away when unfit."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import numpy as np
import pytest

from tests.adapters.search.saving_process import SHELVED, numbered
from tests.registry.shelf import LONGEST_SECONDS, Shelf, open_shelf, running, tool
from toolcrib_adapters.search.engine import open_search
from toolcrib_adapters.search.index_file import IndexFile
from toolcrib_adapters.search.vector_cache import VectorCache
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.ports import StoredIndex
from toolcrib_registry.search import Search

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class LetterEncoder:
    """A small model of our own: counts letters. Stands for "another model" in these claims."""

    unrelated = 0.0
    reads_unspaced = False

    def __init__(self, name: str, dimensions: int) -> None:
        self.id, self.dimensions = name, dimensions
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.encoded += texts
        made = np.full((len(texts), self.dimensions), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for letter in text.encode():
                made[row, letter % self.dimensions] += 1
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return made


def letters(
    home: Path, name: str = "m1", dimensions: int = 64, spare: int = 2_000
) -> tuple[Search, LetterEncoder]:
    encoder = LetterEncoder(name, dimensions)
    (home / "index").mkdir(parents=True, exist_ok=True)
    store = IndexFile(home / "index" / "search.npz", encoder.id, encoder.dimensions)
    return Search(encoder, store, VectorCache(home / "index" / "vectors.db", spare)), encoder


async def restarted(shelf: Shelf, home: Path) -> Shelf:
    return await open_shelf(home, store=shelf.catalogue.store)


@pytest.mark.promise("search-index-agrees")
async def test_deleted_tools_are_not_found_by_their_exact_description(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(100)))
    gone = [numbered(n) for n in range(40)]
    await shelf.mark("retired", *(str(contract.id) for contract in gone))
    for after in (shelf, await restarted(shelf, tmp_path)):
        for contract in gone:
            found = (await after.ask(contract.description, contract.name)).tools
            assert contract.id not in found
            assert all(after.catalogue.snapshot.tools[id_].head is not None for id_ in found)


@pytest.mark.promise("search-index-agrees")
async def test_what_changed_while_nobody_looked_is_right_after_a_start(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(20)))
    store = shelf.catalogue.store
    elsewhere = await open_shelf(tmp_path / "other", store=store)
    await elsewhere.mark("retired", "kit/tool_3")
    await elsewhere.put(
        tool("tool_4", "Paints a wooden fence green."), tool("late", "Feeds a hungry cat.")
    )
    after = await restarted(shelf, tmp_path)
    assert (await after.names("paint the fence"))[0] == "tool_4"
    assert (await after.names("the cat is hungry"))[0] == "late"
    assert "tool_3" not in await after.names(numbered(3).description)
    old = await after.names(numbered(4).description, limit=1)
    assert old != ["tool_4"]


@pytest.mark.promise("search-index-agrees")
@pytest.mark.parametrize("content", ["truncated", "garbage", "empty", "other zip"])
async def test_a_damaged_index_is_made_anew_and_logged(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(20)))
    path = tmp_path / "index" / "search.npz"
    if content == "other zip":
        np.savez(path, facts=np.frombuffer(b"[]", np.uint8))
    else:
        kept = {"truncated": path.read_bytes()[:12], "garbage": b"x" * 999, "empty": b""}
        path.write_bytes(kept[content])
    with caplog.at_level(logging.WARNING):
        after = await restarted(shelf, tmp_path)
    assert "is damaged and is made anew" in caplog.text
    assert (await after.names(numbered(7).description))[0] == "tool_7"
    assert (await after.ask("x")).degraded is None


def kill_while_saving(home: Path) -> None:
    command = [sys.executable, "-m", "tests.adapters.search.saving_process", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(3):
            assert writer.stdout.readline() == b"saving\n"
        writer.send_signal(signal.SIGKILL)


def save_in_two_processes(home: Path) -> list[int]:
    command = [sys.executable, "-m", "tests.adapters.search.saving_process", str(home), "20"]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    return [process.wait(120) for process in both]


@pytest.mark.promise("search-killed-while-saving")
async def test_a_process_that_is_killed_while_saving_leaves_a_usable_index(tmp_path: Path) -> None:
    for _ in range(3):
        kill_while_saving(tmp_path)
        shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(SHELVED)))
        assert (await shelf.names(numbered(11).description))[0] == "tool_11"


async def test_what_killed_processes_left_behind_is_swept(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, numbered(1))
    old, young = (tmp_path / "index" / f"search.{pid}.new" for pid in (98, 99))
    for left in (old, young):
        left.write_bytes(b"half")
    os.utime(old, (0, 0))
    await shelf.search.save()
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.promise("search-two-processes")
async def test_two_processes_share_one_index_folder(tmp_path: Path) -> None:
    assert save_in_two_processes(tmp_path) == [0, 0]
    shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(SHELVED)))
    assert (await shelf.names(numbered(11).description))[0] == "tool_11"
    assert not list((tmp_path / "index").glob("*.new"))


@pytest.mark.promise("search-model-changed")
@pytest.mark.parametrize(("name", "dimensions"), [("m2", 64), ("m3", 96)])
async def test_another_model_means_words_only_until_its_vectors_are_made(
    tmp_path: Path, name: str, dimensions: int
) -> None:
    first, _ = letters(tmp_path)
    shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(40)), search=first)
    second, encoder = letters(tmp_path, name, dimensions)
    await second.open(shelf.catalogue.snapshot)
    after = Shelf(shelf.catalogue, second)
    answer = await after.ask(numbered(7).description)
    assert answer.degraded == "vectors building 0/40; until then the others are found by words only"
    assert answer.tools[0].name == "tool_7"
    assert encoder.encoded == []
    await after.finish_vectors()
    # Vectors of the first model were not taken for its own.
    assert len(set(encoder.encoded)) >= 80
    assert (await after.ask(numbered(7).description)).degraded is None


@pytest.mark.promise("search-model-changed")
async def test_other_text_rules_mean_another_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, _ = letters(tmp_path)
    shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(5)), search=search)
    for module in ("adapters.search.index_file", "registry.tool_vectors"):
        monkeypatch.setattr(f"toolcrib_{module}.TEMPLATE_VERSION", 999)
    again, encoder = letters(tmp_path)
    await again.open(shelf.catalogue.snapshot)
    assert (await Shelf(shelf.catalogue, again).ask("x")).degraded is not None
    await Shelf(shelf.catalogue, again).finish_vectors()
    assert encoder.encoded != []


@pytest.mark.promise("search-model-changed")
async def test_the_same_model_encodes_nothing_twice(tmp_path: Path) -> None:
    search, _ = letters(tmp_path)
    shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(5)), search=search)
    (tmp_path / "index" / "search.npz").unlink()
    again, encoder = letters(tmp_path)
    await open_shelf(tmp_path, store=shelf.catalogue.store, search=again)
    assert encoder.encoded == []


@pytest.mark.promise("search-model-missing")
async def test_a_model_that_cannot_be_loaded_means_words_only_and_costs_no_index(
    tmp_path: Path,
) -> None:
    shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(5)))
    before = (tmp_path / "index" / "search.npz").read_bytes()
    missing = f"sentence-transformers:{tmp_path / 'no-model-here'}"
    broken = await open_shelf(tmp_path, encoder=missing, store=shelf.catalogue.store)
    answer = await broken.ask(numbered(3).description)
    assert answer.tools[0].name == "tool_3"
    assert answer.degraded is not None
    assert answer.degraded.startswith("tools are found by words only: ")
    assert (tmp_path / "index" / "search.npz").read_bytes() == before


async def test_an_encoder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    for wanted in ("word2vec", "sentence-transformers:", ""):
        with pytest.raises(ToolError, match="use default, none or sentence-transformers:"):
            await open_search(tmp_path, wanted)


async def test_a_home_that_is_no_folder_costs_only_the_index(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    await open_search(tmp_path / "file")
    assert "no index can be kept" in caplog.text


async def test_an_index_that_cannot_be_written_costs_only_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = await open_shelf(tmp_path, numbered(1))
    (tmp_path / "index" / "search.npz").unlink()
    (tmp_path / "index" / "search.npz").mkdir()
    await shelf.search.save()
    assert "cannot be kept" in caplog.text
    assert (await shelf.names(numbered(1).description)) == ["tool_1"]


async def test_an_index_that_is_mostly_waste_is_made_anew(tmp_path: Path) -> None:
    search, _ = letters(tmp_path)
    shelf = await open_shelf(tmp_path, tool("tool_1", "Number 0."), search=search)
    for n in range(1, 830):
        await shelf.put(tool("tool_1", f"Number {n}."))
    await shelf.finish_vectors()
    again, _ = letters(tmp_path)
    await open_shelf(tmp_path, store=shelf.catalogue.store, search=again)
    with np.load(tmp_path / "index" / "search.npz") as arrays:
        assert b'"next_row": 1,' in arrays["facts"].tobytes()


def test_an_index_file_keeps_only_what_it_gave_out(tmp_path: Path) -> None:
    store = IndexFile(tmp_path / "x.npz", "none", 0)
    empty = store.empty()
    with pytest.raises(TypeError):
        store.saving(StoredIndex({}, 0, empty.keywords, object(), frozenset()))  # type: ignore[arg-type]


@pytest.mark.promise("unruly-lists")
async def test_vectors_of_former_tools_are_forgotten_while_the_crib_runs(tmp_path: Path) -> None:
    search, encoder = letters(tmp_path, spare=3)
    shelf = await open_shelf(tmp_path, *(numbered(n) for n in range(30)), search=search)
    await shelf.mark("retired", *(str(numbered(n).id) for n in range(25)))
    await shelf.put(*(numbered(n) for n in range(30, 40)))
    path = tmp_path / "index" / "vectors.db"
    async with running(shelf):
        with anyio.fail_after(LONGEST_SECONDS):
            while not 0 < vectors_in(path) < len(set(encoder.encoded)):
                await anyio.lowlevel.checkpoint()
    again, encoder = letters(tmp_path, name="m1")
    (tmp_path / "index" / "search.npz").unlink()
    shelf = await open_shelf(tmp_path, store=shelf.catalogue.store, search=again)
    assert encoder.encoded == []


def vectors_in(path: Path) -> int:
    connection = sqlite3.connect(path)
    count: int = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    connection.close()
    return count
