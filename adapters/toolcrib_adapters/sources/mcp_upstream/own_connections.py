"""Connections that belong to somebody: made when first needed, bounded, ended when they are idle.

Whose they are and why is decided by others: callers with credentials of their own (`personal.py`),
callers or calls whose state at the server is nobody else's (`apart.py`).
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import anyio
import anyio.abc

from toolcrib_protocol.errors import AT_CAPACITY, SOURCE_UNAVAILABLE, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable, Iterator, Mapping

    from toolcrib_adapters.sources.source import Source
    from toolcrib_registry.listing import Listing
    from toolcrib_registry.notices import Notice
    from toolcrib_registry.ports import Clock, SourceState

_MOST_REMEMBERED: Final = 1_000
_BACK_SECONDS: Final = 2


class Make(Protocol):
    """Makes an upstream for one owner."""

    def __call__(self, headers: Mapping[str, str], *, is_reopened: bool) -> Source:
        """An upstream whose requests carry `headers`.

        Args:
            headers: the owner's own.
            is_reopened: whether the owner had one before, which was ended.
        """
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many connections there may be, and how long an idle one is kept."""

    most: int
    idle_seconds: float


@dataclass(eq=False, slots=True)
class _Connection:
    source: Source
    used: float
    calls: int = 0
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class _Quiet:
    """The host of a connection that is nobody's business but its owner's."""

    async def report(self, state: SourceState) -> None:
        """Nobody asks."""

    async def listed(self, listing: Listing) -> None:
        """The common connection says what there is."""

    def noticed(self, notice: Notice) -> None:
        """The common connection hears it, too."""

    def used(self) -> None:
        """The common connection tells it."""

    def is_known(self) -> bool:
        """It is made because somebody calls: it connects at once."""
        return False

    def is_hot(self) -> bool:
        """As above."""
        return True


class OwnConnections:
    """The connections of one upstream that belong to somebody, by their owners."""

    def __init__(self, name: str, clock: Clock, make: Make, bounds: Bounds) -> None:
        """No connection yet.

        Args:
            name: of the source, for messages.
            clock: time.
            make: makes one.
            bounds: of their number and idle time.
        """
        self._name = name
        self._clock = clock
        self._make = make
        self._bounds = bounds
        self._tasks: anyio.abc.TaskGroup | None = None
        self._is_swept = False
        self._connections: dict[Hashable, _Connection] = {}
        self._ended: dict[Hashable, None] = {}

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

    @contextmanager
    def of(self, owner: Hashable, headers: Mapping[str, str]) -> Iterator[Source]:
        """The connection of `owner`, kept while the block runs.

        Raises:
            ToolError: `at_capacity`, `source_unavailable`; nothing was called.
        """
        connection = self._connections.get(owner) or self._opened(owner, headers)
        connection.calls += 1
        try:
            yield connection.source
        finally:
            connection.calls -= 1
            connection.used = self._clock.monotonic()

    @contextmanager
    def for_once(self) -> Iterator[Source]:
        """A connection of its own for the block, ended after it.

        Raises:
            ToolError: see `of`.
        """
        owner = object()
        with self.of(owner, {}) as source:
            try:
                yield source
            finally:
                self._end(owner)

    def _opened(self, owner: Hashable, headers: Mapping[str, str]) -> _Connection:
        if self._tasks is None:
            text = f"{self._name!r} is not connected; nothing was called"
            raise ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE, {"sent": False})
        if len(self._connections) >= self._bounds.most:
            self._make_room()
        is_reopened = owner in self._ended
        self._ended.pop(owner, None)
        source = self._make(headers, is_reopened=is_reopened)
        connection = _Connection(source, self._clock.monotonic())
        self._connections[owner] = connection
        self._tasks.start_soon(self._own, owner, connection)
        if not self._is_swept:
            self._is_swept = True
            self._tasks.start_soon(self._sweep)
        return connection

    def _make_room(self) -> None:
        idle = {owner: c for owner, c in self._connections.items() if not c.calls}
        if not idle:
            text = (
                f"{self._bounds.most} callers with connections of their own use {self._name!r} "
                "already; nothing was called"
            )
            details = {"retry_after_seconds": _BACK_SECONDS, "sent": False}
            raise ToolError(AT_CAPACITY, text, ErrorKind.RETRYABLE, {**details})
        self._end_idle(min(idle, key=lambda owner: idle[owner].used))

    async def _own(self, owner: Hashable, connection: _Connection) -> None:
        try:
            with connection.scope:
                await connection.source.run(_Quiet())
        finally:
            if self._connections.get(owner) is connection:
                del self._connections[owner]

    def _end_idle(self, owner: Hashable) -> None:
        self._ended[owner] = None
        while len(self._ended) > _MOST_REMEMBERED:
            del self._ended[next(iter(self._ended))]
        self._end(owner)

    def _end(self, owner: Hashable) -> None:
        connection = self._connections.pop(owner, None)
        if connection is not None:
            connection.scope.cancel()

    async def _sweep(self) -> None:
        """End what is idle, until cancelled."""
        seconds = self._bounds.idle_seconds
        while True:
            await self._clock.sleep(seconds / 2)
            now = self._clock.monotonic()
            for owner, connection in list(self._connections.items()):
                if not connection.calls and now - connection.used >= seconds:
                    self._end_idle(owner)
