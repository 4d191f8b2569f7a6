"""The clients of one endpoint, and how they are told that something changed.

Older clients are told on their session, clients of 2026-07-28 on the stream they subscribed with.
That the tool list changed is told from here: to those whose list did, once a burst. A session of an
older client may keep the mode in which it found the list (`session_modes.py`), so each is told when
the list in its mode changes. What the list is, `endpoint_tools.py` knows; what else changes,
`passthrough`.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.subscriptions import event_to_notification
from mcp_types import ToolListChangedNotification

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.settling import Settling

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Container

    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ServerEvent
    from mcp_types import NotificationParams, ServerNotification

    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.records import EndpointMode
    from toolcrib_registry.snapshot import Snapshot

_log = logging.getLogger(__name__)

DEBOUNCE_SECONDS: Final = 0.5
"""Sources that connect one after the other make one notification, not one each."""
_LONGEST_BURST: Final = 4
"""A burst that lasts so many times as long as its pauses may be is told about in between."""
_MOST_LISTENERS: Final = 1_024
_TELL_SECONDS: Final = 5.0


class ListChanges:
    """Follows the catalogue and notifies the clients of one MCP server."""

    def __init__(
        self,
        catalogue: Catalogue,
        stamp: Callable[[EndpointMode | None], str],
        kept_mode: Callable[[ServerRequestContext[Any, Any]], EndpointMode | None],
        *,
        debounce_seconds: float = DEBOUNCE_SECONDS,
    ) -> None:
        """A notifier that is not running yet.

        Args:
            catalogue: what may change the list.
            stamp: tells the list in a mode, or the one that callers without a session see, from
                others.
            kept_mode: the mode that the session of a request keeps, or None.
            debounce_seconds: how long changes are gathered.
        """
        self._catalogue = catalogue
        self._stamp = stamp
        self._kept_mode = kept_mode
        self._sessions: dict[int, tuple[ServerSession, EndpointMode | None]] = {}
        self._bus = InMemorySubscriptionBus()
        self._settling = Settling(
            SystemClock(), debounce_seconds, _LONGEST_BURST * debounce_seconds
        )
        self._told: dict[EndpointMode | None, str] = {}
        self._is_announced = False
        self.listen = ListenHandler(self._bus, max_subscriptions=_MOST_LISTENERS)

    @property
    def sessions(self) -> int:
        """How many clients of the older generation are connected."""
        return len(self._sessions)

    @property
    def connections(self) -> list[Connection]:
        """The connections of those clients."""
        return [_connection(session) for session, _ in self._sessions.values()]

    async def catalogue_changed(self, _before: Snapshot, _after: Snapshot) -> None:
        """Note that something changed; `running` looks whether it shows."""
        self._settling.stir()

    def announce(self) -> None:
        """Tell clients, with this burst, whether the list looks another or not."""
        self._is_announced = True
        self._settling.stir()

    async def client_initialized(
        self, ctx: ServerRequestContext[Any, Any], _params: NotificationParams
    ) -> None:
        """Remember the session of a client that shook hands, until its connection ends."""
        session, mode = ctx.session, self._kept_mode(ctx)
        if mode not in self._modes():
            self._told[mode] = self._stamp(mode)
        self._sessions[id(session)] = session, mode
        # The SDK has no public way to learn that a connection ended; without it the map would only
        # grow.
        ends = _connection(session).exit_stack
        ends.callback(self._sessions.pop, id(session), None)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Notify while the block runs; several connections of one server may each run it."""
        if self not in self._catalogue.followers:
            self._told = {None: self._stamp(None)}
        self._catalogue.followers = (*self._catalogue.followers, self)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_telling)
                yield
                tasks.cancel_scope.cancel()
        finally:
            followers = list(self._catalogue.followers)
            followers.remove(self)
            self._catalogue.followers = tuple(followers)

    async def _keep_telling(self) -> None:
        while True:
            await self._settling.settled()
            now = {mode: self._stamp(mode) for mode in self._modes()}
            changed = {mode for mode, stamp in now.items() if self._told.get(mode) != stamp}
            if self._is_announced:
                self._is_announced, changed = False, set(now)
            self._told = now
            await self._tell(changed)

    def _modes(self) -> set[EndpointMode | None]:
        """The modes whose lists somebody looks at."""
        return {None, *(mode for _, mode in self._sessions.values())}

    async def _tell(self, changed: Container[EndpointMode | None]) -> None:
        if None in changed:
            await self.publish(ToolsListChanged())
        told = [session for session, mode in self._sessions.values() if mode in changed]
        await _send(told, ToolListChangedNotification())

    async def tell(self, event: ServerEvent) -> None:
        """Tell every client of both generations."""
        await self.publish(event)
        await self.send(event_to_notification(event, {}))

    async def publish(self, event: ServerEvent) -> None:
        """Tell the streams of newer clients that asked for such events."""
        await self._bus.publish(event)

    async def send(
        self,
        notification: ServerNotification,
        wants: Callable[[Connection], bool] = lambda _: True,
    ) -> None:
        """Send a notification to the older clients that want it."""
        sessions = (session for session, _ in self._sessions.values())
        await _send([one for one in sessions if wants(_connection(one))], notification)


def _connection(session: ServerSession) -> Connection:
    return session._connection  # noqa: SLF001 - the SDK has no public way to it


async def _send(sessions: list[ServerSession], notification: ServerNotification) -> None:
    async with anyio.create_task_group() as tasks:
        for session in sessions:
            tasks.start_soon(_send_to, session, notification)


async def _send_to(session: ServerSession, notification: ServerNotification) -> None:
    # A client that does not read must hold up neither the others nor the next notification.
    with anyio.move_on_after(_TELL_SECONDS):
        try:
            await session.send_notification(notification)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            _log.debug("a client left before it could be told that something changed")
