"""Limits that several cribs keep together, over a store that is as quick as memory."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.limits.halls import Hall, gated, ruled
from toolcrib_adapters.clock import SystemClock
from toolcrib_protocol.call_rules import RuleScope
from toolcrib_protocol.errors import AT_CAPACITY, STORE_UNAVAILABLE, ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_registry.breaker import BreakerState
from toolcrib_registry.call import Call
from toolcrib_registry.circuit import CircuitState
from toolcrib_registry.limits import Gates, GateState, Leases, LimitBoard, MemoryLimits
from toolcrib_registry.limits.gate_limits import GateLimits
from toolcrib_registry.limits.lease import TOKEN_SECONDS, Lease
from toolcrib_registry.ports import Grant, Wish

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.ports import CallContext, LimitStore


class Watched(MemoryLimits):
    """Shared limits that count how often they are asked, and fail on demand."""

    def __init__(self) -> None:
        super().__init__(SystemClock())
        self.asked = 0
        self.again = anyio.Event()
        self.is_broken = False
        self.has_fault = False

    async def lease(
        self, crib: str, wishes: Mapping[str, Wish], seconds: float
    ) -> Mapping[str, Grant]:
        self._check()
        self.asked += 1
        again, self.again = self.again, anyio.Event()
        again.set()
        return await super().lease(crib, wishes, seconds)

    async def give_back(self, crib: str) -> None:
        self._check()
        await super().give_back(crib)

    async def tell(self, crib: str, gates: Sequence[JsonObject], seconds: float) -> None:
        self._check()
        await super().tell(crib, gates, seconds)

    def _check(self) -> None:
        if self.has_fault:
            raise RuntimeError("not a failure of the store")
        if self.is_broken:
            raise ToolError(STORE_UNAVAILABLE, "the disk is full")


@asynccontextmanager
async def crib(
    store: LimitStore, name: str, hall: Hall, rules: JsonObject, seconds: float = 5.0
) -> AsyncIterator[tuple[Calls, Gates]]:
    """A crib whose leases are looked after."""
    leases = Leases(store, name, lease_seconds=seconds)
    calls, provider, gates, _ = await gated(rules={"tool:desk/wait": rules}, leases=leases)
    provider.tools["wait"] = hall.visit
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(leases.run)
        yield calls, gates
        tasks.cancel_scope.cancel()


@pytest.mark.promise("shared-cap")
async def test_what_was_set_holds_for_all_processes_together_and_each_gets_its_share() -> None:
    store, hall = Watched(), Hall()
    rules: JsonObject = {"max_concurrency": 3}
    async with crib(store, "a", hall, rules) as (one, _), crib(store, "b", hall, rules) as (two, _):
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon((one, two)[number % 2].call, Call("desk/wait"))
            await hall.filled(3)
            hall.opened.set()
        assert (hall.most, hall.begun) == (3, 20)


@pytest.mark.promise("shared-cap")
async def test_a_process_that_has_all_slots_lets_the_others_have_their_share() -> None:
    store, busy, other = Watched(), Hall(), Hall()
    rules: JsonObject = {"max_concurrency": 2}
    other.opened.set()
    async with (
        crib(store, "a", busy, rules) as (one, _),
        crib(store, "b", other, rules) as (two, _),
        anyio.create_task_group() as tasks,
    ):
        for _ in range(30):
            tasks.start_soon(one.call, Call("desk/wait"))
        await busy.filled(2)
        results: list[Result] = []

        async def call() -> None:
            results.append(await two.call(Call("desk/wait")))

        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        assert (other.begun, busy.inside) == (0, 2)
        busy.opened.set()
        await other.filled(1)


@pytest.mark.promise("shared-cap")
async def test_a_process_that_is_idle_leaves_the_only_slot_to_one_that_waits() -> None:
    store, busy, other = Watched(), Hall(), Hall()
    rules: JsonObject = {"max_concurrency": 1}
    other.opened.set()
    # What runs out only after minutes has to be given back.
    async with (
        crib(store, "a", busy, rules, seconds=600) as (one, gates),
        crib(store, "b", other, rules, seconds=600) as (two, _),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(one.call, Call("desk/wait"))
        await busy.filled(1)
        tasks.start_soon(two.call, Call("desk/wait"))
        await anyio.wait_all_tasks_blocked()
        (gate,) = (held for held in gates.every() if held.lease is not None)
        assert gate.lease is not None
        gate.lease.ask()  # the next renewal: now it knows that somebody waits
        await store.again.wait()
        busy.opened.set()
        await other.filled(1)


def test_slots_that_were_given_up_are_told_to_the_store_before_they_are_forgotten() -> None:
    asked: list[bool] = []
    limits = GateLimits(RuleScope.parse("tool:a/b"), cap=1, cap_by="rules")
    lease = Lease(limits, lambda: asked.append(True))
    assert lease.wish(1, 0, 10.0).slots == 1
    lease.granted(Grant(1, share=0), 10.0, 10.0, 5.0)
    lease.came_back()
    assert (lease.slots, lease.holds_anything, asked) == (0, True, [True])
    assert lease.wish(0, 0, 10.1).slots == 0
    lease.granted(Grant(0), 10.1, 10.1, 5.0)
    assert not lease.holds_anything


@pytest.mark.promise("shared-dead")
async def test_a_dead_process_frees_its_slots_when_its_lease_ends_and_no_earlier() -> None:
    store, hall = Watched(), Hall()
    hall.opened.set()
    rules: JsonObject = {"max_concurrency": 1}
    # It never says good-bye.
    await store.lease("dead", {"tool:desk/wait": Wish(1, None, 1.0, 1, 1)}, 0.3)
    began = anyio.current_time()
    async with crib(store, "b", hall, rules) as (calls, _):
        assert (await calls.call(Call("desk/wait"))).error is None
    assert anyio.current_time() >= began + 0.29


@pytest.mark.promise("shared-rate")
async def test_a_rate_that_was_set_holds_for_all_processes_together() -> None:
    store, begun = Watched(), []
    rules: JsonObject = {"calls_per_second": 50, "burst": 1}

    class Timed(Hall):
        async def visit(self, arguments: JsonObject, context: CallContext) -> Result:
            begun.append(anyio.current_time())
            return await super().visit(arguments, context)

    hall = Timed()
    hall.opened.set()
    async with (
        crib(store, "a", hall, rules) as (one, _),
        crib(store, "b", hall, rules) as (two, gates),
        anyio.create_task_group() as tasks,
    ):
        for _ in range(2):
            tasks.start_soon(one.call_many, [Call("desk/wait")] * 8)
            tasks.start_soon(two.call_many, [Call("desk/wait")] * 8)
        await anyio.wait_all_tasks_blocked()
        assert gates.states()[-1].tokens == 0.0
    assert len(begun) == 32
    assert begun[-1] - begun[0] >= 31 / 50 - 0.05


@pytest.mark.promise("shared-plain")
async def test_where_nothing_was_set_nobody_is_asked() -> None:
    store, hall = Watched(), Hall()
    hall.opened.set()
    async with crib(store, "a", hall, {"retries": 1}) as (calls, gates):
        await calls.call_many([Call("desk/wait")] * 20)
        assert [state.leased for state in gates.states()] == [None]
    assert store.asked == 0


async def test_one_process_alone_asks_once_for_many_calls_and_gives_back_at_its_end() -> None:
    store, hall = Watched(), Hall()
    hall.opened.set()
    async with crib(store, "a", hall, {"max_concurrency": 2}) as (calls, gates):
        for _ in range(50):
            assert (await calls.call(Call("desk/wait"))).error is None
        assert store.asked < 10
        assert gates.states()[-1].leased is not None
    async with crib(store, "b", hall, {"max_concurrency": 2}) as (calls, _):
        assert (await calls.call(Call("desk/wait"))).error is None


async def test_a_call_that_may_not_wait_waits_for_the_store_but_for_nobody_else() -> None:
    store, hall = Watched(), Hall()
    rules: JsonObject = {"max_concurrency": 1, "when_full": "reject"}
    async with crib(store, "a", hall, rules) as (calls, _), anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, Call("desk/wait"))
        await hall.filled(1)
        error = (await calls.call(Call("desk/wait"))).error
        assert error is not None
        assert error.message.startswith("tool:desk/wait takes 1 calls at once, and it is full; ")
        hall.opened.set()


async def test_where_the_store_cannot_be_asked_calls_are_refused_with_the_reason() -> None:
    store, hall = Watched(), Hall()
    store.is_broken = True
    async with crib(store, "a", hall, {"max_concurrency": 2}) as (calls, gates):
        error = (await calls.call(Call("desk/wait", timeout_seconds=0.05))).error
        assert error is not None
        assert error.code == AT_CAPACITY
        assert "the limits of all processes cannot be asked for: the disk is full" in error.message
        assert gates.states()[-1].why.endswith("cannot be asked for: the disk is full")
        hall.opened.set()
        store.is_broken = False
        assert (await calls.call(Call("desk/wait"))).error is None
        store.is_broken = True


async def test_a_fault_of_ours_in_leasing_does_not_end_the_crib() -> None:
    store, hall = Watched(), Hall()
    hall.opened.set()
    store.has_fault = True
    async with crib(store, "a", hall, {"max_concurrency": 2}) as (calls, _):
        error = (await calls.call(Call("desk/wait", timeout_seconds=0.05))).error
        assert error is not None
        assert "cannot be asked for: a fault inside toolcrib" in error.message
        store.has_fault = False
        assert (await calls.call(Call("desk/wait"))).error is None


def test_tokens_that_are_not_used_in_time_go_back() -> None:
    limits = GateLimits(RuleScope.parse("tool:a/b"), rate=50.0, burst=5.0, rate_by="rules")
    lease = Lease(limits, lambda: None)
    assert lease.wish(0, 9, 10.0) == Wish(None, 50.0, 5.0, tokens=5)
    lease.granted(Grant(0, tokens=3), 10.0, 10.0, 5.0)
    assert lease.allows(0, 10.0)
    lease.take()
    assert lease.wish(1, 9, 10.5).tokens == 0
    assert not lease.allows(0, 10.0 + TOKEN_SECONDS)
    assert lease.wish(0, 0, 10.0 + TOKEN_SECONDS).returned == 2
    assert not lease.holds_anything


def test_slots_that_were_not_renewed_in_time_are_not_used() -> None:
    limits = GateLimits(RuleScope.parse("tool:a/b"), cap=3, cap_by="rules")
    lease = Lease(limits, lambda: None)
    assert lease.wish(3, 0, 10.0).slots == 3
    lease.granted(Grant(3), 10.0, 10.2, 5.0)
    assert lease.allows(2, 14.9)
    assert not lease.allows(2, 15.0)
    assert lease.wish(1, 0, 12.0).slots == 3
    assert lease.wish(1, 0, 13.0).slots == 1
    assert lease.wish(1, 0, 15.0).slots == 1


async def test_a_store_that_stays_away_is_asked_again_and_idle_slots_go_back() -> None:
    store, hall = Watched(), Hall()
    hall.opened.set()
    store.is_broken = True
    async with crib(store, "a", hall, {"max_concurrency": 2}, seconds=0.1) as (calls, gates):
        error = (await calls.call(Call("desk/wait", timeout_seconds=1.2))).error
        assert error is not None
        store.is_broken = False
        assert (await calls.call(Call("desk/wait"))).error is None
        while gates.states()[-1].leased:
            await store.again.wait()
        asked = store.asked
        # Whoever asks for nothing asks nobody.
        (gate,) = (one for one in gates.every() if one.lease is not None)
        assert gate.lease is not None
        gate.lease.ask()
        await anyio.wait_all_tasks_blocked()
        assert store.asked == asked


async def test_a_limit_that_is_taken_away_is_leased_no_more() -> None:
    store, hall = Watched(), Hall()
    hall.opened.set()
    leases = Leases(store, "a")
    rules: dict[str, JsonObject] = {"tool:desk/wait": {"max_concurrency": 2}}
    calls, provider, gates, catalogue = await gated(rules=rules, leases=leases)
    provider.tools["wait"] = hall.visit
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(leases.run)
        assert (await calls.call(Call("desk/wait"))).error is None
        await ruled(catalogue, {"tool:desk/wait": {"max_concurrency": None}})
        asked = store.asked
        await calls.call_many([Call("desk/wait")] * 12)
        assert store.asked == asked
        assert [state.leased for state in gates.states()] == [None]
        tasks.cancel_scope.cancel()


@pytest.mark.promise("limits-board")
async def test_what_gates_do_is_pinned_for_others_while_it_changes_and_then_taken_down() -> None:
    store, hall = Watched(), Hall()
    calls, provider, gates, _ = await gated()
    provider.tools["wait"] = hall.visit
    clock = _Quick()
    board = LimitBoard(gates, store, clock, "a")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(board.run)
        await clock.rounds(2)
        assert await store.told() == {}
        tasks.start_soon(calls.call, Call("desk/wait"))
        await hall.filled(1)
        await clock.rounds(2)
        ((state,),) = (await store.told()).values()
        assert GateState.read(state) == gates.states()[0]
        store.is_broken = True
        hall.opened.set()
        await clock.rounds(2)
        store.is_broken = False
        await clock.rounds(2)
        ((state,),) = (await store.told()).values()
        assert state["running"] == 0
        tasks.cancel_scope.cancel()
    assert await store.told() == {}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(LimitBoard(gates, store, clock, "b").run)
        await clock.rounds(2)
        store.is_broken = True
        tasks.cancel_scope.cancel()
    assert [*await store.told()] == ["b"]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(LimitBoard(gates, store, clock, "c").run)
        tasks.cancel_scope.cancel()
    assert GateState.read({"scope": 7}) is None


@pytest.mark.promise("healing-breaker")
async def test_tools_that_are_not_called_for_a_while_are_pinned_among_the_limits() -> None:
    store = Watched()
    _, _, gates, _ = await gated()
    clock = _Quick()
    breakers = [
        BreakerState("desk", ToolId("desk", name), state, 5, seconds)
        for name, state, seconds in (
            ("a", CircuitState.OPEN, 1.2),
            ("b", CircuitState.HALF_OPEN, 0.0),
            ("c", CircuitState.CLOSED, 0.0),
        )
    ]
    board = LimitBoard(gates, store, clock, "a", breakers=lambda: breakers)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(board.run)
        await clock.rounds(2)
        (told,) = (await store.told()).values()
        tasks.cancel_scope.cancel()
    read = [GateState.read(facts) for facts in told]
    assert [(one.scope, one.cap, one.paused_seconds) for one in read if one is not None] == [
        ("tool:desk/a", 0, 2), ("tool:desk/b", 0, 0),
    ]  # fmt: skip
    assert [one.why.partition("; ")[2] for one in read if one is not None] == [
        "it is tried again in 2 s", "the next call looks whether it works",
    ]  # fmt: skip


class _Quick(SystemClock):
    """A clock on which every sleep is short; it counts them."""

    def __init__(self) -> None:
        super().__init__()
        self._slept = 0
        self._woke = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        assert seconds == 1.0
        self._slept += 1
        woke, self._woke = self._woke, anyio.Event()
        woke.set()
        await anyio.sleep(0.002)

    async def rounds(self, number: int) -> None:
        """Wait for so many more sleeps."""
        until = self._slept + number
        while self._slept < until:
            await self._woke.wait()
