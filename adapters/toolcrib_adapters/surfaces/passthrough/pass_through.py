"""Everything of one endpoint that is not about tools, as handlers of its MCP server."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import mcp_types as types

from toolcrib_adapters.surfaces.passthrough.completions import Completions
from toolcrib_adapters.surfaces.passthrough.endpoint_offers import EndpointOffers
from toolcrib_adapters.surfaces.passthrough.links import Links
from toolcrib_adapters.surfaces.passthrough.lists import OfferLists
from toolcrib_adapters.surfaces.passthrough.log_messages import LogMessages
from toolcrib_adapters.surfaces.passthrough.offer_changes import OfferChanges
from toolcrib_adapters.surfaces.passthrough.offer_kinds import PROMPTS, RESOURCES
from toolcrib_adapters.surfaces.passthrough.prompts import Prompts
from toolcrib_adapters.surfaces.passthrough.resources import Resources
from toolcrib_adapters.surfaces.passthrough.subscriptions import Subscriptions
from toolcrib_registry.notices import SUSPECTED, NoticeKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.lowlevel import Server

    from toolcrib_adapters.surfaces.endpoints import Endpoint
    from toolcrib_adapters.surfaces.list_changes import ListChanges
    from toolcrib_adapters.surfaces.passthrough.offerings import Offerings
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.notices import Notice
    from toolcrib_registry.ports import Clock


class PassThrough:
    """The resources, prompts, completions and log messages of one endpoint."""

    def __init__(
        self,
        offerings: Offerings,
        catalogue: Catalogue,
        endpoint: Endpoint,
        clients: ListChanges,
        clock: Clock,
    ) -> None:
        self.offers = EndpointOffers(offerings, catalogue, endpoint)
        self._catalogue = catalogue
        self._clients = clients
        self._is_group = endpoint.is_group
        self.links = Links(self.offers, catalogue)
        self._changes = OfferChanges(self.offers, clients, clock)
        self._lists = OfferLists(self.offers, self._changes)
        self._resources = Resources(self.offers)
        self._prompts = Prompts(self.offers)
        self._completions = Completions(self.offers, self._prompts, self._resources)
        self._logs = LogMessages(self.offers, clients)
        self._subscriptions = Subscriptions(self.offers, self._resources, clients)
        self._runs = 0
        self._end: Callable[[], None] | None = None

    def register(self, server: Server[None]) -> None:
        """Let `server` answer."""
        add = server.add_request_handler
        add("resources/list", types.PaginatedRequestParams, self._lists.resources)
        add("resources/templates/list", types.PaginatedRequestParams, self._lists.templates)
        add("resources/read", types.ReadResourceRequestParams, self._resources.read)
        add("resources/subscribe", types.SubscribeRequestParams, self._subscriptions.subscribe)
        add(
            "resources/unsubscribe", types.UnsubscribeRequestParams, self._subscriptions.unsubscribe
        )
        add(
            "subscriptions/listen",
            types.SubscriptionsListenRequestParams,
            self._subscriptions.listen,
        )
        add("prompts/list", types.PaginatedRequestParams, self._lists.prompts)
        add("prompts/get", types.GetPromptRequestParams, self._prompts.get)
        add("completion/complete", types.CompleteRequestParams, self._completions.complete)
        add("logging/setLevel", types.SetLevelRequestParams, self._logs.set_level)

    def trimmed(self, whole: types.ServerCapabilities) -> types.ServerCapabilities:
        """What the sources of the endpoint offer of these capabilities."""
        offers, resources = self.offers.offers, whole.resources
        if resources is not None and not offers("resources", "subscribe"):
            resources = resources.model_copy(update={"subscribe": False})
        return whole.model_copy(
            update={
                "resources": resources if offers("resources") else None,
                "prompts": whole.prompts if offers("prompts") else None,
                "completions": whole.completions if offers("completions") else None,
                "logging": whole.logging if offers("logging") else None,
            }
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Tell callers what changes while the block runs; several connections may each run it."""
        self._runs += 1
        end = self.offers.hear(self._note) if self._runs == 1 else None
        self._end = end or self._end
        try:
            async with anyio.create_task_group() as tasks:
                for told in (self._changes, self._logs, self._subscriptions):
                    tasks.start_soon(told.keep_telling)
                tasks.start_soon(self._subscriptions.keep_renewing)
                with self._changes.following(self._catalogue):
                    yield
                tasks.cancel_scope.cancel()
        finally:
            self._runs -= 1
            if self._runs == 0 and self._end is not None:
                self._end()

    def _note(self, notice: Notice) -> None:
        self._logs.note(notice)
        self._subscriptions.note(notice)
        # A group's endpoint says what its sources say: a list may have changed and changed back.
        if self._is_group and SUSPECTED not in notice.params:
            if notice.kind is NoticeKind.TOOLS_CHANGED:
                self._clients.announce()
            elif notice.kind is NoticeKind.PROMPTS_CHANGED:
                self._changes.announce(PROMPTS)
            elif notice.kind is NoticeKind.RESOURCES_CHANGED:
                self._changes.announce(RESOURCES)
