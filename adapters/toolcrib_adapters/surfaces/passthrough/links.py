"""Makes what tools of an endpoint link to readable at that endpoint.

Where several sources have resources, a URI in a tool's answer or definition may be another one
here. Which it is follows from the lists; lists that nobody has read yet count as if they might hold
everything, so such a URI is given with its source.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.surfaces.passthrough.linked_resources import (
    has_links,
    meta_with_shown_ui,
    with_shown_links,
)
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.result import META_PREFIX

if TYPE_CHECKING:
    from toolcrib_adapters.surfaces.passthrough.endpoint_offers import EndpointOffers
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.catalogue import Catalogue

_TOOL_META: Final = f"{META_PREFIX}tool"


class Links:
    """The links of one endpoint."""

    def __init__(self, offers: EndpointOffers, catalogue: Catalogue) -> None:
        self._offers = offers
        self._catalogue = catalogue

    def in_answer(self, answer: JsonObject) -> JsonObject:
        """The answer of a tool with the links that are shown here; `answer` is not changed."""
        if not has_links(answer.get("content")):
            return answer
        meta = answer.get("_meta")
        source = self._source(str(meta.get(_TOOL_META))) if isinstance(meta, dict) else None
        shown = self._offers.known() if source is not None else None
        if source is None or shown is None or len(shown.resources) == 1:
            return answer
        content = with_shown_links(answer["content"], partial(shown.uri, source))
        return {**answer, "content": content}

    def in_definition(self, source: str, definition: JsonObject) -> JsonObject:
        """The definition of a tool of `source` that names its interface as it is shown here."""
        meta = definition.get("_meta")
        if not isinstance(meta, dict) or "ui" not in meta:
            return definition
        shown = partial(self._offers.known().uri, source)
        return {**definition, "_meta": meta_with_shown_ui(meta, shown)}

    def _source(self, reference: str) -> str | None:
        """The source of a version that is written `group/tool@version`."""
        named, _, version = reference.rpartition("@")
        group, _, name = named.partition("/")
        tool = self._catalogue.snapshot.tools.get(ToolId(group, name))
        versions = tool.versions.values() if tool is not None else ()
        return next((one.source for one in versions if str(one.version) == version), None)
