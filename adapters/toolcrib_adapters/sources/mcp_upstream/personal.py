"""Connections of single callers, to servers that bind a connection to a credential.

An older server may tie a session to whoever opened it, so what one caller's headers opened must not
carry another's request: each set of forwarded values has a connection of its own, made when it is
first needed and ended when it was not needed for a while. Newer servers need none of this.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc

from toolcrib_adapters.sources.mcp_upstream.forwarding import forwarded
from toolcrib_protocol.errors import AT_CAPACITY, SOURCE_UNAVAILABLE, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec, StdioSpec
    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_adapters.sources.source import Source
    from toolcrib_registry.listing import Listing
    from toolcrib_registry.notices import Notice
    from toolcrib_registry.ports import CallContext, Clock, SourceState

MOST_CONNECTIONS: Final = 100
"""So many callers of one source may have a connection at once."""
IDLE_SECONDS: Final = 300.0


@dataclass(eq=False, slots=True)
class _Connection:
    source: Source
    used: float
    calls: int = 0
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class _Quiet:
    """The host of a connection that is nobody's business but its caller's."""

    async def report(self, state: SourceState) -> None:
        """Nobody asks."""

    async def listed(self, listing: Listing) -> None:
        """The common connection says what there is."""

    def noticed(self, notice: Notice) -> None:
        """The common connection hears it, too."""


class PersonalConnections:
    """The connections of one upstream, by the headers that they carry."""

    def __init__(
        self, name: str, clock: Clock, make: Callable[[Mapping[str, str]], Source]
    ) -> None:
        """No connection yet.

        Args:
            name: of the source, for messages.
            clock: time.
            make: an upstream whose requests carry these headers.
        """
        self._name = name
        self._clock = clock
        self._make = make
        self._tasks: anyio.abc.TaskGroup | None = None
        self._is_swept = False
        self._forward: Mapping[str, str] = {}
        self._has_requests_apart = False
        self._connections: dict[frozenset[tuple[str, str]], _Connection] = {}

    def __len__(self) -> int:
        return len(self._connections)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connections can be made inside; all are closed at the end."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks, self._is_swept = None, False
                tasks.cancel_scope.cancel()

    def follow(self, spec: StdioSpec | HttpSpec) -> None:
        """Do what these settings say."""
        self._forward = spec.forward_headers
        # The older SSE transport sends the same headers with every request.
        self._has_requests_apart = spec.transport == "http"

    def carried(self, wire: Wire, context: CallContext) -> Wire:
        """`wire`, or the same with the headers of this caller, where that binds nothing to them.

        Raises:
            ToolError: `invalid_arguments` if a header cannot be sent.
        """
        if context.own_headers and self._has_requests_apart:
            wire = wire.adding(context.own_headers)
        headers = forwarded(self._forward, context.caller_headers)
        return wire.carrying(headers) if headers and self._can_carry(wire) else wire

    def wanted(self, wire: Wire, context: CallContext) -> AbstractContextManager[Source] | None:
        """The connection that this caller's request needs instead of `wire`, or None.

        Raises:
            ToolError: `invalid_arguments` if a header cannot be sent.
        """
        headers = forwarded(self._forward, context.caller_headers)
        return None if not headers or self._can_carry(wire) else self.of(headers)

    def _can_carry(self, wire: Wire) -> bool:
        return wire.is_modern and self._has_requests_apart

    @contextmanager
    def of(self, headers: Mapping[str, str]) -> Iterator[Source]:
        """The connection that carries `headers`, kept while the block runs.

        Raises:
            ToolError: `at_capacity`, `source_unavailable`; nothing was called.
        """
        key = frozenset(headers.items())
        connection = self._connections.get(key) or self._opened(key, headers)
        connection.calls += 1
        try:
            yield connection.source
        finally:
            connection.calls -= 1
            connection.used = self._clock.monotonic()

    def _opened(self, key: frozenset[tuple[str, str]], headers: Mapping[str, str]) -> _Connection:
        if self._tasks is None:
            text = f"{self._name!r} is not connected; nothing was called"
            raise ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)
        if len(self._connections) >= MOST_CONNECTIONS:
            self._make_room()
        connection = _Connection(self._make(headers), self._clock.monotonic())
        self._connections[key] = connection
        self._tasks.start_soon(self._own, key, connection)
        if not self._is_swept:
            self._is_swept = True
            self._tasks.start_soon(self._sweep)
        return connection

    def _make_room(self) -> None:
        idle = [c for c in self._connections.values() if not c.calls]
        if not idle:
            text = (
                f"{MOST_CONNECTIONS} callers with credentials of their own use {self._name!r} "
                "already; nothing was called"
            )
            details = {"retry_after_seconds": 2}
            raise ToolError(AT_CAPACITY, text, ErrorKind.RETRYABLE, {**details})
        self._end(min(idle, key=lambda connection: connection.used))

    async def _own(self, key: frozenset[tuple[str, str]], connection: _Connection) -> None:
        try:
            with connection.scope:
                await connection.source.run(_Quiet())
        finally:
            if self._connections.get(key) is connection:
                del self._connections[key]

    def _end(self, connection: _Connection) -> None:
        for key, known in list(self._connections.items()):
            if known is connection:
                del self._connections[key]
        connection.scope.cancel()

    async def _sweep(self) -> None:
        """End what is idle, until cancelled."""
        while True:
            await self._clock.sleep(IDLE_SECONDS / 2)
            now = self._clock.monotonic()
            for connection in list(self._connections.values()):
                if not connection.calls and now - connection.used >= IDLE_SECONDS:
                    self._end(connection)
