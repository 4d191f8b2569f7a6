"""The tools of an upstream, page by page to the end, each entry untouched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ErrorKind, ToolError
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_protocol.json_value import Json, JsonObject

_MOST_PAGES: Final = 1_000
_MOST_TOOLS: Final = 100_000
_PAGE_SECONDS: Final = 60.0
_LONGEST_FRESH_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class RawList:
    """What an upstream lists.

    Attributes:
        tools: every entry of every page, as it came.
        fresh_seconds: for how long the upstream says that this holds; 0 if it says nothing.
    """

    tools: tuple[Json, ...] = ()
    fresh_seconds: float = 0.0


async def raw_list(wire: Wire) -> RawList:
    """Every entry of every page.

    Raises:
        ToolError: `upstream_protocol` for answers that are no list, a cursor that repeats, or more
            than 1,000 pages or 100,000 tools.
        RequestError: the server's error, or none of its answers.
    """
    if wire.capabilities.tools is None:
        return RawList()
    tools: list[Json] = []
    seen: set[str] = set()
    params: JsonObject = {}
    for _ in range(_MOST_PAGES):
        answer = await wire.request("tools/list", params, patience=Patience(_PAGE_SECONDS))
        page, cursor = answer.get("tools"), answer.get("nextCursor")
        if not isinstance(page, list):
            raise _fault("a page of tools/list has no list of tools")
        tools.extend(page)
        if len(tools) > _MOST_TOOLS:
            raise _fault(f"tools/list has more than {_MOST_TOOLS:,} entries")
        # Some servers write an empty cursor where they mean none.
        if not isinstance(cursor, str) or not cursor:
            return RawList(tuple(tools), _fresh_seconds(answer))
        if cursor in seen:
            raise _fault(f"tools/list gives the cursor {cursor[:40]!r} again and would never end")
        seen.add(cursor)
        params = {"cursor": cursor}
    raise _fault(f"tools/list has more than {_MOST_PAGES:,} pages")


def _fresh_seconds(answer: JsonObject) -> float:
    ttl = answer.get("ttlMs")
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not ttl > 0:
        return 0.0
    return min(ttl, _LONGEST_FRESH_SECONDS * 1_000) / 1_000


def _fault(text: str) -> ToolError:
    return ToolError(UPSTREAM_PROTOCOL, text, ErrorKind.RETRYABLE)
