"""Gates: how many calls run, how many begin, who waits and who is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.cribs import memory_catalogue, raw_tool
from tests.registry.limits.halls import Hall, gated, ruled
from toolcrib_protocol.errors import (
    AT_CAPACITY,
    RATE_LIMITED,
    SOURCE_DISCONNECTED,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import Result
from toolcrib_protocol.tool import Contract, DegradedForm, Limits
from toolcrib_registry.call import Call
from toolcrib_registry.fallback import Fallbacks
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.healing import Healing
from toolcrib_registry.permissions import Caller
from toolcrib_registry.places import Places
from toolcrib_registry.views import View

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work


def error_of(result: Result) -> ToolError:
    assert result.error is not None
    return result.error


@pytest.mark.promise("gate-cap")
async def test_eight_calls_of_a_source_run_at_once_and_the_others_wait_in_line() -> None:
    calls, provider, gates, _ = await gated()
    hall = Hall()
    provider.tools["wait"] = hall.visit
    results: list[Result] = []

    async def call(number: int) -> None:
        results.append(await calls.call(Call("desk/wait", {"n": number})))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(call, number)
        await hall.filled(8)
        (state,) = gates.states()
        assert (state.scope, state.running, state.waiting) == ("source:desk", 8, 12)
        assert state.why == "at most 8 at once by the default of each process"
        hall.opened.set()
    assert hall.most == 8
    assert [result.unwrap() for result in results] == [{"n": n} for n in range(20)]
    assert (gates.states()[0].running, gates.states()[0].waiting) == (0, 0)


@pytest.mark.promise("gate-cap")
async def test_the_stricter_of_contract_and_rules_holds_at_every_gate() -> None:
    contract = Contract(group="desk", name="wait", limits=Limits(max_concurrency=4))
    scopes = ("tool:desk/wait", "group:desk", "source:desk")
    calls, provider, gates, catalogue = await gated(contract)
    tried: list[tuple[dict[str, JsonObject], int]] = [
        ({}, 4),
        ({scopes[0]: {"max_concurrency": 2}}, 2),
        ({scopes[0]: {"max_concurrency": 6}}, 4),
        ({scopes[1]: {"max_concurrency": 3}}, 3),
        ({scopes[2]: {"max_concurrency": 1}}, 1),
    ]
    for rules, most in tried:
        await ruled(catalogue, rules)
        hall = Hall()
        provider.tools["wait"] = hall.visit
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(calls.call, Call("desk/wait"))
            await hall.filled(most)
            await anyio.wait_all_tasks_blocked()
            hall.opened.set()
        assert (hall.most, hall.begun) == (most, 6)
        await ruled(catalogue, {scope: {"max_concurrency": None} for scope in rules})
    # A gate where nothing is set any more is none.
    assert [state.scope for state in gates.states()] == ["source:desk", "tool:desk/wait"]


@pytest.mark.promise("field-o33-slow-tools")
async def test_of_fifty_calls_four_run_ten_wait_and_the_others_hear_when_to_come_back() -> None:
    rules: dict[str, JsonObject] = {"tool:desk/wait": {"max_concurrency": 4, "queue_length": 10}}
    calls, provider, gates, _ = await gated(raw_tool("wait"), raw_tool("fast"), rules=rules)
    hall = Hall()
    provider.tools["wait"] = hall.visit
    refused: list[Result] = []

    async def call() -> None:
        result = await calls.call(Call("desk/wait"))
        if result.error is not None:
            refused.append(result)

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(call)
        await hall.filled(4)
        await anyio.wait_all_tasks_blocked()
        assert (hall.inside, len(refused)) == (4, 36)
        # The slow tool's line keeps nobody else out.
        assert (await calls.call(Call("desk/fast"))).error is None
        hall.opened.set()
    assert (hall.most, hall.begun) == (4, 14)
    error = error_of(refused[0])
    assert (error.code, error.kind) == (AT_CAPACITY, ErrorKind.RETRYABLE)
    assert error.message == (
        "tool:desk/wait takes 4 calls at once, and 10 more wait already; nothing was called, "
        "retry after 2.8 s"
    )
    assert error.details["retry_after_seconds"] == 2.8
    assert error.details["gate"] == "tool:desk/wait"
    assert gates.states()[-1].refused == 36


@pytest.mark.promise("gate-when-full")
async def test_a_full_gate_refuses_at_once_where_rules_say_so() -> None:
    rules: dict[str, JsonObject] = {
        "source:desk": {"max_concurrency": 1},
        "tool:desk/wait": {"when_full": "reject"},
        "group:desk": {"queue_length": 0},
    }
    calls, provider, _, catalogue = await gated(rules=rules)
    hall = Hall()
    provider.tools["wait"] = hall.visit
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, Call("desk/wait"))
        await hall.filled(1)
        error = error_of(await calls.call(Call("desk/wait")))
        assert error.message.startswith("source:desk takes 1 calls at once, and it is full; ")
        await ruled(catalogue, {"tool:desk/wait": {"when_full": None}})
        error = error_of(await calls.call(Call("desk/wait")))
        assert ", and nobody may wait; " in error.message
        hall.opened.set()
    assert (await calls.call(Call("desk/wait"))).error is None


@pytest.mark.promise("gate-deadline")
async def test_a_call_waits_no_longer_than_it_may_take_and_was_not_sent() -> None:
    calls, provider, _, _ = await gated(rules={"source:desk": {"max_concurrency": 1}})
    hall = Hall()
    provider.tools["wait"] = hall.visit
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, Call("desk/wait"))
        await hall.filled(1)
        error = error_of(await calls.call(Call("desk/wait", timeout_seconds=0.02)))
        assert error.code == AT_CAPACITY
        assert ", and no place came within " in error.message
        error = error_of(await calls.call(Call("desk/wait", timeout_seconds=1e-9)))
        assert ", and no place came within 0 s; " in error.message
        assert len(provider.called) == 1
        hall.opened.set()


@pytest.mark.promise("gate-deadline")
async def test_a_call_waits_no_longer_than_one_attempt_where_something_else_may_answer() -> None:
    patient = Contract(group="desk", name="wait")
    hasty = Contract(group="desk", name="get", degraded=DegradedForm(result=0))

    class Halved:
        async def carry(self, work: Work, onward: Onward) -> Result:
            return await onward(replace(work, seconds=0.02))

    calls, provider, _, _ = await gated(
        patient, hasty, rules={"source:desk": {"max_concurrency": 1}}, outer=(Halved(),)
    )
    hall = Hall()
    provider.tools["wait"] = hall.visit
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(calls.call, Call("desk/wait"))
        await hall.filled(1)
        error = error_of(await calls.call(Call("desk/get")))
        assert ", and no place came within 0.02 s; " in error.message
        hall.opened.set()
    assert hall.begun == 2


@pytest.mark.promise("gate-deadline")
async def test_what_was_waited_is_taken_from_the_time_of_the_call() -> None:
    calls, provider, _, _ = await gated(rules={"source:desk": {"max_concurrency": 1}})
    hall, limits = Hall(), []

    async def timed(arguments: JsonObject, context: CallContext) -> Result:
        limits.append(context.timeout_seconds)
        return await hall.visit(arguments, context)

    provider.tools["wait"] = timed
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, Call("desk/wait", timeout_seconds=2))
        await hall.filled(1)
        tasks.start_soon(calls.call, Call("desk/wait", timeout_seconds=2))
        await anyio.wait_all_tasks_blocked()
        began = anyio.current_time()
        while anyio.current_time() < began + 0.1:
            await anyio.lowlevel.checkpoint()
        hall.opened.set()
    assert limits[0] == 2
    assert limits[1] <= 1.9


@pytest.mark.promise("gate-cancelled")
async def test_a_cancelled_call_gives_its_place_to_the_next() -> None:
    calls, provider, gates, _ = await gated(rules={"group:desk": {"max_concurrency": 1}})
    hall = Hall()
    provider.tools["wait"] = hall.visit
    scopes = [anyio.CancelScope() for _ in range(4)]

    async def within(scope: anyio.CancelScope) -> None:
        with scope:
            await calls.call(Call("desk/wait"))

    async with anyio.create_task_group() as tasks:
        for scope in scopes:
            tasks.start_soon(within, scope)
        await hall.filled(1)
        await anyio.wait_all_tasks_blocked()
        scopes[1].cancel()
        await anyio.wait_all_tasks_blocked()
        assert (hall.begun, gates.states()[0].waiting) == (1, 2)
        scopes[0].cancel()
        await hall.filled(2)
        hall.opened.set()
    assert hall.begun == 3
    assert all(state.running == state.waiting == 0 for state in gates.states())


@pytest.mark.promise("gate-cancelled")
async def test_a_call_that_is_cancelled_in_the_moment_its_place_comes_passes_it_on() -> None:
    calls, provider, gates, _ = await gated(rules={"group:desk": {"max_concurrency": 1}})
    first, second = Hall(), Hall()
    provider.tools["wait"] = first.visit
    scope = anyio.CancelScope()

    async def within() -> None:
        with scope:
            await calls.call(Call("desk/wait"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, Call("desk/wait"))
        await first.filled(1)
        tasks.start_soon(within)
        await anyio.wait_all_tasks_blocked()
        (gate,) = (one for one in gates.every() if one.line)
        scope.cancel()
        gate.leave(anyio.current_time())
        provider.tools["wait"] = second.visit
        await anyio.wait_all_tasks_blocked()
        assert (gate.running, len(gate.line)) == (0, 0)
        gate.enter(anyio.current_time())  # the first one is still inside
        first.opened.set()
    assert (gate.running, second.begun) == (0, 0)


@pytest.mark.promise("gate-fair")
async def test_callers_take_turns_at_a_gate() -> None:
    calls, provider, _, _ = await gated(rules={"source:desk": {"max_concurrency": 1}})
    hall = Hall()
    provider.tools["wait"] = hall.visit
    async with anyio.create_task_group() as tasks:
        for name in ("ann", "ann", "ann", "ann", "bob", "cyd", "bob"):
            number = len(provider.called)
            tasks.start_soon(calls.call, Call("desk/wait", {"by": name}, caller=Caller(name)))
            await anyio.wait_all_tasks_blocked()
            assert number <= len(provider.called)
        hall.opened.set()
    order = [arguments["by"] for _, arguments in provider.called]
    assert order == ["ann", "ann", "bob", "cyd", "ann", "bob", "ann"]


@pytest.mark.promise("gate-rate")
async def test_calls_beyond_the_burst_begin_at_the_rate_in_the_order_they_came() -> None:
    rules: dict[str, JsonObject] = {"tool:desk/wait": {"calls_per_second": 50, "burst": 2}}
    calls, provider, gates, _ = await gated(rules=rules)
    begun: list[float] = []

    async def note(arguments: JsonObject, _context: CallContext) -> Result:
        begun.append(anyio.current_time())
        return Result(data=arguments, has_data=True)

    provider.tools["wait"] = note
    results = await calls.call_many([Call("desk/wait", {"n": n}) for n in range(7)])
    assert [result.unwrap() for result in results] == [{"n": n} for n in range(7)]
    assert [arguments["n"] for _, arguments in provider.called] == list(range(7))
    # Never earlier than allowed; how much later is the machine's affair.
    assert all(begun[n] >= begun[0] + (n - 1) / 50 - 0.005 for n in range(2, 7))
    assert gates.states()[-1].why == "50 a second (burst 2) by rules, for all processes together"


@pytest.mark.promise("gate-rate")
async def test_whoever_could_not_begin_in_time_is_refused_at_once() -> None:
    rules: dict[str, JsonObject] = {"tool:desk/wait": {"calls_per_second": 0.01}}
    calls, provider, _, _ = await gated(rules=rules)
    assert (await calls.call(Call("desk/wait"))).error is None
    error = error_of(await calls.call(Call("desk/wait", timeout_seconds=5)))
    assert error.message.startswith(
        "tool:desk/wait takes 0.01 calls a second, and none can begin within "
    )
    assert error.message.endswith(f"retry after {error.details['retry_after_seconds']:g} s")
    after = error.details["retry_after_seconds"]
    assert isinstance(after, float)
    assert 90 <= after <= 100
    assert len(provider.called) == 1


def limited(after: float | None = None) -> ToolError:
    details: JsonObject = {"http_status": 429}
    if after is not None:
        details["retry_after_seconds"] = after
    return ToolError(RATE_LIMITED, "too many", ErrorKind.RETRYABLE, details)


@pytest.mark.promise("gate-adapts")
async def test_a_refusal_halves_the_cap_of_the_source_once_and_successes_raise_it() -> None:
    calls, provider, gates, _ = await gated(raw_tool("wait"), raw_tool("fast"))
    hall = Hall()

    async def refuse(arguments: JsonObject, context: CallContext) -> Result:
        await hall.visit(arguments, context)
        raise limited()

    provider.tools["wait"] = refuse
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(calls.call, Call("desk/wait"))
        await hall.filled(8)
        hall.opened.set()
    (state,) = gates.states()
    assert (state.cap, state.cap_set, state.halvings) == (4, 8, 1)
    assert state.why == (
        "at most 8 at once by the default of each process; "
        "halved to 4 at 2026-01-01T00:00:00+00:00 because of 429"
    )
    caps = []
    for _ in range(40):
        await calls.call(Call("desk/fast"))
        caps.append(gates.states()[0].cap or 0)
    assert caps == sorted(caps)
    assert set(caps) == {4, 5, 6, 7, 8}
    assert gates.states()[0].why.endswith(
        "; recovered since it was halved at 2026-01-01T00:00:00+00:00"
    )


@pytest.mark.promise("gate-retry-after")
async def test_nothing_leaves_before_the_source_wants_to_be_asked_again() -> None:
    calls, provider, gates, _ = await gated()
    answers = [limited(after=0.8)]
    begun: list[float] = []

    async def once(arguments: JsonObject, _context: CallContext) -> Result:
        begun.append(anyio.current_time())
        if answers:
            raise answers.pop()
        return Result(data=arguments, has_data=True)

    provider.tools["wait"] = once
    assert error_of(await calls.call(Call("desk/wait"))).code == RATE_LIMITED
    assert gates.states()[0].paused_seconds > 0
    error = error_of(await calls.call(Call("desk/wait", timeout_seconds=0.01)))
    assert ", and none can begin within " in error.message
    await calls.call_many([Call("desk/wait")] * 3)
    assert all(moment >= begun[0] + 0.8 for moment in begun[1:])
    assert len(begun) == 4


async def test_a_source_that_says_in_its_own_words_that_it_is_too_much_is_spared_too() -> None:
    calls, provider, gates, _ = await gated()

    async def busy(_arguments: JsonObject, _context: CallContext) -> Result:
        told: JsonObject = {"error": {"code": "rate_limited", "retry_after_seconds": 0.001}}
        return Result.from_mcp({"isError": True, "structuredContent": told, "content": []})

    provider.tools["wait"] = busy
    await calls.call(Call("desk/wait"))
    (state,) = gates.states()
    assert (state.cap, state.halved_because) == (4, "rate_limited")


async def test_a_failure_of_a_tool_says_nothing_about_how_much_its_source_bears() -> None:
    calls, provider, gates, _ = await gated()

    async def fail(_arguments: JsonObject, _context: CallContext) -> Result:
        return Result.from_mcp({"isError": True, "content": [{"type": "text", "text": "no"}]})

    provider.tools["wait"] = fail
    await calls.call(Call("desk/wait"))
    assert (gates.states()[0].cap, gates.states()[0].halvings) == (8, 0)


async def test_rules_that_change_hold_for_calls_that_wait_already() -> None:
    calls, provider, _, catalogue = await gated(rules={"source:desk": {"max_concurrency": 1}})
    hall = Hall()
    provider.tools["wait"] = hall.visit
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(calls.call, Call("desk/wait"))
        await hall.filled(1)
        await ruled(catalogue, {"source:desk": {"max_concurrency": 4}})
        tasks.start_soon(calls.call, Call("desk/wait"))
        await hall.filled(4)
        hall.opened.set()


@pytest.mark.promise("gate-cancelled")
async def test_a_call_that_is_refused_at_its_source_leaves_the_gate_of_its_tool() -> None:
    rules: dict[str, JsonObject] = {
        "source:desk": {"max_concurrency": 1, "queue_length": 0},
        "tool:desk/wait": {"max_concurrency": 2},
    }
    calls, provider, gates, _ = await gated(rules=rules)
    hall = Hall()
    provider.tools["wait"] = hall.visit
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, Call("desk/wait"))
        await hall.filled(1)
        error = error_of(await calls.call(Call("desk/wait")))
        assert error.details["gate"] == "source:desk"
        assert [(state.scope, state.running) for state in gates.states()] == [
            ("source:desk", 1),
            ("tool:desk/wait", 1),
        ]
        hall.opened.set()


@pytest.mark.promise("retry-holds-no-place")
async def test_a_call_that_waits_between_two_attempts_has_no_place() -> None:
    catalogue = await memory_catalogue()
    clock = HandClock()
    healing = Healing(clock, Fallbacks(catalogue), roll=lambda: 1.0)
    calls, provider, gates, _ = await gated(
        raw_tool("wait", more={"annotations": {"readOnlyHint": True}}),
        raw_tool("fast"),
        rules={"source:desk": {"max_concurrency": 1}},
        outer=(healing,),
    )
    answers = [ToolError(SOURCE_DISCONNECTED, "gone", ErrorKind.RETRYABLE)]

    async def once(arguments: JsonObject, _context: CallContext) -> Result:
        if answers:
            raise answers.pop()
        return Result(data=arguments, has_data=True)

    provider.tools["wait"] = once
    results: list[Result] = []

    async def call() -> None:
        results.append(await calls.call(Call("desk/wait")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await clock.sleeper()
        assert gates.states()[0].running == 0
        assert (await calls.call(Call("desk/fast"))).error is None
        assert results == []
        clock.advance(60)
    assert results[0].error is None


@pytest.mark.promise("gate-fair")
async def test_a_call_that_waits_for_a_place_of_its_profile_holds_none_at_its_source() -> None:
    calls, provider, gates, _ = await gated(outer=(Places(),))
    hall = Hall()
    provider.tools["wait"] = hall.visit
    view = View("careful", calls_at_once=1)
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(calls.call, Call("desk/wait", view=view))
        await hall.filled(1)
        await anyio.wait_all_tasks_blocked()
        assert gates.states()[0].running == 1
        hall.opened.set()
