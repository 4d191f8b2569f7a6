"""Finds tools: the path of a question.

Permission and group masks come before ranking, both legs look at all tools the caller may use, and what leaves is joined with the
live catalogue, so nothing that was deleted, held or hidden can be found. Groups are derived from the best tools; they
are never a gate before them. What encodes and indexes stands behind ports.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np
from anyio import CapacityLimiter, to_thread

from toolcrib_protocol.errors import UNKNOWN_GROUP, ToolError
from toolcrib_protocol.names import nearest

from toolcrib_registry.ranking import Legs, best, fused, merged, named_in, with_clauses
from toolcrib_registry.search_index import SearchIndex
from toolcrib_registry.search_text import clauses, is_unspaced, query_text, words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from toolcrib_protocol.names import ToolId

    from toolcrib_registry.ports import Encoder, IndexStore, VectorCache
    from toolcrib_registry.snapshot import Snapshot

MOST_QUERIES: Final = 8
_CANDIDATES: Final = 200
"""How many of each leg are ranked together; the order beyond the first twenty never shows."""
_MOST_CACHED: Final = 4_096
FLOOR: Final = 0.27
"""A best similarity below this is noise; see docs/benchmarks.md for how it was calibrated."""
_KNOWN_SHARE: Final = 0.5
"""What is noise to the encoder still counts if at least so many of its words occur in the catalogue: host names, codes."""


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


class Search:
    """A search over one catalogue; also a follower of it."""

    def __init__(self, encoder: Encoder | None, store: IndexStore, cache: VectorCache) -> None:
        """A search that knows nothing yet.

        Args:
            encoder: makes vectors; None searches by words only.
            store: where the index is kept.
            cache: vectors made before.
        """
        self._encoder = encoder
        self._index = SearchIndex(encoder, store, cache)
        self._threads = CapacityLimiter(2)
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._answers: OrderedDict[tuple[str, int, str | None, int], QueryAnswer] = OrderedDict()
        self._cache_lock = Lock()

    async def open(self, snapshot: Snapshot) -> None:
        """Load the stored index and make its words agree with `snapshot`; vectors may follow later."""
        await to_thread.run_sync(self._index.open, snapshot, limiter=self._threads)

    async def catalogue_changed(self, _before: Snapshot, after: Snapshot) -> None:
        """Make the words agree with the catalogue at once, and let the vectors follow."""
        await to_thread.run_sync(self._index.follow, after, limiter=self._threads)

    async def run(self) -> None:
        """Make missing vectors in the background, and keep the index on disk, until cancelled."""
        await self._index.keep()

    async def building(self) -> AsyncIterator[tuple[int, int]]:
        """Vectors that are there, of all, until none is missing; only while `run` works."""
        async for progress in self._index.building():
            yield progress

    async def save(self) -> None:
        """Put the index on disk now."""
        await to_thread.run_sync(self._index.save, limiter=self._threads)

    async def ask(self, request: SearchRequest) -> SearchAnswer:
        """The tools that fit, from the newest state this search was told of.

        Raises:
            ToolError: `unknown_group`, with the nearest names.
        """
        known = self._known_answers(request)
        if known is not None:
            return self._joined(known)
        return await to_thread.run_sync(self._ask, request, limiter=self._threads)

    def _known_answers(self, request: SearchRequest) -> list[QueryAnswer] | None:
        """The answers that are remembered, if all are; without a thread that is a few microseconds."""
        if request.allowed is not None:
            return None
        queries = request.queries[:MOST_QUERIES]
        keys = [(query, request.limit, request.group, self._index.generation) for query in queries]
        found = [answer for key in keys if (answer := self._answers.get(key)) is not None]
        return found if len(found) == len(queries) else None

    def _joined(self, answers: Sequence[QueryAnswer]) -> SearchAnswer:
        tools = merged_tools(answers)
        groups = tuple(dict.fromkeys(tool.group for tool in tools))
        return SearchAnswer(
            self._index.snapshot.revision, tuple(answers), tools, groups, self._index.degraded
        )

    def _ask(self, request: SearchRequest) -> SearchAnswer:
        with self._index.reading():
            allowed = self._allowed(request, self._index.snapshot)
            queries = request.queries[:MOST_QUERIES]
            return self._joined([self._remembered(query, request, allowed) for query in queries])

    def _remembered(
        self, query: str, request: SearchRequest, allowed: NDArray[np.int64]
    ) -> QueryAnswer:
        """The answer to one query; kept while the index stands still and everything may be seen."""
        if request.allowed is not None:
            return self._answer(query, request.limit, allowed)
        key = (query, request.limit, request.group, self._index.generation)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._answer(query, request.limit, allowed)
            if len(self._answers) > _MOST_CACHED:
                self._answers.popitem(last=False)
        return answer

    def _allowed(self, request: SearchRequest, snapshot: Snapshot) -> NDArray[np.int64]:
        """The rows that may be found, ascending."""
        if request.group is None and request.allowed is None:
            return self._index.all_rows
        tools: Iterable[ToolId] = snapshot.tools
        if request.group is not None:
            tools = snapshot.members(request.group)
            if not tools and request.group not in snapshot.groups:
                raise _unknown_group(request.group, snapshot)
        may_see = request.allowed or (lambda _: True)
        return self._index.rows_of(tool for tool in tools if may_see(tool))

    def _answer(self, query: str, limit: int, allowed: NDArray[np.int64]) -> QueryAnswer:
        text = query_text(query)
        if not len(allowed) or not text:
            return QueryAnswer(query, ())
        texts = [text, *clauses(text)]
        vectors = self._encoded(texts)
        keywords = [self._index.keyword_scores(words(part)) for part in texts]
        rows = self._candidates(keywords, vectors, allowed)
        legs = [
            self._legs(rows, keyword, None if vectors is None else vectors[number], allowed)
            for number, keyword in enumerate(keywords)
        ]
        if not len(rows) or self._nothing_fits(text, legs):
            rows, scores = rows[:0], np.zeros(0, np.float32)
        else:
            each = [fused(part, leg) for part, leg in zip(texts, legs, strict=True)]
            scores = with_clauses(each[0], each[1:])
        named = named_in(text, self._index.spellings, lambda row: _holds(allowed, row))
        chosen = best(rows, scores, named, limit)
        return QueryAnswer(query, tuple(self._hit(row, score, why) for row, score, why in chosen))

    def _hit(self, row: int, score: float, why: str) -> Hit:
        return Hit(self._index.tool_of(row), round(score, 4), why)

    def _candidates(
        self,
        keywords: Sequence[NDArray[np.float32]],
        vectors: NDArray[np.float32] | None,
        allowed: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """The best rows of each leg for each text, ascending: the others cannot reach the first places."""
        found = [_top(keyword, allowed) for keyword in keywords]
        for vector in vectors if vectors is not None else ():
            found.append(self._index.nearest(vector, _CANDIDATES, allowed)[0])
        return np.unique(np.concatenate(found))

    def _legs(
        self,
        rows: NDArray[np.int64],
        keyword: NDArray[np.float32],
        vector: NDArray[np.float32] | None,
        allowed: NDArray[np.int64],
    ) -> Legs:
        if vector is None:
            return Legs(None, 0.0, keyword[rows])
        _, farthest = self._index.nearest(-vector, 1, allowed)
        lowest = -float(farthest[0]) if len(farthest) else 0.0
        return Legs(self._index.similarities(vector, rows), lowest, keyword[rows])

    def _nothing_fits(self, text: str, legs: Sequence[Legs]) -> bool:
        """Whether even the best candidates are only noise."""
        dense = [leg.dense for leg in legs if leg.dense is not None]
        if dense and not is_unspaced(text) and max(float(d.max()) for d in dense) >= FLOOR:
            return False
        asked = set(words(text))
        known = sum(bool(self._index.keyword_scores([word]).any()) for word in asked)
        return known < len(asked) * _KNOWN_SHARE

    def _encoded(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of query texts; None while there is nothing to compare them with."""
        if self._encoder is None or not self._index.has_vectors:
            return None
        with self._cache_lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, self._encoder.encode(missing), strict=True))
            self._remember({text: known[text] for text in missing})
        return np.stack([known[text] for text in texts])

    def _remember(self, vectors: dict[str, NDArray[np.float32]]) -> None:
        with self._cache_lock:
            self._vectors.update(vectors)
            while len(self._vectors) > _MOST_CACHED:
                self._vectors.popitem(last=False)


def _holds(allowed: NDArray[np.int64], row: int) -> bool:
    place = int(np.searchsorted(allowed, row))
    return place < len(allowed) and int(allowed[place]) == row


def _top(scores: NDArray[np.float32], allowed: NDArray[np.int64]) -> NDArray[np.int64]:
    """The allowed rows with the highest scores, without those that have none."""
    mine = scores[allowed]
    if len(mine) > _CANDIDATES:
        places = np.argpartition(-mine, _CANDIDATES)[:_CANDIDATES]
        return allowed[places[mine[places] > 0]]
    return allowed[mine > 0]


def merged_tools(answers: Sequence[QueryAnswer]) -> tuple[ToolId, ...]:
    """All hits in one fair order."""
    tools = list(dict.fromkeys(hit.tool for answer in answers for hit in answer.hits))
    numbers = {tool: number for number, tool in enumerate(tools)}
    rankings = [[numbers[hit.tool] for hit in answer.hits] for answer in answers]
    return tuple(tools[number] for number in merged(rankings, len(tools)))


def _unknown_group(group: str, snapshot: Snapshot) -> ToolError:
    close = nearest(group, snapshot.groups)
    hint = f"did you mean {', '.join(close)}?" if close else "search without a group"
    return ToolError(
        UNKNOWN_GROUP, f"no group is called {group!r}; {hint}", details={"nearest": [*close]}
    )
