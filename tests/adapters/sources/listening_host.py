"""A host that keeps what a source tells it, so that tests can wait for it."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from toolcrib_registry.ports import SourceState, SourceStatus

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_adapters.sources.source import Source
    from toolcrib_protocol.errors import ToolError
    from toolcrib_registry.listing import Listing
    from toolcrib_registry.notices import Notice


class ListeningHost:
    def __init__(self, *refusals: ToolError) -> None:
        self.listings: list[Listing] = []
        self.states: list[SourceState] = []
        self.notices: list[Notice] = []
        self.knows = False
        self.uses = 0
        self._refusals = list(refusals)
        self._send, self._receive = anyio.create_memory_object_stream[SourceState](math.inf)

    async def report(self, state: SourceState) -> None:
        self.states.append(state)
        self._send.send_nowait(state)

    async def listed(self, listing: Listing) -> None:
        if self._refusals:
            raise self._refusals.pop(0)
        self.listings.append(listing)

    def noticed(self, notice: Notice) -> None:
        self.notices.append(notice)

    def used(self) -> None:
        self.uses += 1

    def is_known(self) -> bool:
        return self.knows

    def is_hot(self) -> bool:
        return False

    async def settled(self) -> SourceState:
        """The next state that is not `connecting`."""
        with anyio.fail_after(30):
            state = await self._receive.receive()
            while state.status is SourceStatus.CONNECTING:
                state = await self._receive.receive()
            return state


@asynccontextmanager
async def running(source: Source, host: ListeningHost) -> AsyncIterator[None]:
    """The source runs inside; all it opened is closed afterwards."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(source.run, host)
        yield
        tasks.cancel_scope.cancel()
