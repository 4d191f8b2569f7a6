"""Registering tools from outside while the server runs."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import call_raw, over_http, post, raw_request
from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.sources.python_functions.source import PythonFunctions
from toolcrib_adapters.sources.supervisor import Supervisor
from toolcrib_adapters.surfaces.publish_method import PublishWish
from toolcrib_adapters.surfaces.publisher import CribPublisher
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject

GREETING = '''
from toolcrib_protocol.function_tool import tool

@tool(group="hello")
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello {name}"
'''


@asynccontextmanager
async def publishing_bench() -> AsyncIterator[tuple[Bench, str]]:
    """A bench that accepts publications, and its URL."""
    bench = await Bench.open()
    clock = SystemClock()
    store = MemoryStore()

    def open_python(record: SourceRecord) -> PythonFunctions:
        return PythonFunctions(record, environment=os.environ, clock=clock)

    supervisor = Supervisor(
        {SourceKind.PYTHON: open_python},
        store,
        clock,
        crib="test",
        wants=lambda record: record.kind is SourceKind.PYTHON,
    )
    bench.catalogue.followers = (supervisor,)
    publisher = CribPublisher(bench.catalogue, supervisor, clock)
    async with anyio.create_task_group() as tasks:
        await tasks.start(supervisor.run, bench.catalogue)
        async with over_http(bench.server(publisher=publisher)) as url:
            yield bench, url
        tasks.cancel_scope.cancel()


async def publish(url: str, params: JsonObject) -> JsonObject:
    async with httpx2.AsyncClient(timeout=60) as http:
        response = await post(http, url, raw_request("toolcrib/publish", params))
    message: JsonObject = response.json()
    return message


def result_of(message: JsonObject) -> JsonObject:
    result = message["result"]
    assert isinstance(result, dict)
    return {key: result[key] for key in ("published", "quarantined", "revision")}


def error_of(message: JsonObject) -> JsonObject:
    error = message["error"]
    assert isinstance(error, dict)
    data = error["data"]
    assert isinstance(data, dict)
    assert error["message"] == data["message"]
    return data


@pytest.mark.promise("surface-publish")
async def test_published_entries_are_tools_at_once_and_stay_the_same_when_published_again() -> None:
    entries: list[JsonObject] = [
        {"name": "note", "description": "Notes.", "inputSchema": {"type": "object"}},
        {"name": "bad", "inputSchema": 7},
    ]
    async with publishing_bench() as (bench, url):
        wish: JsonObject = {"source": "notes", "kind": "snapshot", "entries": [*entries]}
        first = result_of(await publish(url, wish))
        again = result_of(await publish(url, wish))
        called = await call_raw(url, "describe_tools", {"names": ["notes__note"]})
    note = {"reference": "notes/note@1.0.0", "published_name": "notes__note"}
    assert first["published"] == [{**note, "status": "added"}]
    assert again["published"] == [{**note, "status": "unchanged"}]
    assert first["revision"] == again["revision"] == bench.catalogue.snapshot.revision
    quarantined = first["quarantined"]
    assert isinstance(quarantined, list)
    assert [entry["name"] for entry in quarantined if isinstance(entry, dict)] == ["bad"]
    assert "isError" not in called


@pytest.mark.promise("surface-publish")
async def test_a_python_file_is_published_and_loaded_before_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "hello.py"
    file.write_text(GREETING)
    async with publishing_bench() as (_, url):
        wish: JsonObject = {"source": "hello", "kind": "python", "target": str(file)}
        first = result_of(await publish(url, wish))
        again = result_of(await publish(url, wish))
    assert first["published"] == [
        {"reference": "hello/greet@1.0.0", "published_name": "hello__greet", "status": "added"}
    ]
    assert "unchanged" in str(again["published"])


@pytest.mark.promise("surface-failed-publish")
async def test_a_python_file_that_cannot_be_loaded_leaves_nothing_but_an_error_with_its_reason(
    tmp_path: Path,
) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import no_such_module_anywhere\n")
    async with publishing_bench() as (bench, url):
        wish: JsonObject = {"source": "broken", "kind": "python", "target": str(file)}
        error = error_of(await publish(url, wish))
    assert error["code"] == "source_unavailable"
    assert "no_such_module_anywhere" in str(error["message"])
    assert "broken" not in bench.catalogue.snapshot.sources


@pytest.mark.promise("surface-failed-publish")
async def test_a_target_that_cannot_replace_another_leaves_the_other_in_place(
    tmp_path: Path,
) -> None:
    good, broken = tmp_path / "hello.py", tmp_path / "broken.py"
    good.write_text(GREETING)
    broken.write_text("raise ValueError('not today')\n")
    async with publishing_bench() as (bench, url):
        for file in (good, broken):
            await publish(url, {"source": "hello", "kind": "python", "target": str(file)})
        kept = bench.catalogue.snapshot.sources["hello"]
    assert kept.spec == {"target": str(good)}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"kind": "snapshot", "entries": []}, "source"),
        ({"source": "s", "kind": "odd"}, "kind"),
        ({"source": "s", "kind": "snapshot"}, "takes `entries`"),
        ({"source": "s", "kind": "python", "entries": []}, "takes `target`"),
        ({"source": "s", "kind": "snapshot", "entries": [], "more": 1}, "more"),
        ({"source": "s", "kind": "snapshot", "entries": []}, "no entries"),
        ({"source": "a b", "kind": "snapshot", "entries": [{}]}, "a-b"),
        ({"source": "play", "kind": "python", "target": "/x.py"}, "already"),
    ],
)
async def test_a_publication_that_makes_no_sense_is_refused_with_a_reason(
    params: JsonObject, words: str
) -> None:
    async with publishing_bench() as (_, url):
        error = error_of(await publish(url, params))
    assert words in str(error["message"])


@pytest.mark.promise("surface-publish")
async def test_a_crib_that_takes_no_publications_says_how_to_allow_them() -> None:
    bench = await Bench.open()
    async with over_http(bench.server()) as url:
        wish: JsonObject = {"source": "s", "kind": "snapshot", "entries": []}
        error = error_of(await publish(url, wish))
    assert error["code"] == "not_permitted"
    assert "serve --allow-publish" in str(error["message"])


class _NothingRuns:
    """A crib whose sources never start."""

    async def settled(self, source: str) -> None:
        return None


async def test_a_target_that_is_never_opened_is_given_up_in_time() -> None:
    catalogue = await Catalogue.open(MemoryStore())
    publisher = CribPublisher(catalogue, _NothingRuns(), SystemClock(), longest_load_seconds=0.1)
    with pytest.raises(ToolError, match=r"not loaded within 0\.1 s") as refusal:
        await publisher(PublishWish(source="never", kind="python", target="/no/file.py"))
    assert refusal.value.code == "tool_timed_out"
