"""Calls of a whole crib while its sources die, fall silent and come back: real processes."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.behaviour.test_many_sources import state
from tests.fake_upstreams import line_server
from toolcrib_adapters.main import open_crib, open_store
from toolcrib_adapters.settings import CribSettings
from toolcrib_protocol.call_rules import CallRules, RuleScope
from toolcrib_protocol.errors import OUTCOME_UNKNOWN, SOURCE_DISCONNECTED, TOOL_TIMED_OUT
from toolcrib_protocol.result import TOOL_META, Status
from toolcrib_registry.call import Call
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import PutRules
from toolcrib_registry.fallback import FALLBACK_META
from toolcrib_registry.healing import ATTEMPTS_META
from toolcrib_registry.ports import SourceStatus
from toolcrib_registry.publishing import register
from toolcrib_registry.records import RulesRecord, SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from toolcrib_adapters.main import Crib
    from toolcrib_protocol.json_value import Json, JsonObject

MOST_SECONDS = 60
ANYTHING: JsonObject = {"type": "object"}


def reading(*names: str) -> list[Json]:
    """Tools that only read."""
    hint: JsonObject = {"readOnlyHint": True}
    return [{"name": name, "inputSchema": ANYTHING, "annotations": hint} for name in names]


def writing(*names: str) -> list[Json]:
    """Tools of which nothing is known."""
    return [{"name": name, "inputSchema": ANYTHING} for name in names]


@asynccontextmanager
async def running(folder: Path, **tools: list[Json]) -> AsyncIterator[Crib]:
    """A crib over a process for each source, connected."""
    home = CribSettings(home=folder / "home", encoder="none")
    async with open_store(home) as store:
        catalogue = await Catalogue.open(store)
        for name, listed in tools.items():
            script: JsonObject = {"tools": listed, "starts": str(folder / f"{name}.starts")}
            await register(catalogue, SourceRecord(name, SourceKind.MCP, line_server(script), name))
    with anyio.fail_after(MOST_SECONDS):
        async with open_crib(home) as crib:
            for name in tools:
                await state(crib, name, SourceStatus.READY)
            yield crib


async def rule(crib: Crib, scope: str, **values: Json) -> None:
    record = RulesRecord(RuleScope.parse(scope), CallRules.read(values, scope))
    await crib.catalogue.change(lambda _: [PutRules(record)])


@pytest.mark.promise("healing-fallback")
@pytest.mark.promise("field-o17-silence")
async def test_when_a_source_is_killed_another_answers_and_nobody_waits_for_the_dead(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, near=reading("die", "echo"), far=reading("echo")) as crib:
        for tool in ("die", "echo"):
            await rule(crib, f"tool:near/{tool}", equivalents=["far/echo"])
        during = await crib.calls.call(Call("near/die", {"a": 1}))
        assert during.unwrap() == {"a": 1}
        assert during.meta[TOOL_META] == "far/echo@1.0.0"
        assert FALLBACK_META in during.meta
        after = await crib.calls.call(Call("near/echo", {"a": 2}))
        assert after.unwrap() == {"a": 2}
        await state(crib, "near", SourceStatus.READY)
        again = await crib.calls.call(Call("near/echo", {"a": 3}))
        assert again.unwrap() == {"a": 3}


@pytest.mark.promise("field-o45-writes-once")
@pytest.mark.promise("field-o17-silence")
async def test_a_write_that_kills_its_source_is_sent_once_and_the_next_call_works(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, desk=writing("die", "echo")) as crib:
        lost = await crib.calls.call(Call("desk/die"))
        assert lost.error is not None
        assert (lost.status, lost.error.code) == (Status.NEEDS_HUMAN, OUTCOME_UNKNOWN)
        assert lost.error.details["cause"] == SOURCE_DISCONNECTED
        assert ATTEMPTS_META not in lost.meta
        assert (await crib.calls.call(Call("desk/echo", {"a": 1}))).unwrap() == {"a": 1}
        starts = (tmp_path / "desk.starts").read_text().splitlines()
        assert len(starts) == 2


@pytest.mark.promise("field-o30-progress")
@pytest.mark.promise("field-o17-silence")
async def test_a_source_that_never_answers_is_left_at_the_deadline_and_told_to_cancel(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, desk=[*writing("wait"), *reading("heard")]) as crib:
        await rule(crib, "tool:desk/wait", timeout_seconds=0.2, extend_on_progress=True)
        late = await crib.calls.call(Call("desk/wait"))
        assert late.error is not None
        assert (late.error.code, late.error.details["cause"]) == (OUTCOME_UNKNOWN, TOOL_TIMED_OUT)
        assert "may have run" in late.text
        heard = str((await crib.calls.call(Call("desk/heard"))).unwrap())
        assert "notifications/cancelled" in heard
