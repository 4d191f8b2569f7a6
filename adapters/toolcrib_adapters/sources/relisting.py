"""Whoever waits until a source has been asked for its list anew.

A source lists in rounds: who asks before a round begins has the answer when it ends, be it a list
or a failure (which the source reports as its state). Used by every kind of source.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

from toolcrib_adapters.sources.churn import Churn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_registry.ports import Clock


class Relisting:
    """The wishes for a new list."""

    def __init__(self) -> None:
        self._waiting: list[anyio.Event] = []
        self._asked = anyio.Event()
        self._is_over = False
        self._churn = Churn()

    @property
    def is_asked(self) -> bool:
        """Whether somebody waits for a round that has not begun."""
        return bool(self._waiting)

    async def wait(self) -> None:
        """Return at the end of the next round; at once if there will be none."""
        if self._is_over:
            return
        done = anyio.Event()
        self._waiting.append(done)
        self._asked.set()
        await done.wait()

    @contextmanager
    def round(self) -> Iterator[None]:
        """List inside the block: it answers everybody who has asked until now."""
        served = self._taken()
        try:
            yield
        except anyio.get_cancelled_exc_class():
            # Its connection ended under it: the state that says so comes first.
            self._waiting = [*served, *self._waiting]
            raise
        except Exception:
            _tell(served)
            raise
        _tell(served)

    def give_up(self) -> None:
        """There is no list to be had now; the state of the source says why."""
        _tell(self._taken())

    def end(self) -> None:
        """There will be no list any more: only other settings help."""
        self._is_over = True
        self.give_up()

    async def rest(self, clock: Clock) -> None:
        """After a list: leave a source alone that lists again and again, unless somebody asks."""
        seconds = self._churn.pause_seconds(clock)
        if seconds:
            await self.pause(clock, seconds)

    async def pause(self, clock: Clock, seconds: float) -> None:
        """Wait for the next round: until the time is up, or somebody asks for it."""
        async with anyio.create_task_group() as tasks:

            async def wake() -> None:
                await self._asked.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(wake)
            await clock.sleep(seconds)
            tasks.cancel_scope.cancel()

    def _taken(self) -> list[anyio.Event]:
        taken, self._waiting = self._waiting, []
        self._asked = anyio.Event()
        return taken


def _tell(waiting: list[anyio.Event]) -> None:
    for done in waiting:
        done.set()
