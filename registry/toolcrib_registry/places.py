"""How many calls of one profile run at the same time; the others wait in line, within bounds.

Whoever finds the line full, or does not get a place in time, is told so before anything was called.
Not a limit of tools or sources. Used by the path of a call.
"""

from __future__ import annotations

from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.errors import AT_CAPACITY, ErrorKind, ToolError
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_registry.stages import Onward
    from toolcrib_registry.views import View
    from toolcrib_registry.work import Work

MOST_WAITING: Final = 200
"""How many calls of a profile may wait; more would only wait in vain."""
_AGAIN_SECONDS: Final = 2


@dataclass(slots=True)
class _Line:
    running: int = 0
    waiting: deque[anyio.Event] = field(default_factory=deque)

    def leave(self, most: int) -> None:
        """Give a place back; it goes to whoever waits longest, so that nobody can slip in."""
        self.running -= 1
        while self.waiting and self.running < most:
            self.running += 1
            self.waiting.popleft().set()


class Places:
    """The places of all profiles; a `Stage`. Used from one event loop."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def place(self, view: View, most_seconds: float) -> AsyncIterator[None]:
        """Hold a place of the view's profile while the block runs.

        Raises:
            ToolError: `at_capacity`; the block did not run.
        """
        if view.calls_at_once is None:
            yield
            return
        line = self._lines.setdefault(view.name, _Line())
        if line.running < view.calls_at_once:
            line.running += 1
        else:
            await _turn(line, view, most_seconds)
        try:
            yield
        finally:
            line.leave(view.calls_at_once)

    async def carry(self, work: Work, onward: Onward) -> Result:
        """The result, or `at_capacity` without a call: as a stage of the path of a call."""
        try:
            async with self.place(work.call.view, work.seconds):
                return await onward(work)
        except ToolError as error:
            return Result.failed(error)


async def _turn(line: _Line, view: View, most_seconds: float) -> None:
    """Wait for a place that somebody leaves."""
    if len(line.waiting) >= MOST_WAITING:
        raise _full(view, f"{len(line.waiting)} more wait already")
    turn = anyio.Event()
    line.waiting.append(turn)
    has_place = False
    try:
        with anyio.move_on_after(most_seconds):
            await turn.wait()
            has_place = True
    finally:
        if turn in line.waiting:
            line.waiting.remove(turn)
        elif not has_place:
            # The place came in the same moment as the end of the waiting.
            line.leave(view.calls_at_once or 1)
    if not has_place:
        raise _full(view, f"none ended within {most_seconds:g} s")


def _full(view: View, why: str) -> ToolError:
    return ToolError(
        AT_CAPACITY,
        f"the profile {view.name!r} runs {view.calls_at_once} calls at once, and {why}; nothing "
        f"was called, try again in {_AGAIN_SECONDS} s",
        ErrorKind.RETRYABLE,
        {"retry_after_seconds": _AGAIN_SECONDS},
    )
