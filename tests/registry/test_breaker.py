"""A tool that fails again and again is spared for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.cribs import raw_tool
from tests.registry.healed import always, fault, infirmary
from tests.registry.providers import echo
from toolcrib_protocol.errors import (
    BREAKER_OPEN,
    RATE_LIMITED,
    SOURCE_DISCONNECTED,
    SOURCE_FAILED,
    SOURCE_UNAVAILABLE,
    TOOL_FAILED,
    TOOL_TIMED_OUT,
    ErrorKind,
)
from toolcrib_protocol.result import Result, Status
from toolcrib_registry import breaker as breakers
from toolcrib_registry.circuit import FAILURES_TO_OPEN, Circuit, CircuitState

if TYPE_CHECKING:
    from tests.registry.healed import Infirmary
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext

READS: JsonObject = {"annotations": {"readOnlyHint": True}}
BROKEN = fault(SOURCE_FAILED, http_status=500)


async def ward_of(*names: str) -> Infirmary:
    """A crib with these tools, whose calls are not repeated."""
    ward = await infirmary(desk=[raw_tool(name, more=READS) for name in names])
    await ward.rule("source:desk", retries=0)
    return ward


async def opened(ward: Infirmary, tool: str = "read") -> None:
    """Let a tool fail until its breaker opens."""
    ward.sources["desk"].tools[tool] = always(BROKEN)
    for _ in range(FAILURES_TO_OPEN):
        await ward.call(f"desk/{tool}")


@pytest.mark.promise("healing-breaker")
async def test_after_repeated_failures_nothing_is_called_and_the_caller_is_told_until_when() -> (
    None
):
    ward = await ward_of("read", "other")
    await opened(ward)
    refused = await ward.call("desk/read")
    assert refused.error is not None
    assert (refused.status, refused.error.code) == (Status.RETRYABLE_ERROR, BREAKER_OPEN)
    assert refused.error.details["retry_after_seconds"] == 1.0
    assert len(ward.sources["desk"].called) == FAILURES_TO_OPEN
    (state,) = ward.breaker.states()
    assert (state.source, str(state.tool), state.state) == ("desk", "desk/read", CircuitState.OPEN)
    assert state.retry_in_seconds == pytest.approx(1.0)
    assert ward.breaker.opened == 1
    assert (await ward.call("desk/other")).status is Status.SUCCESS


@pytest.mark.promise("healing-breaker")
async def test_when_its_time_is_over_one_call_looks_and_closes_it_or_opens_it_for_longer() -> None:
    ward = await ward_of("read")
    await opened(ward)
    ward.clock.advance(1.0)
    assert [one.state for one in ward.breaker.states()] == [CircuitState.HALF_OPEN]
    await ward.call("desk/read")
    (state,) = ward.breaker.states()
    assert state.state is CircuitState.OPEN
    assert state.retry_in_seconds == pytest.approx(2.0)
    ward.clock.advance(2.0)
    ward.sources["desk"].tools["read"] = echo
    assert (await ward.call("desk/read")).status is Status.SUCCESS
    assert ward.breaker.states() == []


@pytest.mark.promise("healing-breaker")
async def test_only_one_call_looks_at_a_time_and_its_end_is_booked_also_when_it_is_cancelled() -> (
    None
):
    ward = await ward_of("read")
    await opened(ward)
    ward.clock.advance(1.0)

    async def hang(_arguments: JsonObject, _context: CallContext) -> Result:
        await anyio.sleep_forever()
        raise AssertionError

    ward.sources["desk"].tools["read"] = hang
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ward.call, "desk/read")
        await anyio.wait_all_tasks_blocked()
        beside = await ward.call("desk/read")
        assert beside.error is not None
        assert (beside.error.code, beside.error.details["retry_after_seconds"]) == (
            BREAKER_OPEN, 0.5,
        )  # fmt: skip
        tasks.cancel_scope.cancel()
    (state,) = ward.breaker.states()
    assert state.state is CircuitState.OPEN
    ward.clock.advance(2.0)
    ward.sources["desk"].tools["read"] = echo
    assert (await ward.call("desk/read")).status is Status.SUCCESS


@pytest.mark.promise("healing-breaker")
@pytest.mark.parametrize(
    "failure",
    [
        fault(SOURCE_UNAVAILABLE),
        fault(RATE_LIMITED, http_status=429),
        fault(TOOL_FAILED, ErrorKind.FATAL),
        fault("invalid_arguments", ErrorKind.FATAL, jsonrpc_code=-32602),
        fault(TOOL_TIMED_OUT),
    ],
)
async def test_faults_of_callers_and_of_those_in_a_hurry_open_nothing(failure: Exception) -> None:
    ward = await ward_of("read")
    ward.sources["desk"].tools["read"] = always(failure)  # type: ignore[arg-type]
    for _ in range(2 * FAILURES_TO_OPEN):
        await ward.call("desk/read")
    assert ward.breaker.states() == []
    assert len(ward.sources["desk"].called) == 2 * FAILURES_TO_OPEN


@pytest.mark.parametrize("failure", [fault(RATE_LIMITED, http_status=429), fault(TOOL_TIMED_OUT)])
async def test_a_look_that_learned_nothing_lets_the_next_one_look(failure: Exception) -> None:
    ward = await ward_of("read")
    await opened(ward)
    ward.clock.advance(1.0)
    ward.sources["desk"].tools["read"] = always(failure)  # type: ignore[arg-type]
    for _ in range(2):
        result = await ward.call("desk/read")
        assert result.error is not None
        assert result.error.code != BREAKER_OPEN


async def test_a_tool_that_takes_all_its_time_and_does_not_answer_opens_its_breaker() -> None:
    ward = await ward_of("read")

    async def slow(arguments: JsonObject, context: CallContext) -> Result:
        ward.clock.advance(context.timeout_seconds)
        return await always(fault(TOOL_TIMED_OUT))(arguments, context)

    ward.sources["desk"].tools["read"] = slow
    for _ in range(FAILURES_TO_OPEN):
        await ward.call("desk/read", timeout_seconds=1)
    assert ward.breaker.states() == []
    for _ in range(FAILURES_TO_OPEN):
        await ward.call("desk/read")
    assert [one.state for one in ward.breaker.states()] == [CircuitState.OPEN]


async def test_one_connection_that_takes_many_calls_with_it_is_one_failure() -> None:
    ward = await ward_of("read")
    ends = anyio.Event()

    async def cut(arguments: JsonObject, context: CallContext) -> Result:
        await ends.wait()
        ward.clock.advance(0.001)
        return await always(fault(SOURCE_DISCONNECTED))(arguments, context)

    ward.sources["desk"].tools["read"] = cut
    async with anyio.create_task_group() as tasks:
        for _ in range(3 * FAILURES_TO_OPEN):
            tasks.start_soon(ward.call, "desk/read")
        await anyio.wait_all_tasks_blocked()
        ends.set()
    assert [one.failures for one in ward.breaker.states()] == [1]
    ward.sources["desk"].tools["read"] = echo
    await ward.call("desk/read")
    assert ward.breaker.states() == []


async def test_those_under_way_when_it_opens_neither_open_it_for_longer_nor_are_forgotten() -> None:
    ward = await ward_of("read")
    ends = anyio.Event()

    async def broken(arguments: JsonObject, context: CallContext) -> Result:
        await ends.wait()
        return await always(BROKEN)(arguments, context)

    ward.sources["desk"].tools["read"] = broken
    async with anyio.create_task_group() as tasks:
        for _ in range(3 * FAILURES_TO_OPEN):
            tasks.start_soon(ward.call, "desk/read")
        await anyio.wait_all_tasks_blocked()
        ends.set()
    assert ward.breaker.opened == 1
    assert [one.retry_in_seconds for one in ward.breaker.states()] == [pytest.approx(1.0)]


async def test_a_late_success_closes_a_breaker_and_a_look_that_learned_nothing_leaves_it_so() -> (
    None
):
    ward = await ward_of("read")
    ends = [anyio.Event(), anyio.Event()]

    async def waiting(arguments: JsonObject, context: CallContext) -> Result:
        number = len(ward.sources["desk"].called) - 1
        if number == 0:
            await ends[0].wait()
            return await echo(arguments, context)
        if number == FAILURES_TO_OPEN + 1:
            await ends[1].wait()
            return await always(fault(SOURCE_UNAVAILABLE))(arguments, context)
        return await always(BROKEN)(arguments, context)

    ward.sources["desk"].tools["read"] = waiting
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ward.call, "desk/read")
        await anyio.wait_all_tasks_blocked()
        for _ in range(FAILURES_TO_OPEN):
            await ward.call("desk/read")
        ward.clock.advance(1.0)
        tasks.start_soon(ward.call, "desk/read")
        await anyio.wait_all_tasks_blocked()
        ends[0].set()
        await anyio.wait_all_tasks_blocked()
        ends[1].set()
    assert ward.breaker.states() == []


async def test_successes_count_failures_down() -> None:
    ward = await ward_of("read")
    ward.sources["desk"].tools["read"] = always(BROKEN)
    for _ in range(3):
        await ward.call("desk/read")
    ward.sources["desk"].tools["read"] = echo
    await ward.call("desk/read")
    assert [one.failures for one in ward.breaker.states()] == [2]
    assert [one.state for one in ward.breaker.states()] == [CircuitState.CLOSED]


async def test_breakers_without_end_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breakers, "MOST_CIRCUITS", 2)
    ward = await ward_of("a", "b", "c")
    for name in "abc":
        ward.sources["desk"].tools[name] = always(BROKEN)
        await ward.call(f"desk/{name}")
    assert [one.tool.name for one in ward.breaker.states()] == ["b", "c"]


def test_a_breaker_stays_open_at_most_half_a_minute() -> None:
    circuit = Circuit()
    for _ in range(40):
        circuit = circuit.failed(0.0, 0.999)
    assert circuit.until is not None
    assert 30 < circuit.until <= 36
