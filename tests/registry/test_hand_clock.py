"""The clock that tests drive by hand."""

from __future__ import annotations

import anyio

from toolcrib_registry.hand_clock import HandClock


async def test_a_sleeper_wakes_when_its_time_was_advanced_and_not_before() -> None:
    clock = HandClock()
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleep, 10)
        tasks.start_soon(sleep, 1)
        await clock.sleeper()
        await anyio.wait_all_tasks_blocked()
        clock.advance(5)
        await anyio.wait_all_tasks_blocked()
        assert woken == [1]
        clock.advance(5)
    assert woken == [1, 10]
    assert clock.monotonic() == 10
    assert (clock.now() - HandClock().now()).total_seconds() == 10


async def test_no_time_is_no_sleep_and_a_cancelled_sleeper_is_forgotten() -> None:
    clock = HandClock()
    await clock.sleep(0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.sleep, 10)
        await clock.sleeper()
        tasks.cancel_scope.cancel()
    with anyio.move_on_after(0) as nobody:
        await clock.sleeper()
    assert nobody.cancelled_caught
