"""Answers `completion/complete` at one endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_types import PromptReference

from toolcrib_adapters.surfaces.passthrough.refusals import not_offered_here
from toolcrib_adapters.surfaces.passthrough.relay import relayed, wanted_of

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CompleteRequestParams

    from toolcrib_adapters.surfaces.passthrough.endpoint_offers import EndpointOffers
    from toolcrib_adapters.surfaces.passthrough.prompts import Prompts
    from toolcrib_adapters.surfaces.passthrough.resources import Resources
    from toolcrib_protocol.json_value import JsonObject

    Context = ServerRequestContext[Any, Any]

_COMPLETE: Final = "completion/complete"


class Completions:
    """What can be written next, for arguments of prompts and of resource templates."""

    def __init__(self, offers: EndpointOffers, prompts: Prompts, resources: Resources) -> None:
        self._offers = offers
        self._prompts = prompts
        self._resources = resources

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> JsonObject:
        """Answer `completion/complete`."""
        if not self._offers.offers("completions"):
            raise not_offered_here(_COMPLETE)
        wanted = wanted_of(params)
        ref = params.ref
        if isinstance(ref, PromptReference):
            source, own = await self._prompts.owner(ref.name, _COMPLETE)
            named: JsonObject = {"name": own}
        else:
            source, own = await self._resources.owner(ctx, ref.uri, _COMPLETE)
            named = {"uri": own}
        written = wanted.get("ref")
        wanted["ref"] = {**(written if isinstance(written, dict) else {}), **named}
        answer = await relayed(self._offers.offerings, ctx, source, _COMPLETE, wanted)
        return {"completion": answer.get("completion"), "resultType": "complete"}
