"""The resources of an upstream that somebody wants to hear about, kept over reconnects.

Handshake-era servers are told URI by URI; those of 2026-07-28 get one stream for all of them, which
is opened anew when they change, before the old one is closed.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc
from mcp.client.subscriptions import ResourceUpdated, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from toolcrib_adapters.sources.mcp_upstream.failures import RequestError
from toolcrib_protocol.errors import AT_CAPACITY, ErrorKind, ToolError
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_registry.ports import Clock

_log = logging.getLogger(__name__)

SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
_MOST: Final = 1_000
_LONGEST: Final = 200
_ASK_SECONDS: Final = 30.0
_AGAIN_SECONDS: Final = 15.0


class WatchedResources:
    """The watched URIs of one upstream; `told` is called with each that changed."""

    def __init__(self, source: str, clock: Clock, told: Callable[[str], None]) -> None:
        self._source = source
        self._clock = clock
        self._told = told
        self._watchers: Counter[str] = Counter()
        self._watched: set[str] = set()
        self._begun: dict[str, anyio.Event] = {}
        self._from_before: frozenset[str] = frozenset()
        self._streamed: frozenset[str] = frozenset()
        self._changed = anyio.Event()
        self._opened = anyio.Event()

    @property
    def is_wanted(self) -> bool:
        """Whether somebody wants to hear of a resource."""
        return bool(self._watchers)

    def connected(self) -> None:
        """There is a new connection; what is watched by now was watched over another one."""
        self._from_before = frozenset(self._watched)

    async def watch(self, wire: Wire, uri: str, patience: Patience) -> None:
        """Hear about a resource from now on.

        Raises:
            RequestError: the server refuses.
            ToolError: `at_capacity`.
        """
        if len(self._watchers) >= _MOST and uri not in self._watchers:
            text = f"{_MOST:,} resources of {self._source!r} are subscribed to; end some of them"
            raise ToolError(AT_CAPACITY, text, ErrorKind.RETRYABLE)
        self._watchers[uri] += 1
        begun = self._begun.get(uri)
        try:
            if begun is not None:
                # Whoever came first is still at it; what becomes of that is told to both.
                await begun.wait()
            elif uri not in self._watched:
                await self._begin_once(wire, uri, patience)
            self._check(uri)
        except BaseException:
            self._forget(uri)
            raise

    def _check(self, uri: str) -> None:
        if uri not in self._watched:
            raise RequestError(INTERNAL_ERROR, f"{uri[:_LONGEST]!r} cannot be subscribed to")

    async def _begin_once(self, wire: Wire, uri: str, patience: Patience) -> None:
        begun = self._begun[uri] = anyio.Event()
        try:
            await self._begin(wire, uri, patience)
            self._watched.add(uri)
        finally:
            del self._begun[uri]
            begun.set()

    async def unwatch(self, wire: Wire | None, uri: str, patience: Patience) -> None:
        """One watcher less; the server is told when it was the last one.

        Raises:
            RequestError: the server refuses.
        """
        if uri not in self._watchers:
            return
        if self._forget(uri) and wire is not None and not wire.is_modern:
            await wire.request(UNSUBSCRIBE, {"uri": uri}, patience=patience)

    def _forget(self, uri: str) -> bool:
        """Take one watcher away; whether nobody is left."""
        self._watchers[uri] -= 1
        if self._watchers[uri] > 0:
            return False
        del self._watchers[uri]
        self._watched.discard(uri)
        self._changed.set()
        return True

    async def _begin(self, wire: Wire, uri: str, patience: Patience) -> None:
        if not wire.is_modern:
            await wire.request(SUBSCRIBE, {"uri": uri}, patience=patience)
            return
        self._changed.set()
        # A change that comes before the stream is open would be told to nobody.
        with patience.limit():
            while uri not in self._streamed and uri in self._watchers:
                await self._opened.wait()

    async def keep(self, wire: Wire) -> None:
        """Keep what is watched alive on a connection, until cancelled."""
        if wire.is_modern:
            await self._keep_stream(wire)
        for uri in sorted(self._from_before):
            try:
                await wire.request(SUBSCRIBE, {"uri": uri}, patience=Patience(_ASK_SECONDS))
            except RequestError as error:
                _log.warning("%r lets %.200r be watched no more: %s", self._source, uri, error)
            else:
                # It may have changed while there was no connection.
                self._told(uri)
        await anyio.sleep_forever()

    async def _keep_stream(self, wire: Wire) -> None:
        self._streamed = frozenset()
        async with anyio.create_task_group() as tasks:
            stream: anyio.CancelScope | None = None
            while True:
                self._changed = anyio.Event()
                uris = frozenset(self._watchers)
                following = await tasks.start(self._follow, wire, uris) if uris else None
                if stream is not None:
                    stream.cancel()
                stream, self._streamed = following, uris
                opened, self._opened = self._opened, anyio.Event()
                opened.set()
                # They may have changed while there was no connection.
                before, self._from_before = self._from_before, frozenset()
                self._tell(before & uris)
                await self._changed.wait()

    async def _follow(
        self,
        wire: Wire,
        uris: frozenset[str],
        *,
        task_status: anyio.abc.TaskStatus[anyio.CancelScope],
    ) -> None:
        """Follow one stream, again when it is lost; started once it is open or refused."""
        with anyio.CancelScope() as scope:
            while True:
                try:
                    async with wire.listening(uris=sorted(uris)) as events:
                        with suppress(RuntimeError):  # the second time it is started already
                            task_status.started(scope)
                        async for event in events:
                            if isinstance(event, ResourceUpdated):
                                self._told(event.uri)
                except (MCPError, SubscriptionLost, TimeoutError) as error:
                    _log.warning("%r tells no changes of resources: %s", self._source, error)
                    with suppress(RuntimeError):
                        task_status.started(scope)
                await self._clock.sleep(_AGAIN_SECONDS)
                # What changed meanwhile is not told again.
                self._tell(uris)

    def _tell(self, uris: frozenset[str]) -> None:
        for uri in sorted(uris):
            self._told(uri)
