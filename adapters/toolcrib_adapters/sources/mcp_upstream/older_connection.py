"""A second connection to an HTTP upstream, in the older generation, made when it is first needed.

Servers that speak both generations often have tools that can ask in one of them only. A caller of
the older generation, who can be asked in the middle of a call, gets what it would get without us:
its calls go over a connection of its own generation. Not made for processes, which would run twice.
"""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_registry.patience import Patience

_log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 5.0
"""A call that waited so long goes over the usual connection."""


class OlderConnection:
    """The connection: not wanted yet, there, or refused by the server."""

    def __init__(
        self,
        connect: Callable[[], AbstractAsyncContextManager[Wire]],
        connect_seconds: float,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        """Nothing is connected.

        Args:
            connect: makes the connection.
            connect_seconds: how long that may take.
            wait_seconds: how long a call waits for it.
        """
        self._wait_seconds = wait_seconds
        self._connect = connect
        self._connect_seconds = connect_seconds
        self._wire: Wire | None = None
        self._is_refused = False
        self._wanted = anyio.Event()
        self._changed = anyio.Event()

    async def wire(self, patience: Patience) -> Wire | None:
        """The connection; None if the server does not take it, or not soon."""
        with patience.limit(), anyio.move_on_after(self._wait_seconds):
            while not self._is_refused:
                if self._wire is not None and not self._wire.ended.is_set():
                    return self._wire
                self._wanted.set()
                await self._changed.wait()
        return None

    async def keep(self) -> None:
        """Own the connection: make it when it is wanted, and again after it ended."""
        while not self._is_refused:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            try:
                with anyio.move_on_after(self._connect_seconds) as patience:
                    async with self._connect() as wire:
                        patience.deadline = inf
                        self._become(wire)
                        await wire.ended.wait()
                        self._wire = None
            except Exception as error:  # noqa: BLE001 - the owner task of a connection: its faults end here
                _log.debug("no older connection: %s", type(error).__name__)
                self._is_refused = self._wire is None
            self._is_refused |= patience.cancelled_caught
            self._become(None)

    def _become(self, wire: Wire | None) -> None:
        self._wire = wire
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
