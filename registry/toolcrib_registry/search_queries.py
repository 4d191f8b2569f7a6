"""Queries made ready for ranking: clauses, words and vectors. Needs no index, so nobody waits.

Vectors of queries are remembered, because agents ask the same again. Used by `search`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Final

from toolcrib_registry.search_text import clauses, is_unspaced, query_text, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from toolcrib_registry.ports import Encoder

_MOST_REMEMBERED: Final = 4_096


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A whole query or a clause of it: its words, and its vector if the encoder can read it."""

    text: str
    words: Sequence[str]
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it was asked, and its parts: the whole, then its clauses; none if it is blank."""

    asked: str
    parts: tuple[QueryPart, ...]


class QueryReader:
    """Makes queries ready; may be used from several threads."""

    def __init__(self, encoder: Encoder | None) -> None:
        """A reader; without an encoder parts have no vectors."""
        self._encoder = encoder
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def read(self, asked: Sequence[str], *, with_vectors: bool) -> list[Query]:
        """The queries in their parts; all vectors are made in one go."""
        queries = [Query(text, _parts(text)) for text in asked]
        if self._encoder is None or not with_vectors:
            return queries
        # A text without words (emoji, dots) has a vector too, but that is no meaning.
        texts = [part.text for query in queries for part in query.parts if part.words]
        vectors = self._vectors(
            [t for t in texts if self._encoder.reads_unspaced or not is_unspaced(t)], self._encoder
        )
        return [
            Query(query.asked, tuple(replace(p, vector=vectors.get(p.text)) for p in query.parts))
            for query in queries
        ]

    def _vectors(self, texts: Sequence[str], encoder: Encoder) -> Mapping[str, NDArray[np.float32]]:
        with self._lock:
            found = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            made = dict(zip(missing, encoder.encode(missing), strict=True))
            self._remember(made)
            found |= made
        return found

    def _remember(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        with self._lock:
            self._known.update(vectors)
            while len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)


def _parts(asked: str) -> tuple[QueryPart, ...]:
    text = query_text(asked)
    return tuple(QueryPart(part, words(part)) for part in (text, *clauses(text)) if part)
