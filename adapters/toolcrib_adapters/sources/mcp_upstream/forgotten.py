"""Servers that have forgotten a connection: they refused what came over it before it did anything.

So it is asked again over the next connection, once, whatever it was; that is no retry of something
that may have run. Used by `upstream`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import anyio

from toolcrib_adapters.sources.mcp_upstream.failures import RequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_Answer = TypeVar("_Answer")
_PARTING_SECONDS: Final = 1.0


async def again_if_forgotten(ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """What asking brings, at the second time if the server did not know the connection.

    Raises:
        RequestError: of the server, or of the second time.
    """
    try:
        return await ask()
    except RequestError as failed:
        if not failed.is_lost_session:
            raise
    return await ask()


class Traffic:
    """The requests under way over one connection.

    Attributes:
        is_forgotten: whether the server said that it does not know the connection.
    """

    def __init__(self) -> None:
        self.is_forgotten = False
        self._requests = 0
        self._changed = anyio.Event()

    def begin(self) -> None:
        """One request more."""
        self._requests += 1

    def end(self) -> None:
        """One less."""
        self._requests -= 1
        if not self._requests:
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    async def told(self) -> None:
        """Wait until a server that forgot the connection has said so to all who asked over it.

        Closing it earlier would leave them with a broken connection, and nobody could tell whether
        what they asked for was done.
        """
        if not self.is_forgotten:
            return
        with anyio.move_on_after(_PARTING_SECONDS):
            while self._requests:
                await self._changed.wait()
