"""Questions to a search and their answers, and what is asked.

Values only, so that whoever asks does not wait for what finds: `search` fills `ToolSearch`, and so
does what loads it later (`toolcrib_adapters.search.late_search`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from toolcrib_protocol.names import ToolId


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question.

    Attributes:
        queries: what is wanted, one text a step; at most eight.
        allowed: which tools the asker may see; None for all.
        group: only tools of this group, or None.
        limit: hits a query.
    """

    queries: tuple[str, ...]
    allowed: Callable[[ToolId], bool] | None = None
    group: str | None = None
    limit: int = 5


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that fits: its score in 0..1 (comparable within one query) and why it was found."""

    tool: ToolId
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The hits of one query, best first; none where nothing fits."""

    query: str
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What was found.

    Attributes:
        revision: of the catalogue that was asked.
        queries: one answer a query, in order.
        tools: all hits in one fair order.
        groups: the groups of the hits, the best first.
        degraded: why the answer may be less than usual (vectors still building), or None.
    """

    revision: int
    queries: tuple[QueryAnswer, ...]
    tools: tuple[ToolId, ...]
    groups: tuple[str, ...]
    degraded: str | None = None


class ToolSearch(Protocol):
    """Finds tools by what they do."""

    @property
    def shortcoming(self) -> str | None:
        """Why answers may be less than usual now, or come later; None if nothing is amiss."""
        ...

    async def ask(self, request: SearchRequest) -> SearchAnswer:
        """The tools that fit.

        Raises:
            ToolError: `unknown_group`, with the nearest names.
        """
        ...

    def building(self) -> AsyncIterator[tuple[int, int]]:
        """Vectors that are there, of all, until none is missing."""
        ...

    async def save(self) -> None:
        """Keep what was indexed, now."""
        ...
