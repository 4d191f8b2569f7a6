"""Whether an upstream that let somebody wait in vain still lives: it is pinged, and ended if not.

A server that hangs keeps its pipes or its address open, so nothing else would ever tell. Any answer
to a ping will do, also an error. Not a heartbeat: nobody is pinged without a reason.

A server that does one thing at a time answers no ping while it works. So one that is silent is
given the time of the calls that it had when the doubt came; those that come later prolong nothing.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from mcp_types import REQUEST_TIMEOUT

from toolcrib_adapters.sources.mcp_upstream.failures import RequestError
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from toolcrib_adapters.sources.mcp_upstream.wire import Wire

_PING_SECONDS: Final = 5.0
_SLOW_SECONDS: Final = 10.0
_BUSY_SECONDS: Final = 60.0
"""No call of others is a reason to wait longer for a server that is silent."""


class Pulse:
    """The doubts about one upstream."""

    def __init__(self) -> None:
        self._doubted = anyio.Event()

    def doubt(self) -> None:
        """Something was not answered in time."""
        self._doubted.set()

    @asynccontextmanager
    async def doubting_soon(self) -> AsyncIterator[None]:
        """Doubt if the block takes longer than an upstream that works."""
        async with anyio.create_task_group() as tasks:

            async def doubt_later() -> None:
                await anyio.sleep(_SLOW_SECONDS)
                self.doubt()

            tasks.start_soon(doubt_later)
            yield
            tasks.cancel_scope.cancel()

    async def keep(self, wire: Wire, until_calls_end: Callable[[], Awaitable[bool]]) -> None:
        """Ping whenever there is a doubt; the connection is ended when no answer comes.

        Args:
            wire: the connection.
            until_calls_end: returns when the calls that run at that moment have ended; False if
                there are none.
        """
        self._doubted = anyio.Event()  # earlier doubts were about another connection
        while True:
            await self._doubted.wait()
            if not await _is_alive(wire) and not await _was_busy(wire, until_calls_end):
                wire.end(
                    "the server hangs: it let a request wait in vain, and answered no ping within "
                    f"{_PING_SECONDS:g} s"
                )
            self._doubted = anyio.Event()


async def _was_busy(wire: Wire, until_calls_end: Callable[[], Awaitable[bool]]) -> bool:
    """Whether it answers after all, once what it may have been working at is over."""
    had_calls = True
    with anyio.move_on_after(_BUSY_SECONDS):
        had_calls = await until_calls_end()
    return had_calls and await _is_alive(wire)


async def _is_alive(wire: Wire) -> bool:
    method = "server/discover" if wire.is_modern else "ping"
    try:
        await wire.request(method, {}, patience=Patience(_PING_SECONDS))
    except RequestError as error:
        return error.code != REQUEST_TIMEOUT
    return True
