"""Seats bound how many processes run: who is idle stands up, who works stays."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from toolcrib_adapters.processes.seats import Busy, Seats
from toolcrib_protocol.errors import AT_CAPACITY, ErrorKind, ToolError

pytestmark = pytest.mark.anyio


class Guest:
    """A holder that leaves when it is asked to."""

    def __init__(self, idle_since: float | None = None) -> None:
        self.idle_since = idle_since
        self.asked = anyio.Event()

    def leave(self) -> None:
        self.asked.set()

    async def stay(self, seats: Seats) -> None:
        async with seats.seat(self):
            await self.asked.wait()


@pytest.mark.promise("life-ceiling")
async def test_the_one_that_has_been_idle_for_the_longest_makes_room() -> None:
    seats = Seats(3)
    guests = [Guest(5.0), Guest(2.0), Guest(None)]
    async with anyio.create_task_group() as tasks:
        for guest in guests:
            tasks.start_soon(guest.stay, seats)
        await anyio.wait_all_tasks_blocked()
        async with seats.seat(Busy()):
            assert [guest.asked.is_set() for guest in guests] == [False, True, False]
            assert seats.taken == seats.most == 3
        tasks.cancel_scope.cancel()
    assert seats.taken == 0


@pytest.mark.promise("life-ceiling")
async def test_who_finds_all_at_work_is_told_to_come_back() -> None:
    seats = Seats(1)
    async with seats.seat(Busy()):
        with pytest.raises(ToolError, match="nothing was started") as told:
            async with seats.seat(Guest(), wait_seconds=0.01):
                pass
    assert (told.value.code, told.value.kind) == (AT_CAPACITY, ErrorKind.RETRYABLE)
    assert told.value.details == {"sent": False, "retry_after_seconds": 2}
    assert seats.taken == 0


@pytest.mark.promise("life-ceiling")
async def test_who_waits_gets_the_seat_of_one_that_becomes_idle_meanwhile() -> None:
    seats, guest = Seats(1), Guest(None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guest.stay, seats)
        await anyio.wait_all_tasks_blocked()

        async def become_idle() -> None:
            await anyio.wait_all_tasks_blocked()
            guest.idle_since = 1.0
            seats.look()

        tasks.start_soon(become_idle)
        async with seats.seat(Busy(), wait_seconds=30):
            assert guest.asked.is_set()


@pytest.mark.promise("life-ceiling")
async def test_no_more_are_asked_to_leave_than_wait() -> None:
    seats = Seats(4)
    guests = [Guest(float(n)) for n in range(4)]
    async with anyio.create_task_group() as tasks:
        for guest in guests:
            tasks.start_soon(guest.stay, seats)
        await anyio.wait_all_tasks_blocked()
        async with seats.seat(Busy()):
            pass
        assert sum(guest.asked.is_set() for guest in guests) == 1
        tasks.cancel_scope.cancel()
    with anyio.move_on_after(0):
        async with seats.seat(Busy()):
            await anyio.lowlevel.checkpoint()
    assert seats.taken == 0
