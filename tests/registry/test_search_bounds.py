"""What search remembers and looks at is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import numpy as np

from tests.registry.shelf import open_shelf, running, tool
from toolcrib_protocol.names import ToolId
from toolcrib_registry.search import MOST_QUERIES
from toolcrib_registry.search_queries import QueryReader
from toolcrib_registry.search_text import words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class CountingEncoder:
    """Gives every text the same vector and counts the texts."""

    id, dimensions, unrelated, reads_unspaced = "counting", 2, 0.0, False

    def __init__(self) -> None:
        self.texts = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += len(texts)
        return np.ones((len(texts), 2), np.float32)


def test_vectors_of_queries_are_remembered_but_not_for_ever() -> None:
    encoder = CountingEncoder()
    reader = QueryReader(encoder)
    for _ in range(2):
        reader.read(["the first query", "the first query"], with_vectors=True)
    assert encoder.texts == 1
    reader.read([f"query {n}" for n in range(5_000)], with_vectors=True)
    reader.read(["the first query"], with_vectors=True)
    assert encoder.texts == 5_002


async def test_answers_are_remembered_but_not_for_ever(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, tool("send_mail", "Sends mail."), encoder="none")
    first = await shelf.ask("mail")
    for start in range(0, 4_200, MOST_QUERIES):
        await shelf.ask(*(f"mail {n}" for n in range(start, start + MOST_QUERIES)))
    again = await shelf.ask("mail")
    assert again == first
    assert again.queries[0] is not first.queries[0]


async def test_no_more_than_eight_queries_are_answered(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, tool("send_mail", "Sends mail."), encoder="none")
    assert len((await shelf.ask(*["mail"] * 20)).queries) == MOST_QUERIES


async def test_the_best_of_many_that_share_a_word_come_first(tmp_path: Path) -> None:
    many = [tool(f"thing_{n}", "Sends mail somewhere, somehow, to someone.") for n in range(300)]
    best = tool("courier", "Mail.")
    shelf = await open_shelf(tmp_path, *many, best, encoder="none")
    assert (await shelf.names("mail"))[0] == "courier"


async def test_of_two_tools_of_one_name_the_other_stays(tmp_path: Path) -> None:
    twins = [tool("run_query", "Runs SQL.", group) for group in ("east", "west")]
    shelf = await open_shelf(tmp_path, *twins, encoder="none")
    await shelf.mark("retired", "east/run_query")
    assert (await shelf.ask("run_query")).tools == (ToolId("west", "run_query"),)


async def test_an_index_of_words_is_kept_as_well(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, encoder="none")
    stored = anyio.Path(tmp_path, "index", "words.npz")
    async with running(shelf):
        await shelf.put(tool("send_mail", "Sends mail."))
        with anyio.fail_after(30):
            while not await stored.exists():
                await anyio.lowlevel.checkpoint()
    again = await open_shelf(tmp_path, store=shelf.catalogue.store, encoder="none")
    assert await again.names("mail") == ["send_mail"]


def test_words_are_folded_split_and_never_empty_for_want_of_rare_ones() -> None:
    assert words("listPullRequests, HTTPServer2Queries") == [
        *("list", "pull", "request", "http", "server", "2", "query"),
    ]
    assert words("Ünïcode ＦＵＬＬ naïve buses is us") == ["unicod", "full", "naiv", "buse", "us"]
    assert words("what is it") == ["what", "is", "it"]
    assert words("查天气abc的天") == ["查天", "天气", "abc", "的天"]
    assert words("天") == ["天"]
    assert words("été天气über") == ["ete", "天气", "uber"]
    assert words("жук天气 天气жук") == ["жук", "天气", "天气", "жук"]
