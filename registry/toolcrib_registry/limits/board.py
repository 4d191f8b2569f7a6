"""Tells other processes how the gates of this one stand, so that people can look at them.

Pinned on a board of the store, about every second, only while something changes; now and then a
sign of life. Nobody decides anything by it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.errors import ToolError
from toolcrib_registry.limits.spared import spared_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolcrib_registry.breaker import BreakerState
    from toolcrib_registry.limits.gate_state import GateState
    from toolcrib_registry.limits.gates import Gates
    from toolcrib_registry.ports import Clock, LimitStore

_log = logging.getLogger(__name__)

BOARD_SECONDS: Final = 1.0
HEARTBEAT_SECONDS: Final = 10.0
SILENT_SECONDS: Final = 30.0
"""A process that is silent for longer is not shown any more."""
_LEAVE_SECONDS: Final = 2.0


class LimitBoard:
    """The place of one process on the board."""

    def __init__(
        self,
        gates: Gates,
        store: LimitStore,
        clock: Clock,
        crib: str,
        *,
        breakers: Callable[[], Iterable[BreakerState]] = tuple,
    ) -> None:
        """Nothing is pinned; `run` has to run.

        Args:
            gates: whose states are told.
            store: where they are pinned.
            clock: time.
            crib: the name of this process.
            breakers: the breakers that are not just closed.
        """
        self._breakers = breakers
        self._gates = gates
        self._store = store
        self._clock = clock
        self._crib = crib
        self._pinned: list[GateState] = []
        self._pinned_at = 0.0

    async def run(self) -> None:
        """Keep the board until cancelled; then it is taken down."""
        try:
            while True:
                await self._clock.sleep(BOARD_SECONDS)
                await self._pin()
        finally:
            with anyio.move_on_after(_LEAVE_SECONDS, shield=True):
                await self._take_down()

    async def _pin(self) -> None:
        states = [*self._gates.states(), *spared_tools(self._breakers())]
        now = self._clock.monotonic()
        is_quiet = now - self._pinned_at < HEARTBEAT_SECONDS
        if states == self._pinned and (is_quiet or not states):
            return
        try:
            await self._store.tell(self._crib, [one.as_json() for one in states], SILENT_SECONDS)
        except ToolError as error:
            # People look at it; the gates hold without it, and the next round comes.
            _log.warning("cannot tell how the limits stand: %s", error.message)
            return
        self._pinned, self._pinned_at = states, now

    async def _take_down(self) -> None:
        if not self._pinned:
            return
        try:
            await self._store.give_back(self._crib)
        except ToolError as error:
            _log.warning("cannot take down how the limits stood: %s", error.message)
