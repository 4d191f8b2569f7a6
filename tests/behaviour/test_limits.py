"""Limits of a whole crib over servers that are slow, hang, or do not read: real processes."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.cribs import NOW
from tests.registry.limits.halls import ruled
from toolcrib_adapters.main import open_crib, open_store
from toolcrib_adapters.settings import CribSettings
from toolcrib_protocol.errors import AT_CAPACITY
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Overlay
from toolcrib_protocol.tool import BatchForm
from toolcrib_registry.call import Call
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.limits.batch_items import BATCHED_META
from toolcrib_registry.overlaying import put_overlay
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from toolcrib_adapters.main import Crib
    from toolcrib_protocol.json_value import JsonObject

SERVER = str(Path(__file__).parents[1] / "fake_upstreams" / "line_server.py")
SLOW = [f"slow-{number}" for number in range(7)]
SLOW_CALLS = 50
PIPE_BYTES = 200_000
"""More than a pipe holds."""


async def home_of(folder: Path, sources: list[str], rules: dict[str, JsonObject]) -> CribSettings:
    settings = CribSettings(home=folder / "home", encoder="none")
    spec: JsonObject = {"transport": "stdio", "command": sys.executable, "args": [SERVER]}
    async with open_store(settings) as store:
        catalogue = await Catalogue.open(store)
        for name in sources:
            await register(catalogue, SourceRecord(name, SourceKind.MCP, spec, name))
        await ruled(catalogue, rules)
    return settings


async def listed(crib: Crib, sources: list[str]) -> None:
    for source in sources:
        while f"{source}/echo" not in map(str, crib.catalogue.snapshot.tools):
            revision = crib.catalogue.snapshot.revision
            await crib.catalogue.store.wait_changed(revision, timeout_seconds=10)
            await crib.catalogue.refresh()


@pytest.mark.promise("list-costs-the-maximum")
async def test_the_calls_of_a_list_run_at_the_same_time_in_order_and_fail_alone(
    tmp_path: Path,
) -> None:
    rules: dict[str, JsonObject] = {"tool:b/echo": {"calls_per_second": 0.01, "burst": 1}}
    home = await home_of(tmp_path, ["a", "b"], rules)
    async with open_crib(home) as crib:
        with anyio.fail_after(90):
            await listed(crib, ["a", "b"])
            # None of the six is answered before all of them were asked; the last one comes first.
            six = [Call("a/gather", {"of": 6, "number": number}) for number in range(6)]
            two = [Call("b/echo", {"number": number}, timeout_seconds=20) for number in (6, 7)]
            results = await crib.calls.call_many([six[0], two[0], *six[1:], two[1]])
    numbers = [result.data["number"] for result in results[:-1] if isinstance(result.data, dict)]
    assert numbers == [0, 6, 1, 2, 3, 4, 5]
    error = results[-1].error
    assert error is not None
    assert error.code == AT_CAPACITY


@pytest.mark.promise("field-o33-slow-tools")
async def test_a_fast_call_is_answered_while_fifty_slow_ones_run_and_a_pipe_is_blocked(
    tmp_path: Path,
) -> None:
    home = await home_of(tmp_path, [*SLOW, "fast", "stuck"], {})
    async with open_crib(home) as crib, anyio.create_task_group() as tasks:
        with anyio.fail_after(120):
            await listed(crib, [*SLOW, "fast", "stuck"])
            for number in range(SLOW_CALLS):
                slow = Call(f"{SLOW[number % len(SLOW)]}/wait", {}, timeout_seconds=100)
                tasks.start_soon(crib.calls.call, slow)
            tasks.start_soon(crib.calls.call, Call("stuck/nap", {"seconds": 100}))
            for _ in range(3):
                tasks.start_soon(crib.calls.call, Call("stuck/echo", {"text": "x" * PIPE_BYTES}))
            while sum(state.running for state in crib.gates.states()) < SLOW_CALLS + 4:
                await anyio.wait_all_tasks_blocked()
            # The last of the slow sources has one place left.
            for source in ("fast", SLOW[-1]):
                for number in range(20):
                    call = Call(f"{source}/echo", {"number": number}, timeout_seconds=10)
                    result = await crib.calls.call(call)
                    assert result.unwrap() == {"number": number}
        tasks.cancel_scope.cancel()


@pytest.mark.promise("batch-merges")
async def test_calls_that_wait_for_a_server_are_made_together_where_an_overlay_says_how(
    tmp_path: Path,
) -> None:
    home = await home_of(tmp_path, ["a"], {"source:a": {"max_concurrency": 1}})
    # `echo` gives back what it is given: each item is its own result.
    form = BatchForm(tool="echo", items_argument="results")
    overlays = {"gather": Overlay(read_only=True, batch=form), "echo": Overlay(read_only=True)}
    async with open_crib(home) as crib:
        with anyio.fail_after(90):
            await listed(crib, ["a"])
            for name, overlay in overlays.items():
                tool = ToolId("a", name)
                await crib.catalogue.change(
                    partial(put_overlay, tool=tool, overlay=overlay, now=NOW)
                )
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(crib.calls.call, Call("a/nap", {"seconds": 1}))
                while not any(state.running for state in crib.gates.states()):
                    await anyio.wait_all_tasks_blocked()
                calls = [Call("a/gather", {"of": 1, "number": number}) for number in range(5)]
                results = await crib.calls.call_many(calls)
    assert [result.data for result in results] == [{"of": 1, "number": n} for n in range(5)]
    assert [result.meta[BATCHED_META] for result in results] == [5] * 5
