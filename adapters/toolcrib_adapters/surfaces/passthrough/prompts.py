"""Answers `prompts/get` at one endpoint, and tells whose a prompt is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from toolcrib_adapters.surfaces.caller_form import block_in_caller_form
from toolcrib_adapters.surfaces.passthrough.linked_resources import block_with_shown_link
from toolcrib_adapters.surfaces.passthrough.offer_kinds import PROMPTS
from toolcrib_adapters.surfaces.passthrough.refusals import not_offered_here
from toolcrib_adapters.surfaces.passthrough.relay import is_question, relayed, wanted_of
from toolcrib_adapters.surfaces.whole_answers import lay_beside, lay_interim
from toolcrib_protocol.names import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.context import ServerRequestContext
    from mcp_types import GetPromptRequestParams

    from toolcrib_adapters.surfaces.passthrough.endpoint_offers import EndpointOffers
    from toolcrib_protocol.json_value import Json, JsonObject

    Context = ServerRequestContext[Any, Any]

_GET: Final = "prompts/get"


class Prompts:
    """The prompts of one endpoint."""

    def __init__(self, offers: EndpointOffers) -> None:
        self._offers = offers

    async def get(self, ctx: Context, params: GetPromptRequestParams) -> JsonObject:
        """Answer `prompts/get`."""
        source, own = await self.owner(params.name, _GET)
        wanted = {**wanted_of(params), "name": own}
        answer = await relayed(self._offers.offerings, ctx, source, _GET, wanted)
        if is_question(answer):
            return lay_interim(answer)
        messages = answer.get("messages")
        form = partial(self._message, ctx.protocol_version, source)
        whole: JsonObject = {
            **answer,
            "messages": [form(one) for one in (messages if isinstance(messages, list) else [])],
        }
        envelope: JsonObject = {
            "messages": [],
            "resultType": whole.pop("resultType", "complete"),
        }
        return lay_beside(whole, envelope)

    def _message(self, version: str, source: str, message: Json) -> Json:
        if not isinstance(message, dict):
            return message
        shown = partial(self._offers.known().uri, source)
        block = block_in_caller_form(message.get("content"), version)
        return {**message, "content": block_with_shown_link(block, shown)}

    async def owner(self, name: str, method: str) -> tuple[str, str]:
        """The source of a shown prompt, and the prompt's name there.

        Raises:
            MCPError: there is no such prompt here.
        """
        if not self._offers.offers("prompts"):
            raise not_offered_here(method)
        named = self._offers.known().prompt_names.get(name)
        if named is None:
            shown, _ = await self._offers.read(PROMPTS)
            named = shown.prompt_names.get(name) or _only_source(shown.prompts, name)
        if named is not None:
            return named
        close = nearest(name, shown.prompt_names)
        hint = f"; the nearest are {', '.join(close)}" if close else "; `prompts/list` has them all"
        raise MCPError(INVALID_PARAMS, f"no prompt is called {name[:200]!r}{hint}")


def _only_source(lists: Mapping[str, object], name: str) -> tuple[str, str] | None:
    """Whoever could be meant by a name that nobody lists: the only one who has prompts."""
    return (next(iter(lists)), name) if len(lists) == 1 else None
