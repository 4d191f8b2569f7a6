"""Finds tools: the path of a question.

Permission and group masks come before ranking, both legs look at all tools the caller may use, and
what leaves is joined with the live catalogue, so nothing that was deleted, held or hidden can be
found. Groups are derived from the best tools; they are never a gate before them. What encodes and
indexes stands behind ports.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import numpy as np
from anyio import CapacityLimiter, to_thread

from toolcrib_protocol.errors import UNKNOWN_GROUP, ToolError
from toolcrib_protocol.names import nearest
from toolcrib_registry.named_tools import named_in
from toolcrib_registry.questions import Hit, QueryAnswer, SearchAnswer
from toolcrib_registry.ranking import (
    Fit,
    Legs,
    chosen,
    diversified,
    fit,
    fused,
    merged,
    with_clauses,
)
from toolcrib_registry.search_index import SearchIndex
from toolcrib_registry.search_queries import QueryReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.ports import Encoder, IndexStore, VectorCache
    from toolcrib_registry.questions import SearchRequest
    from toolcrib_registry.search_queries import Query, QueryPart
    from toolcrib_registry.snapshot import Snapshot

MOST_QUERIES: Final = 8
_CANDIDATES: Final = 100
"""How many of each leg are ranked together; the order beyond the first twenty never shows."""
_MOST_RANKED: Final = 100
"""More hits than this are never shown."""
_MOST_REMEMBERED: Final = 4_096


class Search:
    """A search over one catalogue; also a follower of it."""

    def __init__(
        self,
        encoder: Encoder | None,
        store: IndexStore,
        cache: VectorCache,
        *,
        lacking: str | None = None,
    ) -> None:
        """A search that knows nothing yet.

        Args:
            encoder: makes vectors; None searches by words only.
            store: where the index is kept.
            cache: vectors made before.
            lacking: what every answer should say is missing, or None.
        """
        self._lacking = lacking
        self._encoder = encoder
        self._index = SearchIndex(encoder, store, cache)
        self._threads = CapacityLimiter(2)
        self._reader = QueryReader(encoder)
        self._answers: OrderedDict[tuple[str, int, str | None, int], QueryAnswer] = OrderedDict()

    async def open(self, snapshot: Snapshot) -> None:
        """Load the stored index and make its words agree with `snapshot`; vectors may follow."""
        await to_thread.run_sync(self._index.open, snapshot, limiter=self._threads)

    async def catalogue_changed(self, _before: Snapshot, after: Snapshot) -> None:
        """Make the words agree with the catalogue at once, and let the vectors follow."""
        await to_thread.run_sync(self._index.follow, after, limiter=self._threads)
        self._index.notice()

    async def run(self) -> None:
        """Make missing vectors in the background, and keep the index on disk, until cancelled."""
        await self._index.keep()

    @property
    def shortcoming(self) -> str | None:
        """Why answers may be less than usual now (vectors still building), or None."""
        return self._index.degraded or self._lacking

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
        """The answers that are remembered, if all are: no thread, a few microseconds."""
        if request.allowed is not None:
            return None
        queries = request.queries[:MOST_QUERIES]
        keys = [(query, request.limit, request.group, self._index.generation) for query in queries]
        found = [answer for key in keys if (answer := self._answers.get(key)) is not None]
        return found if len(found) == len(queries) else None

    def _joined(self, answers: Sequence[QueryAnswer]) -> SearchAnswer:
        tools = tuple(merged([[hit.tool for hit in answer.hits] for answer in answers]))
        groups = tuple(dict.fromkeys(tool.group for tool in tools))
        return SearchAnswer(
            self._index.snapshot.revision,
            tuple(answers),
            tools,
            groups,
            self.shortcoming,
        )

    def _ask(self, request: SearchRequest) -> SearchAnswer:
        # Encoding is most of the work, so it comes before the index is held still.
        queries = self._reader.read(
            request.queries[:MOST_QUERIES], with_vectors=self._index.has_vectors
        )
        with self._index.reading():
            allowed = self._allowed(request, self._index.snapshot)
            return self._joined([self._remembered(query, request, allowed) for query in queries])

    def _remembered(
        self, query: Query, request: SearchRequest, allowed: NDArray[np.int64]
    ) -> QueryAnswer:
        """The answer to one query; kept while the index stands still and everything may be seen."""
        if request.allowed is not None:
            return self._answer(query, request.limit, allowed)
        key = (query.asked, request.limit, request.group, self._index.generation)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._answer(query, request.limit, allowed)
            if len(self._answers) > _MOST_REMEMBERED:
                self._answers.popitem(last=False)
        return answer

    def _allowed(self, request: SearchRequest, snapshot: Snapshot) -> NDArray[np.int64]:
        """The rows that may be found, ascending."""
        if request.group is None and request.allowed is None:
            return self._index.all_rows
        tools: Iterable[ToolId] = snapshot.tools
        if request.group is not None:
            tools = snapshot.members(request.group)
        visible = [tool for tool in tools if request.allowed is None or request.allowed(tool)]
        if request.group is not None and not visible:
            _check_known(request.group, request, snapshot)
        return self._index.rows_of(visible)

    def _answer(self, query: Query, limit: int, allowed: NDArray[np.int64]) -> QueryAnswer:
        if not len(allowed) or not query.parts:
            return QueryAnswer(query.asked, ())
        whole = query.parts[0]
        named = named_in(whole.text, self._index.spellings, lambda row: _is_among(allowed, row))
        fits, ranked = self._ranked(query.parts, allowed)
        ranked = diversified(ranked, limit, self._index.says)
        why = "weak: perhaps nothing fits" if fits is Fit.WEAK else "fits the query"
        hits = [
            Hit(self._index.tool_of(choice.row), round(choice.score, 4), choice.why)
            for choice in chosen(ranked, named, limit, why)
        ]
        return QueryAnswer(query.asked, tuple(hits))

    def _ranked(
        self, parts: Sequence[QueryPart], allowed: NDArray[np.int64]
    ) -> tuple[Fit, list[tuple[int, float]]]:
        """Rows with their scores, best first; none if none fits."""
        keywords = [self._index.keyword_scores(part.words) for part in parts]
        rows = self._candidates(keywords, parts, allowed)
        legs = [
            self._legs(part, keyword, rows, allowed)
            for part, keyword in zip(parts, keywords, strict=True)
        ]
        fits = self._fit(parts[0], legs[0], allowed)
        if fits is Fit.NONE:
            return fits, []
        each = [fused(leg) for leg in legs]
        scores = with_clauses(each[0], each[1:])
        order = np.argsort(-scores, kind="stable")[:_MOST_RANKED]
        return fits, list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))

    def _candidates(
        self,
        keywords: Sequence[tuple[NDArray[np.float32], float]],
        parts: Sequence[QueryPart],
        allowed: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """The best rows of each leg for each text, ascending; others cannot reach the top."""
        found = [_top(keyword, allowed) for keyword, _ in keywords]
        found += [
            self._index.nearest(part.vector, _CANDIDATES, allowed)[0]
            for part in parts
            if part.vector is not None
        ]
        return np.unique(np.concatenate(found))

    def _legs(
        self,
        part: QueryPart,
        keyword: tuple[NDArray[np.float32], float],
        rows: NDArray[np.int64],
        allowed: NDArray[np.int64],
    ) -> Legs:
        scores, full = keyword
        if part.vector is None:
            return Legs(None, 0.0, scores[rows], full)
        vectors = self._index.vectors(rows)
        # Not `@`: BLAS would wake a second thread for these few numbers.
        similarities = np.einsum("ij,j->i", vectors, part.vector)
        similarities[~vectors.any(axis=1)] = np.nan
        return Legs(similarities, self._index.lowest(part.vector, allowed), scores[rows], full)

    def _fit(self, part: QueryPart, legs: Legs, allowed: NDArray[np.int64]) -> Fit:
        similarity = None
        if legs.dense is not None and self._encoder is not None:
            unrelated = self._encoder.unrelated
            similarity = (legs.highest - unrelated) / (1 - unrelated)
        return fit(similarity, lambda: self._index.coverage(part.words, allowed))


def _top(scores: NDArray[np.float32], allowed: NDArray[np.int64]) -> NDArray[np.int64]:
    """The allowed rows with the highest scores, without those that have none."""
    mine = scores[allowed]
    if len(mine) > _CANDIDATES:
        places = np.argpartition(-mine, _CANDIDATES)[:_CANDIDATES]
        return allowed[places[mine[places] > 0]]
    return allowed[mine > 0]


def _is_among(allowed: NDArray[np.int64], row: int) -> bool:
    place = int(np.searchsorted(allowed, row))
    return place < len(allowed) and int(allowed[place]) == row


def _check_known(group: str, request: SearchRequest, snapshot: Snapshot) -> None:
    """Refuse a group there is not, and one of which the caller sees nothing in the same words."""
    known: Collection[str] = snapshot.groups
    if request.allowed is not None:
        known = {tool.group for tool in snapshot.tools if request.allowed(tool)}
    if group in known:
        return
    close = nearest(group, known)
    hint = f"did you mean {', '.join(close)}?" if close else "search without a group"
    raise ToolError(
        UNKNOWN_GROUP, f"no group is called {group!r}; {hint}", details={"nearest": [*close]}
    )
