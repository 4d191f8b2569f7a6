"""The limits of a profile: how long a call may take, how many run at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.cribs import desk, raw_tool
from toolcrib_protocol.errors import AT_CAPACITY, ErrorKind
from toolcrib_protocol.result import Result, Status
from toolcrib_registry.call import Call
from toolcrib_registry.places import MOST_WAITING, Places
from toolcrib_registry.views import View

if TYPE_CHECKING:
    from tests.registry.providers import MemoryProvider
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.ports import CallContext

ONE = View("careful", calls_at_once=1)


class Gate:
    """A tool whose calls run until the test lets them end; it counts how many do at once."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.limits: list[float] = []
        self.opened = anyio.Event()
        self.entered = anyio.Event()

    async def pass_through(self, arguments: JsonObject, context: CallContext) -> Result:
        self.limits.append(context.timeout_seconds)
        self.running += 1
        self.most = max(self.most, self.running)
        self.entered.set()
        try:
            await self.opened.wait()
        finally:
            self.running -= 1
        return Result(data=arguments, has_data=True)


async def gated() -> tuple[Calls, MemoryProvider, Gate]:
    calls, provider, _ = await desk(raw_tool("wait"))
    gate = Gate()
    provider.tools["wait"] = gate.pass_through
    return calls, provider, gate


@pytest.mark.promise("endpoint-profile-limits")
async def test_no_call_of_a_profile_may_take_longer_than_it_allows() -> None:
    calls, _, gate = await gated()
    gate.opened.set()
    view = View("quick", timeout_seconds=2.5)
    for asked in (None, 100.0, 1.0):
        await calls.call(Call("desk/wait", timeout_seconds=asked, view=view))
    assert gate.limits == [2.5, 2.5, 1.0]


@pytest.mark.promise("endpoint-profile-limits")
@pytest.mark.parametrize("most", [1, 3])
async def test_no_more_calls_of_a_profile_run_at_once_than_it_allows(most: int) -> None:
    calls, _, gate = await gated()
    view = View("careful", calls_at_once=most)
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(calls.call, Call("desk/wait", view=view))
        tasks.start_soon(calls.call, Call("desk/wait", view=View("other", calls_at_once=1)))
        await anyio.wait_all_tasks_blocked()
        others = gate.running - most
        gate.opened.set()
    assert others == 1
    assert gate.most == most + 1
    assert len(gate.limits) == 9


@pytest.mark.promise("endpoint-profile-limits")
async def test_a_call_that_gets_no_place_in_time_was_not_made_and_may_be_repeated() -> None:
    calls, provider, gate = await gated()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, Call("desk/wait", view=ONE))
        await gate.entered.wait()
        late = await calls.call(Call("desk/wait", timeout_seconds=0.01, view=ONE))
        gate.opened.set()
    assert late.status is Status.RETRYABLE_ERROR
    assert late.error is not None
    assert (late.error.code, late.error.kind) == (AT_CAPACITY, ErrorKind.RETRYABLE)
    assert "'careful' runs 1 calls at once" in late.error.message
    assert len(provider.called) == 1


async def test_a_full_line_refuses_at_once_and_those_who_leave_it_make_room() -> None:
    calls, provider, gate = await gated()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, Call("desk/wait", view=ONE))
        await gate.entered.wait()
        async with anyio.create_task_group() as waiting:
            for _ in range(MOST_WAITING):
                waiting.start_soon(calls.call, Call("desk/wait", view=ONE))
            await anyio.wait_all_tasks_blocked()
            refused = await calls.call(Call("desk/wait", view=ONE))
            waiting.cancel_scope.cancel()
        gate.opened.set()
        after = await calls.call(Call("desk/wait", {}, view=ONE))
    assert refused.error is not None
    assert "200 more wait already" in refused.error.message
    assert after.status is Status.SUCCESS
    assert len(provider.called) == 2


async def test_a_place_that_comes_when_the_waiting_has_ended_goes_to_the_next() -> None:
    places = Places()

    async def wait() -> None:
        async with places.place(ONE, 60):
            raise AssertionError("it was cancelled before")

    async with anyio.create_task_group() as leaving, places.place(ONE, 60):
        leaving.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        leaving.cancel_scope.cancel()
    with anyio.fail_after(5):
        async with places.place(ONE, 0):
            pass
