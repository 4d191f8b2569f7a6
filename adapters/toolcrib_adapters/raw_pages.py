"""A list of a server, page by page to the end, each entry untouched.

Used for the tools of upstreams and for their resources and prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolcrib_protocol.json_value import Json, JsonObject

_MOST_PAGES: Final = 1_000
_MOST_ENTRIES: Final = 100_000
_LONGEST_FRESH_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class RawPages:
    """What a server lists.

    Attributes:
        entries: every entry of every page, as it came.
        fresh_seconds: for how long the server says that this holds; 0 if it says nothing.
    """

    entries: tuple[Json, ...] = ()
    fresh_seconds: float = 0.0


async def every_page(
    ask: Callable[[JsonObject], Awaitable[JsonObject]], method: str, key: str
) -> RawPages:
    """Every entry of every page.

    Args:
        ask: sends the request with these parameters.
        method: what is asked, for messages.
        key: where a page keeps its entries.

    Raises:
        ToolError: `upstream_protocol` for answers that are no list, a cursor that repeats, or more
            than 1,000 pages or 100,000 entries.
    """
    entries: list[Json] = []
    seen: set[str] = set()
    params: JsonObject = {}
    for _ in range(_MOST_PAGES):
        answer = await ask(params)
        page, cursor = answer.get(key), answer.get("nextCursor")
        if not isinstance(page, list):
            raise _fault(f"a page of {method} has no list of {key}")
        entries.extend(page)
        if len(entries) > _MOST_ENTRIES:
            raise _fault(f"{method} has more than {_MOST_ENTRIES:,} entries")
        # Some servers write an empty cursor where they mean none.
        if not isinstance(cursor, str) or not cursor:
            return RawPages(tuple(entries), _fresh_seconds(answer))
        if cursor in seen:
            raise _fault(f"{method} gives the cursor {cursor[:40]!r} again and would never end")
        seen.add(cursor)
        params = {"cursor": cursor}
    raise _fault(f"{method} has more than {_MOST_PAGES:,} pages")


def _fresh_seconds(answer: JsonObject) -> float:
    ttl = answer.get("ttlMs")
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not ttl > 0:
        return 0.0
    return min(ttl, _LONGEST_FRESH_SECONDS * 1_000) / 1_000


def _fault(text: str) -> ToolError:
    return ToolError(UPSTREAM_PROTOCOL, text, ErrorKind.RETRYABLE)
