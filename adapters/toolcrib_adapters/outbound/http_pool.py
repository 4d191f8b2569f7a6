"""The connections to HTTP servers that are kept open between requests.

A connection carries one request at a time; when its answer is whole, the next request may have it.
There is a limit for all of them. Requests run in the tasks of those who make them: nothing here
waits in a task of its own, so nothing that goes wrong with one request can reach another.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
import httpx2

from toolcrib_adapters.outbound.http_connection import (
    BrokenExchangeError,
    HttpConnection,
    Origin,
    connect,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from toolcrib_adapters.outbound.addresses import Reach

MOST_CONNECTIONS: Final = 1_000
MOST_IDLE: Final = 100
IDLE_SECONDS: Final = 4.0
"""Many servers close after five: a request that meets such a close has failed without a reason."""
_ROOM_SECONDS: Final = 30.0


class HttpPool:
    """The connections of one client."""

    def __init__(self, reach: Reach) -> None:
        """No connection yet.

        Args:
            reach: which addresses may be connected to.
        """
        self._reach = reach
        self._room = anyio.Semaphore(MOST_CONNECTIONS)
        self._idle: dict[Origin, list[HttpConnection]] = {}
        self._busy: set[HttpConnection] = set()
        self._trust: ssl.SSLContext | None = None
        self._is_retired = False

    @asynccontextmanager
    async def sending(self, origin: Origin, request: bytes) -> AsyncIterator[HttpConnection]:
        """The connection on which `request` was sent.

        When the block ends before the answer does, the connection is closed.

        Raises:
            BrokenExchangeError: there is no connection.
        """
        await self._take_room()
        try:
            connection = await self._quiet(origin) or await self._connected(origin)
            self._busy.add(connection)
            try:
                await connection.send(request)
                yield connection
            finally:
                self._busy.discard(connection)
                await self._put_back(origin, connection)
        finally:
            self._room.release()

    async def _take_room(self) -> None:
        if self._is_retired:
            raise _retired()
        try:
            self._room.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.move_on_after(_ROOM_SECONDS) as patience:
                await self._room.acquire()
            if patience.cancelled_caught:
                text = f"{MOST_CONNECTIONS:,} requests are under way already"
                raise BrokenExchangeError(text, never_left=True) from None

    async def _quiet(self, origin: Origin) -> HttpConnection | None:
        """The idle connection that was used last, if there is one that still lives."""
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            is_young = anyio.current_time() - connection.idle_since < IDLE_SECONDS
            if is_young and connection.is_quiet:
                return connection
            await connection.aclose()
        return None

    async def _connected(self, origin: Origin) -> HttpConnection:
        if origin.is_secure and self._trust is None:
            self._trust = httpx2.create_ssl_context()
            self._trust.set_alpn_protocols(["http/1.1"])
        connection = await connect(origin, self._reach, self._trust)
        if self._is_retired:
            await connection.aclose()
            raise _retired()
        return connection

    async def _put_back(self, origin: Origin, connection: HttpConnection) -> None:
        idle = self._idle.setdefault(origin, [])
        if self._is_retired or not connection.answer.leaves_connection or len(idle) >= MOST_IDLE:
            await connection.aclose()
            return
        connection.idle_since = anyio.current_time()
        idle.append(connection)

    async def sweep(self) -> None:
        """Close what nobody has used for a while."""
        now = anyio.current_time()
        for idle in self._idle.values():
            while idle and now - idle[0].idle_since >= IDLE_SECONDS:
                await idle.pop(0).aclose()

    async def retire(self) -> None:
        """Take no more requests; those under way are carried to their end."""
        self._is_retired = True
        for idle in self._idle.values():
            while idle:
                await idle.pop().aclose()

    async def aclose(self) -> None:
        """Close every connection; whoever waits for an answer is told."""
        await self.retire()
        for connection in [*self._busy]:
            await connection.aclose()


def _retired() -> BrokenExchangeError:
    return BrokenExchangeError("Connection closed", never_left=True, is_ours=True)
