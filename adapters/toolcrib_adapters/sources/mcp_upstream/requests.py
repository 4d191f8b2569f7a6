"""What is asked of an upstream besides its tools, and what it tells on its own.

Resources, prompts, completions, log messages: requests go out as they are, answers come back as
they are. Which of them make sense to whom, the surfaces know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import mcp_types as types
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged

from toolcrib_adapters.sources.mcp_upstream.attribution import Attribution
from toolcrib_adapters.sources.mcp_upstream.watched_resources import (
    SUBSCRIBE,
    UNSUBSCRIBE,
    WatchedResources,
)
from toolcrib_adapters.sources.source import not_offered
from toolcrib_protocol.log_level import LEVELS, is_at_least
from toolcrib_registry.notices import SUSPECTED, Notice, NoticeKind
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_adapters.sources.source import SourceHost
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext, Clock

_SET_LEVEL: Final = "logging/setLevel"
_SET_LEVEL_SECONDS: Final = 10.0
_PARTS: Final = {"resources": "resources", "prompts": "prompts", "completion": "completions"}
"""The server capability that the first word of a method needs."""
_LISTED: Final = (
    ("prompts", NoticeKind.PROMPTS_CHANGED),
    ("resources", NoticeKind.RESOURCES_CHANGED),
)
_EVENTS: Final[dict[type, NoticeKind]] = {
    PromptsListChanged: NoticeKind.PROMPTS_CHANGED,
    ResourcesListChanged: NoticeKind.RESOURCES_CHANGED,
}
_LISTS: Final = {
    types.PromptListChangedNotification: NoticeKind.PROMPTS_CHANGED,
    types.ResourceListChangedNotification: NoticeKind.RESOURCES_CHANGED,
}


class UpstreamRequests:
    """The requests and notices of one upstream that are about no tool."""

    def __init__(self, source: str, clock: Clock) -> None:
        self._source = source
        self._host: SourceHost | None = None
        self._level: str | None = None
        self.attribution = Attribution()
        self.watched = WatchedResources(source, clock, self._updated)
        self.capabilities: JsonObject | None = None

    def opened(self, wire: Wire, host: SourceHost, *, is_shared: bool) -> None:
        """There is a connection; what the server offers may be another thing than before."""
        self._host, self._level = host, None
        self.watched.connected()
        self.attribution.is_shared = is_shared
        self.capabilities = wire.capabilities.model_dump(
            by_alias=True, mode="json", exclude_none=True
        )
        self.suspect(self.capabilities)

    def suspect(self, parts: Collection[str]) -> None:
        """Lists of these parts may be others than before, though the server has not said so."""
        for part, kind in _LISTED:
            if part in parts:
                self.tell(kind, {SUSPECTED: True})

    def check(self, wire: Wire, method: str) -> None:
        """Whether the server says that it answers `method`.

        Raises:
            ToolError: `not_offered`.
        """
        offered = wire.capabilities
        part = _PARTS.get(method.partition("/")[0])
        is_offered = part is not None and getattr(offered, part) is not None
        if method.startswith("tasks/"):
            is_offered = wire.is_modern
        if method in {SUBSCRIBE, UNSUBSCRIBE}:
            is_offered = offered.resources is not None and bool(offered.resources.subscribe)
        if not is_offered:
            raise not_offered(repr(self._source), method)

    async def watch(self, wire: Wire, params: JsonObject, patience: Patience) -> JsonObject:
        """Subscribe to a resource.

        Raises:
            RequestError: the server refuses.
            ToolError: `at_capacity` for a subscription too many.
        """
        await self.watched.watch(wire, str(params.get("uri")), patience)
        return {}

    async def unwatch(
        self, wire: Wire | None, params: JsonObject, patience: Patience
    ) -> JsonObject:
        """End a subscription, also while there is no connection.

        Raises:
            RequestError: the server refuses.
        """
        await self.watched.unwatch(wire, str(params.get("uri")), patience)
        return {}

    async def stamped(self, wire: Wire, params: JsonObject, context: CallContext) -> JsonObject:
        """The parameters with their `_meta`; the server's log level is seen to."""
        meta: JsonObject = {**context.meta}
        level = context.log.level if context.log is not None else None
        if level is not None and wire.capabilities.logging is not None:
            if wire.is_modern:
                meta[types.LOG_LEVEL_META_KEY] = level
            else:
                await self._lower_level(wire, level)
        return {**params, "_meta": meta} if meta else params

    async def _lower_level(self, wire: Wire, level: str) -> None:
        """Let a server of the older generation send messages of `level`, if it does not yet."""
        if level not in LEVELS or (self._level is not None and is_at_least(level, self._level)):
            return
        before, self._level = self._level, level
        try:
            await wire.request(_SET_LEVEL, {"level": level}, patience=Patience(_SET_LEVEL_SECONDS))
        except BaseException:
            self._level = before
            raise

    def tell(self, kind: NoticeKind, params: JsonObject | None = None) -> None:
        """Hand a notice to the host."""
        if self._host is not None:
            self._host.noticed(Notice(self._source, kind, params or {}))

    def _updated(self, uri: str) -> None:
        self.tell(NoticeKind.RESOURCE_UPDATED, {"uri": uri})

    def told_change(self, event: object) -> None:
        """A server of 2026-07-28 says that a list changed."""
        kind = _EVENTS.get(type(event))
        if kind is not None:
            self.tell(kind)

    async def told(self, message: object) -> None:
        """A notification of the server that is not about its tools."""
        kind = _LISTS.get(type(message))
        if kind is not None:
            self.tell(kind)
        elif isinstance(message, types.ResourceUpdatedNotification):
            self._updated(str(message.params.uri))
        elif isinstance(message, types.LoggingMessageNotification):
            await self._log_message(message)

    async def _log_message(self, message: types.LoggingMessageNotification) -> None:
        words = message.params.model_dump(by_alias=True, mode="json", exclude_none=True)
        words.pop("_meta", None)
        context = self.attribution.whose()
        if context is None:
            self.tell(NoticeKind.LOG_MESSAGE, words)
        elif context.log is not None and is_at_least(words.get("level"), context.log.level):
            await context.log.report(words)
