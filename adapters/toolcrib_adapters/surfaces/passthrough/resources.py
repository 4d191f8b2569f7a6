"""Answers `resources/read` at one endpoint, and tells whose a URI is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from toolcrib_adapters.surfaces.passthrough.linked_resources import with_shown_uri
from toolcrib_adapters.surfaces.passthrough.offer_kinds import RESOURCES, TEMPLATES
from toolcrib_adapters.surfaces.passthrough.refusals import no_such_resource, not_offered_here
from toolcrib_adapters.surfaces.passthrough.relay import is_question, relayed, wanted_of
from toolcrib_adapters.surfaces.whole_answers import lay_beside, lay_interim

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import ReadResourceRequestParams

    from toolcrib_adapters.surfaces.passthrough.endpoint_offers import EndpointOffers
    from toolcrib_protocol.json_value import Json, JsonObject

    Context = ServerRequestContext[Any, Any]

_READ: Final = "resources/read"
_LONGEST: Final = 200
_MOST_CHOICES: Final = 5


class Resources:
    """The resources of one endpoint."""

    def __init__(self, offers: EndpointOffers) -> None:
        self._offers = offers

    async def read(self, ctx: Context, params: ReadResourceRequestParams) -> JsonObject:
        """Answer `resources/read`."""
        source, uri = await self.owner(ctx, params.uri, _READ)
        wanted = {**wanted_of(params), "uri": uri}
        answer = await relayed(self._offers.offerings, ctx, source, _READ, wanted)
        if is_question(answer):
            return lay_interim(answer)
        shown = partial(self._offers.known().uri, source)
        contents = answer.get("contents")
        whole: JsonObject = {
            **answer,
            "contents": [with_shown_uri(part, shown) for part in _list(contents)],
        }
        envelope: JsonObject = {
            "contents": [],
            "ttlMs": whole.pop("ttlMs", 0),
            # What was read for one caller is not for others, whatever the source thinks.
            "cacheScope": whole.pop("cacheScope", "private") and "private",
            "resultType": whole.pop("resultType", "complete"),
        }
        return lay_beside(whole, envelope)

    async def owner(self, ctx: Context, shown_uri: str, method: str) -> tuple[str, str]:
        """The source of a shown URI, and the URI as that source knows it.

        Raises:
            MCPError: there is none, or it may be several sources' own.
        """
        if not self._offers.offers("resources"):
            raise not_offered_here(method)
        known = self._offers.known()
        named = known.split_uri(shown_uri)
        if named is not None:
            return named
        owners = known.owners(shown_uri)
        if len(known.resources) > 1:
            # Which source it belongs to follows from the lists, so they have to be there.
            known, _ = await self._offers.read(RESOURCES, TEMPLATES)
            owners = known.owners(shown_uri)
        if len(owners) == 1:
            return owners[0], shown_uri
        if not owners:
            text = f"no source of this endpoint has the resource {shown_uri[:_LONGEST]!r}"
            raise no_such_resource(shown_uri, text, ctx.protocol_version)
        short = shown_uri[:_LONGEST]
        choices = " or ".join(f"toolcrib://{name}/{short}" for name in owners[:_MOST_CHOICES])
        text = f"{short!r} may be a resource of several sources: ask for {choices}"
        raise no_such_resource(shown_uri, text, ctx.protocol_version)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
