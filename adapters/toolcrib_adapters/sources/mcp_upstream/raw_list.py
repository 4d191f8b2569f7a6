"""The tools of an upstream, page by page to the end, each entry untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ErrorKind, ToolError

if TYPE_CHECKING:
    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_protocol.json_value import Json, JsonObject

_MOST_PAGES: Final = 1_000
_MOST_TOOLS: Final = 100_000
_PAGE_SECONDS: Final = 60.0


async def raw_list(wire: Wire) -> list[Json]:
    """Every entry of every page.

    Raises:
        ToolError: `upstream_protocol` for answers that are no list, a cursor that repeats, or more than 1,000 pages or
            100,000 tools.
        MCPError: the server's error.
    """
    if wire.capabilities.tools is None:
        return []
    tools: list[Json] = []
    seen: set[str] = set()
    params: JsonObject = {}
    for _ in range(_MOST_PAGES):
        answer = await wire.request("tools/list", params, {"timeout": _PAGE_SECONDS})
        page, cursor = answer.get("tools"), answer.get("nextCursor")
        if not isinstance(page, list):
            raise _fault("a page of tools/list has no list of tools")
        tools.extend(page)
        if len(tools) > _MOST_TOOLS:
            raise _fault(f"tools/list has more than {_MOST_TOOLS:,} entries")
        if not isinstance(cursor, str):
            return tools
        if cursor in seen:
            raise _fault(f"tools/list gives the cursor {cursor[:40]!r} again and would never end")
        seen.add(cursor)
        params = {"cursor": cursor}
    raise _fault(f"tools/list has more than {_MOST_PAGES:,} pages")


def _fault(text: str) -> ToolError:
    return ToolError(UPSTREAM_PROTOCOL, text, ErrorKind.RETRYABLE)
