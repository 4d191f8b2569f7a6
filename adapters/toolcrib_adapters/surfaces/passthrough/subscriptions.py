"""Subscriptions to single resources at one endpoint, of callers of both generations.

A source is told about a resource when the first caller anywhere subscribes, and that it is over
when the last one has left (`Provider.request` counts). Callers hear of it under the URI with which
they subscribed.
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from toolcrib_adapters.surfaces.caller_context import connection_of
from toolcrib_adapters.surfaces.passthrough.backlog import Backlog
from toolcrib_adapters.surfaces.passthrough.relay import relayed
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.notices import NoticeKind
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext

    from toolcrib_adapters.surfaces.list_changes import ListChanges
    from toolcrib_adapters.surfaces.passthrough.endpoint_offers import EndpointOffers
    from toolcrib_adapters.surfaces.passthrough.resources import Resources
    from toolcrib_registry.notices import Notice
    from toolcrib_registry.ports import Provider

    Context = ServerRequestContext[Any, Any]

_log = logging.getLogger(__name__)

_SUBSCRIBE: Final = "resources/subscribe"
_UNSUBSCRIBE: Final = "resources/unsubscribe"
_BEGIN_SECONDS: Final = 10.0
_END_SECONDS: Final = 5.0
_MOST_WAITING: Final = 1_000
_MOST_WATCHED: Final = 1_000
"""So many resources one stream tells of; a source has the same bound."""
_HELD: Final = "toolcrib.subscriptions"
"""Where the state of a connection keeps what its client subscribed to, by shown URI."""

Owned = tuple[str, str]
"""A source, and a URI as that source knows it."""


class Subscriptions:
    """The subscriptions of one endpoint."""

    def __init__(self, offers: EndpointOffers, resources: Resources, clients: ListChanges) -> None:
        self._offers = offers
        self._resources = resources
        self._clients = clients
        self._streams: dict[object, dict[str, Owned]] = {}
        self._waiting: Backlog[Owned] = Backlog(_MOST_WAITING)
        self._connected: Backlog[str] = Backlog(_MOST_WAITING)
        self._told_to: dict[str, Provider] = {}

    async def subscribe(
        self, ctx: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Answer `resources/subscribe`."""
        shown, connection = str(params.uri), connection_of(ctx)
        if _HELD not in connection.state:
            connection.state[_HELD] = {}
            connection.exit_stack.push_async_callback(self._leave, connection.state[_HELD])
        held: dict[str, Owned] = connection.state[_HELD]
        if shown not in held:
            owned = await self._resources.owner(ctx, shown, _SUBSCRIBE)
            source, uri = owned
            await self._subscribed_to(ctx, owned)
            if shown in held:
                # Asked for twice at the same time: once is enough.
                await relayed(self._offers.offerings, ctx, source, _UNSUBSCRIBE, {"uri": uri})
            held[shown] = owned
        return types.EmptyResult()

    async def _subscribed_to(self, ctx: Context, owned: Owned) -> None:
        source, uri = owned
        await relayed(self._offers.offerings, ctx, source, _SUBSCRIBE, {"uri": uri})
        self._told_to[source] = self._offers.offerings.provider(source)

    async def unsubscribe(
        self, ctx: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Answer `resources/unsubscribe`."""
        held = connection_of(ctx).state.get(_HELD, {})
        owned = held.pop(str(params.uri), None)
        if owned is not None:
            source, uri = owned
            await relayed(self._offers.offerings, ctx, source, _UNSUBSCRIBE, {"uri": uri})
        else:
            # Of something there is not, the refusal is the same as for subscribing.
            await self._resources.owner(ctx, str(params.uri), _UNSUBSCRIBE)
        return types.EmptyResult()

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Answer `subscriptions/listen`: a stream of what changes, for as long as it is open."""
        wanted = dict.fromkeys(params.notifications.resource_subscriptions or ())
        held: dict[str, Owned] = {}
        token = object()
        async with AsyncExitStack() as stack:
            if wanted:
                stack.push_async_callback(self._leave, held)
                self._streams[token] = held
                stack.callback(self._streams.pop, token, None)
                await self._begin(ctx, list(wanted)[:_MOST_WATCHED], held)
            return await self._clients.listen(ctx, params)

    async def _begin(self, ctx: Context, wanted: list[str], held: dict[str, Owned]) -> None:
        """Subscribe to what can be; what cannot is never told, as the revision wants it."""

        async def begin(shown: str) -> None:
            try:
                owned = await self._resources.owner(ctx, shown, _SUBSCRIBE)
                await self._subscribed_to(ctx, owned)
            except MCPError as error:
                _log.info("nothing will be told of %.200r: %s", shown, error)
            else:
                held[shown] = owned

        with anyio.move_on_after(_BEGIN_SECONDS):
            async with anyio.create_task_group() as tasks:
                for shown in wanted:
                    tasks.start_soon(begin, shown)

    async def _leave(self, held: dict[str, Owned]) -> None:
        """End what a caller that left was subscribed to."""
        context = CallContext(_END_SECONDS, LOCAL_CALLER)

        async def end(source: str, uri: str) -> None:
            try:
                provider = self._offers.offerings.provider(source)
                await provider.request(_UNSUBSCRIBE, {"uri": uri}, context)
            except ToolError as error:
                _log.info("%r still tells changes of %.200r: %s", source, uri, error.message)

        with anyio.move_on_after(_END_SECONDS, shield=True):
            # All at once: sources count at once, and one that is slow must not keep the others.
            async with anyio.create_task_group() as tasks:
                for source, uri in held.values():
                    tasks.start_soon(end, source, uri)
        held.clear()

    def note(self, notice: Notice) -> None:
        """A source told something."""
        if notice.kind is NoticeKind.RESOURCE_UPDATED:
            changed = notice.source, str(notice.params.get("uri"))
            if not self._waiting.put(changed):
                _log.warning("%r tells changes of resources too fast", notice.source)
        elif notice.kind is NoticeKind.RESOURCES_CHANGED and notice.source in self._told_to:
            self._connected.put(notice.source)

    async def keep_telling(self) -> None:
        """Tell subscribers until cancelled."""
        while True:
            await self._tell(await self._waiting.take())

    async def keep_renewing(self) -> None:
        """Subscribe anew at sources that were replaced, until cancelled.

        A source remembers its subscriptions over reconnects, but other settings make another one.
        """
        while True:
            source = await self._connected.take()
            try:
                provider = self._offers.offerings.provider(source)
                if self._told_to.get(source) is not provider:
                    self._told_to[source] = provider
                    await self._renew(source, provider)
            except ToolError as error:
                _log.info("subscriptions at %r cannot be renewed: %s", source, error.message)

    async def _renew(self, source: str, provider: Provider) -> None:
        holders = [_held(connection) for connection in self._clients.connections]
        context = CallContext(_BEGIN_SECONDS, LOCAL_CALLER)
        for held in (*holders, *self._streams.values()):
            for owned in list(held.values()):
                if owned[0] == source:
                    await provider.request(_SUBSCRIBE, {"uri": owned[1]}, context)
                    # It may be another one now.
                    self._waiting.put(owned)

    async def _tell(self, changed: Owned) -> None:
        streamed = {
            shown
            for held in self._streams.values()
            for shown, owned in held.items()
            if _covers(owned, changed)
        }
        for shown in sorted(streamed):
            await self._clients.publish(ResourceUpdated(shown))
        for shown in sorted(self._subscribed(changed)):
            notification = types.ResourceUpdatedNotification(
                params=types.ResourceUpdatedNotificationParams(uri=shown)
            )
            await self._clients.send(notification, partial(_holds, shown))

    def _subscribed(self, changed: Owned) -> set[str]:
        return {
            shown
            for connection in self._clients.connections
            for shown, owned in _held(connection).items()
            if _covers(owned, changed)
        }


def _held(connection: Connection) -> dict[str, Owned]:
    held: dict[str, Owned] = connection.state.get(_HELD, {})
    return held


def _holds(shown: str, connection: Connection) -> bool:
    return shown in _held(connection)


def _covers(owned: Owned, changed: Owned) -> bool:
    """Whether a subscription is told of a change: of its resource, or of a part of that."""
    (source, uri), (other, changed_uri) = owned, changed
    return source == other and (changed_uri == uri or changed_uri.startswith(f"{uri}/"))
