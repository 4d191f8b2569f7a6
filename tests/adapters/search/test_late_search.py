"""A search that is loaded while the crib already answers."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.samples import published, version
from toolcrib_adapters.main import open_crib, open_store
from toolcrib_adapters.search.late_search import LateSearch
from toolcrib_adapters.settings import CribSettings
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.questions import SearchRequest

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_registry.changes import Change
    from toolcrib_registry.questions import ToolSearch
    from toolcrib_registry.snapshot import Snapshot

AN_HOUR = 3_600.0
FIRST_ANSWER = """
import sys
from pathlib import Path
import anyio
from mcp.client import Client
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.mcp_server import build_server

async def first_answer():
    settings = CribSettings(home=Path(sys.argv[1]))
    async with open_crib(settings, head_start_seconds=3600) as crib:
        async with Client(build_server(crib.catalogue, crib.calls, crib.search)) as client:
            print(*[tool.name for tool in (await client.list_tools()).tools])
            print(*sorted({"faiss", "numpy", "onnxruntime", "tokenizers"} & set(sys.modules)))

anyio.run(first_answer)
"""


def new_tool(name: str, text: str, _snapshot: Snapshot) -> list[Change]:
    return published(version(name, text=text))


async def found(search: ToolSearch, query: str) -> list[str]:
    answer = await search.ask(SearchRequest((query,)))
    return [str(hit.tool) for hit in answer.queries[0].hits]


@pytest.mark.promise("serve-first-answer")
def test_the_tool_list_is_answered_before_encoder_and_index_are_loaded(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_ANSWER, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    listed, loaded = done.stdout.splitlines()
    assert "search_tools" in listed, done.stderr
    assert loaded == ""


@pytest.mark.promise("serve-first-answer")
async def test_a_question_is_answered_however_early_it_is_asked(tmp_path: Path) -> None:
    settings = CribSettings(home=tmp_path, encoder="none")
    async with open_store(settings) as store:
        await store.commit(published(version(text="Send a letter.")), 0)
    async with open_crib(settings, head_start_seconds=AN_HOUR) as crib:
        with anyio.fail_after(60):
            assert await found(crib.search, "send a letter") == ["mail/send"]


async def test_what_changes_before_and_after_the_search_is_open_is_found(tmp_path: Path) -> None:
    search = LateSearch(tmp_path, "none")
    catalogue = await Catalogue.open(MemoryStore(), (search,))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search.run, catalogue, AN_HOUR)
        assert "being loaded" in (search.shortcoming or "")
        await catalogue.change(partial(new_tool, "read", "Read a letter."))
        assert await found(search, "read a letter") == ["mail/read"]
        await catalogue.change(partial(new_tool, "burn", "Burn a parcel."))
        assert await found(search, "burn a parcel") == ["mail/burn"]
        assert search.shortcoming is None
        await search.save()
        assert [progress async for progress in search.building()] == []
        tasks.cancel_scope.cancel()
    assert (tmp_path / "index" / "words.npz").exists()


async def test_changes_while_the_index_is_loaded_are_not_lost(tmp_path: Path) -> None:
    search = LateSearch(tmp_path, "none")
    catalogue = await Catalogue.open(MemoryStore(), (search,))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search.open, catalogue)
        for number in range(20):
            await anyio.lowlevel.checkpoint()
            text = f"Pack parcel number{number}."
            await catalogue.change(partial(new_tool, f"tool-{number}", text))
    for number in range(20):
        assert (await found(search, f"number{number}"))[0] == f"mail/tool-{number}"


def test_an_encoder_there_is_not_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as refused:
        LateSearch(tmp_path, "nope")
    assert refused.value.code == INVALID_SETTINGS


async def test_questions_are_answered_where_no_index_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("not a folder")
    settings = CribSettings(home=tmp_path, encoder="none")
    async with open_store(settings) as store:
        await store.commit(published(version(text="Send a letter.")), 0)
    async with open_crib(settings) as crib:
        with anyio.fail_after(60):
            assert await found(crib.search, "send a letter") == ["mail/send"]
    assert (tmp_path / "index").read_text() == "not a folder"
