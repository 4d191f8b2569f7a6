"""What an upstream may ask in the middle of calls: all of it for one connection.

Whose question it is (`desk.py`), calls that wait for callers who come back (`parking.py`), and the
connection of the older generation for callers of that generation (`older_connection.py`).
"""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.sources.mcp_upstream.desk import Desk
from toolcrib_adapters.sources.mcp_upstream.failures import RequestError
from toolcrib_adapters.sources.mcp_upstream.older_connection import OlderConnection
from toolcrib_adapters.sources.mcp_upstream.parking import ParkingLot
from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from toolcrib_adapters.sources.mcp_upstream.spec import StdioSpec
    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_registry.interaction import Interaction

    Connect = Callable[[HttpSpec], AbstractAsyncContextManager[Wire]]
    """Makes a connection."""

_PING_SECONDS: Final = 1.0


class Dialogue:
    """The dialogue with one upstream.

    Attributes:
        desk: the calls in flight.
        lot: the parked calls.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self.desk = Desk(repr(source), is_shared=True)
        self.lot = ParkingLot(source)
        self._older: OlderConnection | None = None
        self._wire: Wire | None = None

    @asynccontextmanager
    async def open(
        self, wire: Wire, spec: StdioSpec | HttpSpec, connect: Connect
    ) -> AsyncIterator[None]:
        """Questions find their callers while the block runs; calls that wait then are cancelled."""
        # Over HTTP each call has a stream of its own, and its questions come on it.
        self.desk = Desk(repr(self._source), is_shared=spec.transport != "http")
        wire.let_ask(self.desk.asked)
        self._older = self._older_beside(wire, spec, connect)
        self._wire = wire
        try:
            async with self.lot.open(), anyio.create_task_group() as tasks:
                if self._older is not None:
                    tasks.start_soon(self._older.keep)
                yield
                tasks.cancel_scope.cancel()
        finally:
            self._wire = None

    async def part(self) -> None:
        """Cancel the calls that wait for their callers, and let the server hear of it."""
        wire = self._wire
        if wire is None or not await self.lot.clear():
            return
        # An answer to what was sent after the cancellations says that they have arrived.
        with suppress(RequestError):
            await wire.request("ping", {}, patience=Patience(_PING_SECONDS))

    async def wire_for(self, caller: Interaction, wire: Wire, patience: Patience) -> Wire:
        """The connection for a call: of the caller's generation, where it may be asked something.

        Args:
            caller: who calls.
            wire: the usual connection.
            patience: how long the other one may take.
        """
        if self._older is None or caller.ask is None or not caller.abilities:
            return wire
        return await self._older.wire(patience) or wire

    def _older_beside(
        self, wire: Wire, spec: StdioSpec | HttpSpec, connect: Connect
    ) -> OlderConnection | None:
        """What makes a connection of the older generation, if that makes sense."""
        if not wire.is_modern or not isinstance(spec, HttpSpec) or not spec.asks_callers:
            return None
        older = spec.model_copy(update={"generation": "older"})

        @asynccontextmanager
        async def listening() -> AsyncIterator[Wire]:
            async with connect(older) as made:
                made.let_ask(self.desk.asked)
                yield made

        return OlderConnection(listening, spec.connect_timeout_seconds)
