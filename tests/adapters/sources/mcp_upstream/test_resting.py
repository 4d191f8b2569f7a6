"""Sources at rest: nothing runs until somebody calls, or after nobody has for long."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from tests.adapters.sources.listening_host import running
from tests.adapters.sources.mcp_upstream.bay import PATIENCE, Bay, BayHost, bay, upstream
from tests.adapters.sources.python_functions.desk import ended
from tests.fake_upstreams import line_server
from toolcrib_adapters.processes.household import Household
from toolcrib_adapters.sources.mcp_upstream import McpUpstream
from toolcrib_adapters.sources.mcp_upstream.backoff import pause_seconds
from toolcrib_adapters.sources.mcp_upstream.forwarding import HttpAccess
from toolcrib_protocol.errors import AT_CAPACITY, ToolError
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext, SourceStatus
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import Json, JsonObject

STATE_RESET = "io.toolcrib/upstream_state_reset"


def starts(file: Path) -> int:
    return len(file.read_text().split()) if file.exists() else 0


@pytest.mark.promise("life-lazy")
async def test_a_lazy_source_that_is_known_starts_once_at_its_first_calls(tmp_path: Path) -> None:
    file, clock, host = tmp_path / "starts", HandClock(), BayHost()
    host.knows = True
    source = upstream(line_server({"starts": str(file)}, start="lazy"), clock)
    answers: list[Json] = []

    async def ask(number: int) -> None:
        context = CallContext(30, LOCAL_CALLER, reconnect_seconds=0.001)
        answers.append((await source.call("echo", {"n": number}, context)).data)

    async with running(source, host):
        assert (await host.settled()).status is SourceStatus.IDLE
        await anyio.wait_all_tasks_blocked()
        assert starts(file) == 0
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for number in range(20):
                    tasks.start_soon(ask, number)
        assert (await host.settled()).status is SourceStatus.READY
    assert len(answers) == 20
    assert (starts(file), host.uses, len(host.listings)) == (1, 20, 1)


@pytest.mark.promise("life-lazy")
async def test_a_lazy_source_that_nobody_knows_starts_at_once() -> None:
    async with bay(line_server(start="lazy")) as made:
        assert made.state.status is SourceStatus.READY


@pytest.mark.promise("life-lazy")
async def test_asking_a_source_at_rest_for_its_list_wakes_it() -> None:
    clock, host = HandClock(), BayHost()
    host.knows = True
    source = upstream(line_server(start="lazy"), clock)
    async with running(source, host):
        assert (await host.settled()).status is SourceStatus.IDLE
        with anyio.fail_after(PATIENCE):
            await source.look_again()
        assert len(host.listings) == 1


@pytest.mark.promise("life-idle")
async def test_a_source_that_nobody_calls_rests_and_wakes_for_the_next_call() -> None:
    async with bay(line_server(idle_seconds=60)) as made:
        first = (await made.facts("environment"))["pid"]
        assert isinstance(first, int)
        with anyio.fail_after(PATIENCE):
            await made.clock.sleeper(60)
        made.clock.advance(60)
        assert (await made.host.settled()).status is SourceStatus.IDLE
        assert await ended(first)
        result = await made.call("environment")
        assert isinstance(result.data, dict)
        assert result.data["pid"] != first
        assert result.meta[STATE_RESET] is True
        assert STATE_RESET not in (await made.call("echo")).meta


@pytest.mark.promise("life-idle")
async def test_a_source_is_not_idle_while_a_call_runs() -> None:
    async with bay(line_server(idle_seconds=60)) as made, anyio.create_task_group() as tasks:

        async def wait() -> None:
            with pytest.raises(ToolError):
                await made.call("wait", limit=2.0)

        tasks.start_soon(wait)
        with anyio.fail_after(PATIENCE):
            while not made.host.uses:
                await anyio.lowlevel.checkpoint()
        made.clock.advance(59)
        made.clock.advance(59)
        await anyio.wait_all_tasks_blocked()
        assert made.host.states[-1].status is SourceStatus.READY


def limited(household: Household, name: str) -> Bay:
    """An upstream whose process needs a seat."""
    clock, host = HandClock(), BayHost()
    host.knows = True
    source = McpUpstream(
        SourceRecord(name, SourceKind.MCP, line_server(start="lazy"), name),
        environment=os.environ,
        clock=clock,
        connect_gate=anyio.CapacityLimiter(4),
        roll=lambda: 0.5,
        access=HttpAccess(household=household),
    )
    return Bay(source, host, clock)


@pytest.mark.promise("life-ceiling")
async def test_more_sources_than_processes_take_turns_and_nothing_is_lost(tmp_path: Path) -> None:
    household = Household(tmp_path, most=2)
    bays = [limited(household, f"s{n}") for n in range(5)]
    most = 0
    async with anyio.create_task_group() as tasks:
        for made in bays:
            tasks.start_soon(made.source.run, made.host)
        for turn in range(10):
            assert (await bays[turn % 5].call("echo", n=turn)).data == {"n": turn}
            most = max(most, household.seats.taken)
        tasks.cancel_scope.cancel()
    assert most == 2
    assert household.seats.taken == 0


@pytest.mark.promise("life-ceiling")
async def test_a_call_that_finds_all_processes_at_work_waits_and_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    household = Household(tmp_path, most=1)
    busy, late = limited(household, "busy"), limited(household, "late")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(busy.source.run, busy.host)
        tasks.start_soon(late.source.run, late.host)

        async def wait() -> None:
            with pytest.raises(ToolError):
                await busy.call("wait", limit=60)

        tasks.start_soon(wait)
        with anyio.fail_after(PATIENCE):
            while busy.host.states[-1:] == [] or busy.host.states[-1].status is not (
                SourceStatus.READY
            ):
                await anyio.lowlevel.checkpoint()
            with pytest.raises(ToolError, match="TOOLCRIB_MOST_PROCESSES") as told:
                await late.call("echo")
        assert told.value.code == AT_CAPACITY
        assert told.value.details["sent"] is False
        assert isinstance(told.value.details["retry_after_seconds"], float)
        assert late.host.states[-1].status is SourceStatus.IDLE
        tasks.cancel_scope.cancel()


def affine(affinity: str, most_connections: int = 16) -> JsonObject:
    return line_server(affinity=affinity, most_connections=most_connections)


async def pid_for(made: Bay, session: str) -> Json:
    context = CallContext(30, LOCAL_CALLER, session=session)
    with anyio.fail_after(PATIENCE):
        data = (await made.source.call("environment", {}, context)).data
    assert isinstance(data, dict)
    return data["pid"]


@pytest.mark.promise("life-affinity")
async def test_each_caller_has_a_process_of_its_own_where_the_source_says_so() -> None:
    async with bay(affine("per_caller")) as made:
        one, two = await pid_for(made, "one"), await pid_for(made, "two")
        assert one != two
        assert await pid_for(made, "one") == one
        assert await pid_for(made, "two") == two
    assert isinstance(one, int)
    assert await ended(one)


@pytest.mark.promise("life-affinity")
async def test_each_call_has_a_fresh_process_where_the_source_says_so() -> None:
    async with bay(affine("per_call")) as made:
        pids = [await pid_for(made, "one") for _ in range(3)]
        assert len({str(pid) for pid in pids}) == 3
        for pid in pids:
            assert isinstance(pid, int)
            assert await ended(pid)


@pytest.mark.promise("life-affinity")
async def test_all_callers_share_a_process_by_default() -> None:
    async with bay(line_server()) as made:
        assert await pid_for(made, "one") == await pid_for(made, "two")


@pytest.mark.promise("life-affinity")
async def test_more_callers_than_allowed_make_the_idle_one_leave_and_tell_it_later() -> None:
    async with bay(affine("per_caller", most_connections=1)) as made:
        await pid_for(made, "one")
        await pid_for(made, "two")
        context = CallContext(30, LOCAL_CALLER, session="one")
        with anyio.fail_after(PATIENCE):
            result = await made.source.call("echo", {}, context)
        assert result.meta[STATE_RESET] is True
        with anyio.fail_after(PATIENCE):
            result = await made.source.call("echo", {}, context)
        assert STATE_RESET not in result.meta


@pytest.mark.promise("life-affinity")
async def test_the_process_of_a_caller_outlives_the_common_one() -> None:
    async with bay(affine("per_caller")) as made:
        one = await pid_for(made, "one")
        link = made.source._link.present
        assert link is not None
        link.end("it broke")
        assert (await made.host.settled()).status is SourceStatus.FAILED
        assert await pid_for(made, "one") == one


@pytest.mark.promise("life-state-reset")
@pytest.mark.promise("field-o19-state-reset")
async def test_the_first_result_after_a_restart_says_that_state_was_lost() -> None:
    async with bay(line_server()) as made:
        assert STATE_RESET not in (await made.call("echo")).meta
        with pytest.raises(ToolError):
            await made.call("die")
        await made.host.settled()
        await made.state_after_pause()
        assert (await made.call("echo")).meta[STATE_RESET] is True
        assert STATE_RESET not in (await made.call("echo")).meta


@pytest.mark.promise("life-state-reset")
async def test_a_restart_before_the_first_call_loses_nothing() -> None:
    async with bay(line_server()) as made:
        link = made.source._link.present
        assert link is not None
        link.end("it broke")
        await made.host.settled()
        await made.state_after_pause()
        assert STATE_RESET not in (await made.call("echo")).meta


@pytest.mark.promise("life-known-dead")
async def test_a_source_that_is_known_to_be_dead_fails_at_once_and_says_when_it_is_tried() -> None:
    async with bay({**line_server(), "command": "no-such-command"}) as made:
        for _ in range(3):
            await made.pass_time(61)
            await made.host.settled()
        with pytest.raises(ToolError, match=r"it is tried again in \d+\.\d s") as told:
            await made.call("echo", limit=PATIENCE)
        seconds = round(pause_seconds(3, 0.5), 1)
        assert told.value.details == {"sent": False, "retry_after_seconds": seconds}


@pytest.mark.promise("life-state-reset")
async def test_a_failure_after_a_loss_says_so_and_leaves_the_flag_for_the_first_result() -> None:
    async with bay(line_server()) as made:
        with pytest.raises(ToolError):
            await made.call("die")
        await made.host.settled()
        await made.state_after_pause()
        with pytest.raises(ToolError) as told:
            await made.call("no such tool")
        assert told.value.details["state_reset"] is True
        assert (await made.call("echo")).meta[STATE_RESET] is True
        with pytest.raises(ToolError) as told:
            await made.call("no such tool")
        assert "state_reset" not in told.value.details
