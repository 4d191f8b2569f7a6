"""The index of one catalogue in memory: which row is which tool, the two legs, and the vectors still to be made.

Words follow the catalogue at once; vectors are made in the background, in batches, from a cache where they were made before, so
that an interrupted build goes on where it was. A changed contract gets a new row: a row never changes its meaning. Ranking is in
`ranking.py`; this knows rows only.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final

import anyio
import numpy as np
from anyio import CapacityLimiter, to_thread

from toolcrib_registry.ports import StoredIndex
from toolcrib_registry.search_text import (
    TEMPLATE_VERSION,
    contract_words,
    example_texts,
    spelling,
    vector_texts,
)
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from toolcrib_protocol.names import ToolId

    from toolcrib_registry.ports import Encoder, IndexStore, VectorCache
    from toolcrib_registry.records import VersionRecord

_BATCH: Final = 32
"""Tools a batch: about 0.3 s of work, so that a change of the catalogue is not kept waiting."""
_CHUNK: Final = 200
"""Tools whose words are indexed before waiting questions get their turn."""
_EXAMPLE_HALF: Final = 5
"""n examples weigh n/(n+5): three a tool lifted R@1 from 46 to 55 in our measurements, ten to 60."""
_SAVE_EVERY: Final = 50
"""Batches between saves while a large catalogue is built."""
_IDLE_SECONDS: Final = 1.0
_MOST_WASTE: Final = 4
"""An index whose rows are mostly dead is made anew when it is opened."""


class SearchIndex:
    """Rows, legs and pending vectors; its methods may be called from any thread."""

    def __init__(self, encoder: Encoder | None, store: IndexStore, cache: VectorCache) -> None:
        self.snapshot = Snapshot()
        self.spellings: Mapping[str, Sequence[int]] = {}
        self._encoder = encoder
        self._store = store
        self._cache = cache
        self._lock = Lock()
        self._thread = CapacityLimiter(1)
        self._stored = store.empty()
        self._rows: dict[ToolId, tuple[int, str]] = {}
        self._tools: dict[int, ToolId] = {}
        self._encoded: set[int] = set()
        self._all = np.zeros(0, np.int64)
        self._is_saved = True
        self.generation = 0

    # What questions read, all inside `reading`.

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the index still while a question is answered."""
        with self._lock:
            yield

    @property
    def all_rows(self) -> NDArray[np.int64]:
        """Every row that may be found, ascending."""
        return self._all

    @property
    def has_vectors(self) -> bool:
        """Whether there is anything to compare a query's vector with."""
        return bool(self._encoded)

    @property
    def degraded(self) -> str | None:
        """Why answers may be less than usual, or None."""
        if self._encoder is None or len(self._encoded) >= len(self._tools):
            return None
        return (
            f"vectors are still being made ({len(self._encoded)} of {len(self._tools)}); the others are found by "
            "their words only"
        )

    def rows_of(self, tools: Iterable[ToolId]) -> NDArray[np.int64]:
        """The rows of those tools that may be found, ascending."""
        return np.array(sorted(self._rows[tool][0] for tool in tools if tool in self._rows), np.int64)

    def tool_of(self, row: int) -> ToolId:
        """The tool of a row."""
        return self._tools[row]

    def keyword_scores(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The keyword score of every row."""
        return self._stored.keywords.scores(words, self._stored.next_row)

    def nearest(
        self, vector: NDArray[np.float32], most: int, allowed: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The nearest of the allowed rows."""
        everything = len(allowed) == len(self._all)
        return self._stored.vectors.nearest(vector, most, None if everything else allowed)

    def similarities(
        self, vector: NDArray[np.float32], rows: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """The similarity of each row."""
        return self._stored.vectors.similarities(vector, rows)

    # Following the catalogue.

    def open(self, snapshot: Snapshot) -> None:
        """Take over what is stored, and make its words agree with the catalogue."""
        stored = self._store.load()
        if stored is not None and stored.next_row <= _MOST_WASTE * max(len(stored.rows), _CHUNK):
            with self._lock:
                self._stored = stored
                self._rows = dict(stored.rows)
                self._tools = {row: tool for tool, (row, _) in stored.rows.items()}
                self._encoded = set(stored.encoded)
        self.follow(snapshot)

    def follow(self, snapshot: Snapshot) -> None:
        """Make rows, words and spellings agree with the catalogue; vectors of dropped rows go as well."""
        live = {record.tool: record for record in snapshot.live_tools()}
        gone = [tool for tool, (_, made_of) in self._rows.items()
                if tool not in live or live[tool].fingerprint != made_of]
        with self._lock:
            self._drop(gone)
            self.snapshot = snapshot
            self.generation += bool(gone)
        fresh = [record for tool, record in live.items() if tool not in self._rows]
        for start in range(0, len(fresh), _CHUNK):
            with self._lock:
                for record in fresh[start : start + _CHUNK]:
                    self._add(record)
        if gone or fresh or len(self._all) != len(self._tools):
            self._refresh_views()
            self._is_saved = False

    def _drop(self, tools: Sequence[ToolId]) -> None:
        rows = []
        for tool in tools:
            row, _ = self._rows.pop(tool)
            del self._tools[row]
            self._stored.keywords.remove(row)
            rows.append(row)
        self._encoded.difference_update(rows)
        if rows:
            self._stored.vectors.remove(np.array(rows, np.int64))
            self._all = np.array(sorted(self._tools), np.int64)

    def _add(self, record: VersionRecord) -> None:
        row = self._stored.next_row
        self._stored = StoredIndex({}, row + 1, self._stored.keywords, self._stored.vectors, frozenset())
        self._stored.keywords.put(row, contract_words(record.contract))
        self._rows[record.tool] = (row, record.fingerprint)
        self._tools[row] = record.tool

    def _refresh_views(self) -> None:
        spellings: dict[str, list[int]] = defaultdict(list)
        for row, tool in sorted(self._tools.items()):
            published = self.snapshot.tools[tool].published_name
            for name in {spelling(tool.name), spelling(str(tool)), spelling(published)} - {""}:
                spellings[name].append(row)
        with self._lock:
            self.spellings = spellings
            self.generation += 1
            self._all = np.array(sorted(self._tools), np.int64)

    # Vectors, in the background.

    async def keep(self) -> None:
        """Make missing vectors and keep the index on disk, until cancelled."""
        batches = 0
        while True:
            made = await to_thread.run_sync(self._make_batch, limiter=self._thread)
            batches += bool(made)
            if not self._is_saved and (not made or batches % _SAVE_EVERY == 0):
                await to_thread.run_sync(self.save, limiter=self._thread)
            if not made:
                await anyio.sleep(_IDLE_SECONDS)

    async def building(self) -> AsyncIterator[tuple[int, int]]:
        """Vectors that are there, of all, until none is missing."""
        while self._encoder is not None and len(self._encoded) < len(self._tools):
            yield len(self._encoded), len(self._tools)
            await anyio.sleep(_IDLE_SECONDS / 10)

    def save(self) -> None:
        """Put the index on disk."""
        with self._lock:
            self._is_saved = True
            kept = StoredIndex(
                dict(self._rows),
                self._stored.next_row,
                self._stored.keywords,
                self._stored.vectors,
                frozenset(self._encoded),
            )
            self._store.save(kept)

    def _make_batch(self) -> int:
        """Make the vectors of a few rows; how many."""
        encoder = self._encoder
        if encoder is None:
            return 0
        with self._lock:
            rows = [row for row in self._tools if row not in self._encoded][:_BATCH]
            heads = [self.snapshot.tools[self._tools[row]].head for row in rows]
        records = {row: head for row, head in zip(rows, heads, strict=True) if head is not None}
        if not records:
            return 0
        vectors = self._vectors_of(list(records.values()), encoder)
        with self._lock:
            still = [number for number, row in enumerate(records) if row in self._tools]
            there = np.array([row for row in records if row in self._tools], np.int64)
            self._stored.vectors.put(there, vectors[still])
            self._encoded.update(there.tolist())
            self._is_saved = False
            self.generation += 1
        return len(records)

    def _vectors_of(
        self, records: Sequence[VersionRecord], encoder: Encoder
    ) -> NDArray[np.float32]:
        texts = [(vector_texts(r.contract), example_texts(r.contract)) for r in records]
        known = self._known([text for main, extra in texts for text in (*main, *extra)], encoder)
        made = [_mean([known[t] for t in main], [known[t] for t in extra]) for main, extra in texts]
        return np.stack(made)

    def _known(self, texts: Sequence[str], encoder: Encoder) -> dict[str, NDArray[np.float32]]:
        """The vector of each text, from the cache or made now."""
        keys = {text: _key(encoder.id, text) for text in dict.fromkeys(texts)}
        cached = self._cache.get(list(keys.values()))
        missing = [text for text, key in keys.items() if key not in cached]
        if missing:
            fresh = dict(zip((keys[t] for t in missing), encoder.encode(missing), strict=True))
            self._cache.put(fresh)
            cached = {**cached, **fresh}
        return {text: cached[key] for text, key in keys.items()}


def _key(encoder_id: str, text: str) -> str:
    written = f"{encoder_id}\n{TEMPLATE_VERSION}\n{text}"
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def _mean(
    main: Sequence[NDArray[np.float32]], extra: Sequence[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """The mean of the main vectors, drawn towards the examples the more there are; length 1."""
    total = np.mean(main, axis=0)
    if extra:
        weight = len(extra) / (len(extra) + _EXAMPLE_HALF)
        total = (1 - weight) * total + weight * np.mean(extra, axis=0)
    length = float(np.linalg.norm(total))
    vector: NDArray[np.float32] = (total / length if length else total).astype(np.float32)
    return vector
