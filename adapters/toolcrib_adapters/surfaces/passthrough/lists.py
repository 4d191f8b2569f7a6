"""Answers `resources/list`, `resources/templates/list` and `prompts/list` at one endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from toolcrib_adapters.surfaces.pages import StaleCursorError, page
from toolcrib_adapters.surfaces.passthrough.offer_kinds import PROMPTS, RESOURCES, TEMPLATES
from toolcrib_adapters.surfaces.passthrough.refusals import not_offered_here
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import META_PREFIX

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import PaginatedRequestParams

    from toolcrib_adapters.surfaces.passthrough.endpoint_offers import EndpointOffers
    from toolcrib_adapters.surfaces.passthrough.offer_changes import OfferChanges
    from toolcrib_adapters.surfaces.passthrough.offer_kinds import OfferKind
    from toolcrib_protocol.json_value import JsonObject

    Context = ServerRequestContext[Any, Any]

LIST_TTL_MS: Final = 60_000
"""How long a client may keep a list; it is told earlier if the list changes."""
MISSING_META: Final = f"{META_PREFIX}unavailable"
"""`_meta` key of a list: the sources whose entries are missing from it, and why."""


class OfferLists:
    """The lists of one endpoint."""

    def __init__(self, offers: EndpointOffers, changes: OfferChanges) -> None:
        self._offers = offers
        self._changes = changes

    async def resources(self, _ctx: Context, params: PaginatedRequestParams | None) -> JsonObject:
        """Answer `resources/list`."""
        return await self._listed(RESOURCES, params)

    async def templates(self, _ctx: Context, params: PaginatedRequestParams | None) -> JsonObject:
        """Answer `resources/templates/list`."""
        return await self._listed(TEMPLATES, params)

    async def prompts(self, _ctx: Context, params: PaginatedRequestParams | None) -> JsonObject:
        """Answer `prompts/list`."""
        return await self._listed(PROMPTS, params)

    async def _listed(self, kind: OfferKind, params: PaginatedRequestParams | None) -> JsonObject:
        if not self._offers.offers(kind.part):
            raise not_offered_here(kind.method)
        # Whether a URI needs its source before it depends on both lists of resources.
        kinds = (PROMPTS,) if kind is PROMPTS else (RESOURCES, TEMPLATES)
        shown, missing = await self._offers.read(*kinds)
        entries = shown.entries(kind)
        self._changes.answered(kind, shown)
        try:
            cursor = params.cursor if params else None
            listed, following = page(entries, dump_json([*entries]), cursor)
        except StaleCursorError:
            text = f"the list of {kind.key} has changed since that cursor was given; begin again"
            raise MCPError(INVALID_PARAMS, text) from None
        answer: JsonObject = {
            kind.key: [*listed],
            "ttlMs": LIST_TTL_MS,
            "cacheScope": "private",
            "resultType": "complete",
        }
        if following:
            answer["nextCursor"] = following
        return {**answer, "_meta": {MISSING_META: {**missing}}} if missing else answer
