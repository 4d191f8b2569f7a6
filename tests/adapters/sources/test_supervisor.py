"""Sources run in tasks of their own: what one does is not felt by the others."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.cribs import raw_tool
from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.sources.source import ToolsOnly
from toolcrib_adapters.sources.supervisor import AGAIN_SECONDS, Supervisor
from toolcrib_protocol.errors import (
    MISSING_EXTRA,
    SOURCE_UNAVAILABLE,
    STORE_BUSY,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.result import Result
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.listing import Listing
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext, SourceState, SourceStatus
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord
from toolcrib_registry.refresh import ask_again
from toolcrib_registry.retirement import remove_source

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from toolcrib_adapters.sources.source import SourceHost
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import Clock

READY = SourceState(SourceStatus.READY, "2026-01-01T00:00:00+00:00")


class Desk(ToolsOnly):
    """A source that lists one tool and notes its beginning and end."""

    def __init__(self, record: SourceRecord, log: list[str]) -> None:
        self._record = record
        self._log = log

    async def run(self, host: SourceHost) -> None:
        if self._record.spec.get("faulty"):
            raise ZeroDivisionError("a fault")
        if self._record.spec.get("ends") and not self._log:
            self._log.append("ended")
            return
        if self._record.spec.get("busy") and not self._log:
            self._log.append("busy")
            raise ToolError(STORE_BUSY, "the database is busy", ErrorKind.RETRYABLE)
        self._log.append(f"{self._record.name} begins")
        await host.listed(Listing("another name", (raw_tool("one"),)))
        await host.report(READY)
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.wait_all_tasks_blocked()
                await host.report(SourceState(SourceStatus.STOPPED, READY.since))
            self._log.append(f"{self._record.name} ends")

    async def look_again(self) -> None:
        self._log.append(f"{self._record.name} is asked")
        if self._record.spec.get("mute"):
            await anyio.sleep_forever()

    async def call(self, upstream_name: str, arguments: JsonObject, context: CallContext) -> Result:
        return Result()


def record(name: str, **spec: str) -> SourceRecord:
    return SourceRecord(name, SourceKind.MCP, {**spec}, name)


@asynccontextmanager
async def running(
    log: list[str], clock: Clock | None = None, head_start_seconds: float = 0.0
) -> AsyncIterator[tuple[Catalogue, Supervisor, MemoryStore]]:
    store = MemoryStore()

    def opened(source: SourceRecord) -> Desk:
        if source.spec.get("unopened"):
            raise ToolError(MISSING_EXTRA, "install the other package")
        return Desk(source, log)

    openers = {SourceKind.MCP: opened}
    supervisor = Supervisor(
        openers,
        store,
        clock or SystemClock(),
        crib="me",
        wants=lambda source: source.name != "unwanted",
    )
    catalogue = await Catalogue.open(store, (supervisor,))
    async with anyio.create_task_group() as tasks:
        await tasks.start(supervisor.run, catalogue, head_start_seconds)
        yield catalogue, supervisor, store
        tasks.cancel_scope.cancel()


async def ready(catalogue: Catalogue, supervisor: Supervisor, *records: SourceRecord) -> None:
    for source in records:
        await register(catalogue, source)
    await anyio.wait_all_tasks_blocked()
    for source in records:
        await supervisor.settled(source.name)


async def test_a_registered_source_runs_and_its_tools_are_in_the_catalogue_under_its_name() -> None:
    async with running([]) as (catalogue, supervisor, _):
        await ready(catalogue, supervisor, record("a"))
        assert ToolId("a", "one") in catalogue.snapshot.tools
        assert supervisor.states == {"a": READY}
        assert isinstance(supervisor.provider("a"), Desk)


@pytest.mark.promise("serve-first-answer")
async def test_sources_begin_when_the_head_start_of_the_first_answers_is_over() -> None:
    log: list[str] = []
    clock = HandClock()
    async with running(log, clock, head_start_seconds=5.0) as (catalogue, supervisor, store):
        await register(catalogue, record("early"))
        await anyio.wait_all_tasks_blocked()
        assert isinstance(supervisor.provider("early"), Desk)
        assert (log, await store.reported()) == ([], {})
        clock.advance(5.0)
        await supervisor.settled("early")
        assert log == ["early begins"]
        await ready(catalogue, supervisor, record("late"))
        assert log == ["early begins", "late begins"]


async def test_a_removed_source_ends_and_the_others_are_not_touched() -> None:
    log: list[str] = []
    async with running(log) as (catalogue, supervisor, _):
        await ready(catalogue, supervisor, record("a"), record("b"))
        await catalogue.change(lambda snapshot: remove_source(snapshot, "a", ""))
        while "a ends" not in log:
            await anyio.wait_all_tasks_blocked()
        assert "b ends" not in log
        assert set(supervisor.states) == {"b"}
        with pytest.raises(ToolError) as refused:
            supervisor.provider("a")
        assert refused.value.code == SOURCE_UNAVAILABLE


async def test_changed_settings_end_the_old_source_before_the_new_one_begins() -> None:
    log: list[str] = []
    async with running(log) as (catalogue, supervisor, _):
        await ready(catalogue, supervisor, record("a"))
        await ready(catalogue, supervisor, record("a", url="other"))
        assert log == ["a begins", "a ends", "a begins"]
        assert supervisor.states == {"a": READY}  # what the old one said last is not heard


async def test_a_source_with_a_fault_of_ours_is_told_as_failed_and_the_others_run() -> None:
    async with running([]) as (catalogue, supervisor, _):
        await ready(catalogue, supervisor, record("bad", faulty="yes"), record("good"))
        assert supervisor.states["bad"].status is SourceStatus.FAILED
        assert "ZeroDivisionError" in supervisor.states["bad"].reason
        assert supervisor.states["good"] == READY


@pytest.mark.parametrize(
    ("spec", "reason"),
    [({"busy": "yes"}, "the database is busy"), ({"ends": "yes"}, "it ended by itself")],
)
async def test_a_source_that_ended_is_opened_anew_after_a_pause(
    spec: dict[str, str], reason: str
) -> None:
    clock = HandClock()
    async with running([], clock) as (catalogue, supervisor, _):
        await ready(catalogue, supervisor, record("a", **spec))
        assert (supervisor.states["a"].status, supervisor.states["a"].reason) == (
            SourceStatus.FAILED, reason,
        )  # fmt: skip
        assert supervisor.states["a"].retry_at is not None
        clock.advance(AGAIN_SECONDS)
        with anyio.fail_after(10):
            while supervisor.states["a"] != READY:
                await anyio.wait_all_tasks_blocked()


async def test_a_source_that_cannot_be_opened_here_says_why_and_the_others_run() -> None:
    async with running([]) as (catalogue, supervisor, _):
        await ready(catalogue, supervisor, record("closed", unopened="yes"), record("good"))
        assert supervisor.states["closed"].reason == "install the other package"
        assert supervisor.states["good"] == READY
        with pytest.raises(ToolError, match="other package"):
            await supervisor.provider("closed").call("one", {}, CallContext(1, LOCAL_CALLER))


async def test_sources_that_are_not_wanted_do_not_run() -> None:
    async with running([]) as (catalogue, supervisor, _):
        await register(catalogue, record("unwanted"))
        await anyio.wait_all_tasks_blocked()
        assert await supervisor.settled("unwanted") is None
        assert supervisor.states == {}


async def test_states_are_pinned_for_other_processes_and_withdrawn_at_the_end() -> None:
    clock = HandClock()
    async with running([], clock) as (catalogue, supervisor, store):
        await ready(catalogue, supervisor, record("a"))
        clock.advance(1)
        await anyio.wait_all_tasks_blocked()
        assert await store.reported() == {"a": READY}
    assert await store.reported() == {}


class LockedBoard(MemoryStore):
    """A board that nobody can write to."""

    async def report(self, crib: str, states: Mapping[str, SourceState]) -> None:
        raise ToolError(STORE_BUSY, "another process writes to it")

    async def withdraw(self, crib: str) -> None:
        raise ToolError(STORE_BUSY, "another process writes to it")


async def test_sources_run_on_when_the_board_cannot_be_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[str] = []
    openers = {SourceKind.MCP: lambda source: Desk(source, log)}
    supervisor = Supervisor(openers, LockedBoard(), SystemClock(), crib="me")
    catalogue = await Catalogue.open(MemoryStore(), (supervisor,))
    async with anyio.create_task_group() as tasks:
        await tasks.start(supervisor.run, catalogue)
        await ready(catalogue, supervisor, record("a"))
        assert supervisor.states == {"a": READY}
        tasks.cancel_scope.cancel()

    assert log == ["a begins", "a ends"]
    assert "another process writes to it" in caplog.text


async def answered(
    clock: HandClock, store: MemoryStore, *names: str, wanted: tuple[int, ...]
) -> None:
    """Return once the board says that these wishes were answered."""
    with anyio.fail_after(30):
        while True:
            states = await store.reported()
            if tuple(states[name].answered for name in names if name in states) == wanted:
                return
            clock.advance(1)
            await anyio.wait_all_tasks_blocked()


@pytest.mark.promise("refresh-now")
async def test_a_source_is_asked_anew_where_it_runs_and_the_board_says_that_it_answered() -> None:
    log: list[str] = []
    clock = HandClock()
    async with running(log, clock) as (catalogue, supervisor, store):
        await ready(catalogue, supervisor, record("a"), record("b"), record("u", unopened="yes"))
        await catalogue.change(lambda snapshot: ask_again(snapshot, ["a", "u", "nowhere"]))
        await answered(clock, store, "a", "b", "u", wanted=(1, 0, 1))
    assert log.count("a is asked") == 1
    assert "b is asked" not in log


async def test_a_wish_is_answered_by_the_successor_of_a_source_that_never_answers() -> None:
    clock = HandClock()
    async with running([], clock) as (catalogue, supervisor, store):
        await ready(catalogue, supervisor, record("a", mute="yes"))
        await catalogue.change(lambda snapshot: ask_again(snapshot, ["a"]))
        await anyio.wait_all_tasks_blocked()
        await register(catalogue, record("a"))
        await answered(clock, store, "a", wanted=(1,))
