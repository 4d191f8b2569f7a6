"""The open connection of an upstream, as callers see it: there, coming, or not to be had.

The owner task says how it stands; callers in their own tasks take the connection, wait for one that
is being made, and fail at once where it is known that there is none.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.errors import (
    AT_CAPACITY,
    NEEDS_SIGN_IN,
    SOURCE_UNAVAILABLE,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import Clock

_TOLD: Final = frozenset({NEEDS_SIGN_IN, AT_CAPACITY})


class Link:
    """One of three: open, opening (callers wait), or down for a reason.

    Attributes:
        on_wanted: called when somebody waits for a connection.
    """

    def __init__(self, source: str, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._retry_at = inf
        self.on_wanted: Callable[[], None] = _nothing
        self._wire: Wire | None = None
        self._failure: ToolError | None = None
        self._was_open = False
        self._changed = anyio.Event()

    @property
    def present(self) -> Wire | None:
        """The connection, if there is one at this moment."""
        is_there = self._wire is not None and not self._wire.ended.is_set()
        return self._wire if is_there else None

    def opening(self) -> None:
        """A connection is being made; whoever calls waits for it."""
        self._become(None, None)

    def rest(self) -> None:
        """There is none until somebody wants it; that one waits like a first caller."""
        self._was_open = False
        self._become(None, None)

    def open(self, wire: Wire) -> None:
        """The connection is there."""
        self._was_open = True
        self._become(wire, None)

    def down(self, failure: ToolError, seconds: float) -> None:
        """There is none, and nobody should wait; it is tried again in so many seconds."""
        self._retry_at = self._clock.monotonic() + seconds
        self._become(None, failure)

    def _become(self, wire: Wire | None, failure: ToolError | None) -> None:
        self._wire, self._failure = wire, failure
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def wire(self, timeout_seconds: float, reconnect_seconds: float | None = None) -> Wire:
        """The open connection.

        Args:
            timeout_seconds: how long to wait for it.
            reconnect_seconds: how long if there was one before and it was lost; None: as long.

        Raises:
            ToolError: `source_unavailable` or `needs_sign_in`; nothing was called.
        """
        wire = self._wire
        if wire is not None and not wire.ended.is_set():
            return wire
        self.on_wanted()
        if self._was_open and reconnect_seconds is not None:
            timeout_seconds = min(timeout_seconds, reconnect_seconds)
        with anyio.move_on_after(timeout_seconds):
            return await self._coming()
        text = (
            f"{self._source!r} is still connecting after {timeout_seconds:g} s; nothing was called"
        )
        raise ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE, {"sent": False})

    async def _coming(self) -> Wire:
        while True:
            if self._failure is not None:
                raise self._refusal(self._failure)
            # One that has ended is replaced by the owner task as soon as it gets to it.
            if self._wire is not None and not self._wire.ended.is_set():
                return self._wire
            await self._changed.wait()

    def _refusal(self, failure: ToolError) -> ToolError:
        """Why nothing was called, and when another attempt is made."""
        code = failure.code if failure.code in _TOLD else SOURCE_UNAVAILABLE
        details: JsonObject = {**failure.details, "sent": False}
        seconds = self._retry_at - self._clock.monotonic()
        again = ""
        if seconds < inf and failure.code != NEEDS_SIGN_IN:
            details["retry_after_seconds"] = max(0.1, round(seconds, 1))
            again = f"; it is tried again in {details['retry_after_seconds']} s"
        text = f"{self._source!r} is not connected: {failure.message}; nothing was called{again}"
        return ToolError(code, text, failure.kind, details)


def _nothing() -> None:
    """Nobody has to know."""
