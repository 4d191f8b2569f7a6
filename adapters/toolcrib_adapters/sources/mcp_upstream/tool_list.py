"""The tools of an upstream, page by page to the end, each entry untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_adapters.raw_pages import RawPages, every_page
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_protocol.json_value import JsonObject

_PAGE_SECONDS: Final = 60.0


async def tools_of(wire: Wire) -> RawPages:
    """Every tool of every page, as it came.

    Raises:
        ToolError: see `every_page`.
        RequestError: the server's error, or none of its answers.
    """
    if wire.capabilities.tools is None:
        return RawPages()

    async def ask(params: JsonObject) -> JsonObject:
        return await wire.request("tools/list", params, patience=Patience(_PAGE_SECONDS))

    return await every_page(ask, "tools/list", "tools")
