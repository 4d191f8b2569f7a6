"""Answers `logging/setLevel`, and hands on what sources log outside of any call.

What a source logs during a call goes to that call's caller (`caller_context.py`). What cannot be
told apart goes to the clients of the older generation that asked for log messages: newer ones take
none outside of their requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_types import EmptyResult

from toolcrib_adapters.surfaces.caller_context import (
    connection_of,
    level_of,
    log_notification,
    set_level,
)
from toolcrib_adapters.surfaces.passthrough.backlog import Backlog
from toolcrib_adapters.surfaces.passthrough.refusals import not_offered_here
from toolcrib_protocol.log_level import is_at_least
from toolcrib_registry.notices import NoticeKind

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import SetLevelRequestParams

    from toolcrib_adapters.surfaces.list_changes import ListChanges
    from toolcrib_adapters.surfaces.passthrough.endpoint_offers import EndpointOffers
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.notices import Notice

_MOST_WAITING: Final = 100
"""Log messages beyond these are dropped: they are for reading along, not for relying on."""


class LogMessages:
    """The log messages of one endpoint."""

    def __init__(self, offers: EndpointOffers, clients: ListChanges) -> None:
        self._offers = offers
        self._clients = clients
        self._waiting: Backlog[JsonObject] = Backlog(_MOST_WAITING)

    async def set_level(
        self, ctx: ServerRequestContext[Any, Any], params: SetLevelRequestParams
    ) -> EmptyResult:
        """Answer `logging/setLevel`; sources hear of it with the next call."""
        if not self._offers.offers("logging"):
            raise not_offered_here("logging/setLevel")
        set_level(connection_of(ctx), params.level)
        return EmptyResult()

    def note(self, notice: Notice) -> None:
        """A source told something."""
        if notice.kind is NoticeKind.LOG_MESSAGE and self._clients.sessions:
            self._waiting.put(notice.params)

    async def keep_telling(self) -> None:
        """Hand messages on until cancelled."""
        while True:
            await self._tell(await self._waiting.take())

    async def _tell(self, message: JsonObject) -> None:
        def wants(level: str | None) -> bool:
            return level is not None and is_at_least(message.get("level"), level)

        await self._clients.send(
            log_notification(message), lambda connection: wants(level_of(connection))
        )
