"""Who uses an upstream at the moment, and since when nobody does: how it rests and wakes.

A source at rest has no connection and no process; whoever calls it wakes it. It rests before its
first call (`start = "lazy"`), after it has been idle for long, or when its place is needed.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolcrib_adapters.processes.seats import Seats
    from toolcrib_registry.ports import Clock


class Usage:
    """The use of one upstream; the holder of its seat.

    Attributes:
        on_use: called when somebody begins to use it.
    """

    def __init__(
        self,
        clock: Clock,
        seats: Seats,
        on_leave: Callable[[], None],
        is_needed: Callable[[], bool],
    ) -> None:
        """Not used yet.

        Args:
            clock: time.
            seats: told when it becomes idle.
            on_leave: called before the connection ends for want of use: nobody gets it any more.
            is_needed: whether it has to stay for another reason than a call.
        """
        self.on_use: Callable[[], None] = _nothing
        self._clock = clock
        self._seats = seats
        self._on_leave = on_leave
        self._is_needed = is_needed
        self._calls: set[object] = set()
        self._call_ended = anyio.Event()
        self._used = 0.0
        self._is_open = False
        self._wanted = anyio.Event()
        self._sent_off = anyio.Event()

    @contextmanager
    def using(self) -> Iterator[None]:
        """A call runs inside: the upstream wakes, and stays."""
        token = object()
        self._calls.add(token)
        self.on_use()
        try:
            yield
        finally:
            self._calls.discard(token)
            self._used = self._clock.monotonic()
            ended, self._call_ended = self._call_ended, anyio.Event()
            ended.set()
            self._seats.look()

    def wake(self) -> None:
        """Somebody wants the connection."""
        self._wanted.set()

    async def until_wanted(self) -> None:
        """Return when somebody wants the connection; at once if somebody does already."""
        if not self._calls:
            self._wanted = anyio.Event()
            await self._wanted.wait()

    async def until_present_calls_end(self) -> bool:
        """Return when the calls that run now have ended, and whether there are any."""
        present = set(self._calls)
        while present & self._calls:
            await self._call_ended.wait()
        return bool(present)

    @property
    def in_use(self) -> bool:
        """Whether somebody needs it at this moment."""
        return bool(self._calls) or self._is_needed()

    @property
    def idle_since(self) -> float | None:
        """See `Holder`."""
        return None if not self._is_open or self.in_use else self._used

    @property
    def is_sent_off(self) -> bool:
        """Whether the last connection ended because nobody used it."""
        return self._sent_off.is_set()

    def connecting(self) -> None:
        """A connection is being made."""
        self._sent_off = anyio.Event()

    def leave(self) -> None:
        """End the connection, if it is idle: another source needs its place."""
        if self.idle_since is not None:
            self._sent_off.set()
            self._on_leave()

    async def until_sent_off(self, idle_seconds: float | None) -> None:
        """Return when the connection has been idle for so long, or its place is needed."""
        self._is_open, self._used = True, self._clock.monotonic()
        self._seats.look()
        try:
            async with anyio.create_task_group() as tasks:
                if idle_seconds is not None:
                    tasks.start_soon(self._leave_when_idle, idle_seconds)
                await self._sent_off.wait()
                tasks.cancel_scope.cancel()
        finally:
            self._is_open = False

    async def _leave_when_idle(self, seconds: float) -> None:
        while not self.is_sent_off:
            since = self.idle_since
            left = seconds if since is None else since + seconds - self._clock.monotonic()
            if left <= 0:
                self.leave()
            else:
                await self._clock.sleep(left)


def _nothing() -> None:
    """Nobody has to know."""
