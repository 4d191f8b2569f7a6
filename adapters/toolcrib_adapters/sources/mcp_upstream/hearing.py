"""What an upstream tells on its own, and who has to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_types as types
from mcp.client.subscriptions import ToolsListChanged

from toolcrib_adapters.sources.mcp_upstream.change_news import Ears

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolcrib_adapters.sources.mcp_upstream.dialogue import Dialogue
    from toolcrib_adapters.sources.mcp_upstream.listings import Listings
    from toolcrib_adapters.sources.mcp_upstream.requests import UpstreamRequests


class Hearing:
    """Hands on what one upstream tells."""

    def __init__(self, listings: Listings, requests: UpstreamRequests, dialogue: Dialogue) -> None:
        self._listings = listings
        self._requests = requests
        self._dialogue = dialogue

    @property
    def ears(self) -> Ears:
        """For the stream on which a modern server tells changes."""
        return Ears(self._suspected, self._changed)

    async def notice(self, message: object) -> None:
        """A notification of the server came."""
        if isinstance(message, types.ToolListChangedNotification):
            self._listings.told()
        elif isinstance(message, types.ElicitCompleteNotification):
            await self._dialogue.desk.visited(message.params.elicitation_id)
        else:
            await self._requests.told(message)

    def _suspected(self, lists: Collection[str]) -> None:
        if "tools" in lists:
            self._listings.stir()
        self._requests.suspect(lists)

    def _changed(self, event: object) -> None:
        if isinstance(event, ToolsListChanged):
            self._listings.told()
        else:
            self._requests.told_change(event)
