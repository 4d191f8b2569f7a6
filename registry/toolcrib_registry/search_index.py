"""The index of one catalogue in memory: which row is which tool, the two legs, and vectors to come.

Words follow the catalogue at once; vectors are made in the background, in batches, and answers say
so until they are there. A changed contract gets a new row: a row never changes its meaning. Ranking
is in `ranking`; this knows rows only. Used by `search`.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Final

import anyio
import numpy as np
from anyio import CapacityLimiter, to_thread

from toolcrib_registry.named_tools import Spellings
from toolcrib_registry.ports import StoredIndex
from toolcrib_registry.search_text import contract_words, spelling
from toolcrib_registry.snapshot import Snapshot
from toolcrib_registry.tool_vectors import ToolVectors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from toolcrib_protocol.names import ToolId
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.ports import Encoder, IndexStore, VectorCache
    from toolcrib_registry.records import ToolRecord, VersionRecord

_BATCH: Final = 32
"""Tools a batch: about 0.1 s of work, so that a change of the catalogue is not kept waiting."""
_CHUNK: Final = 200
"""Tools whose words are indexed before waiting questions get their turn."""
_SAVE_EVERY: Final = 50
"""Batches between saves while a large catalogue is built."""
_IDLE_SECONDS: Final = 1.0
_PROGRESS_SECONDS: Final = 0.1
_MOST_WASTE: Final = 4
"""An index whose rows are mostly dead is made anew when it is opened."""


class SearchIndex:
    """Rows, legs and pending vectors; its methods may be called from any thread."""

    def __init__(self, encoder: Encoder | None, store: IndexStore, cache: VectorCache) -> None:
        """An empty index over an empty catalogue."""
        self.snapshot = Snapshot()
        self.generation = 0
        """Grows with every change of what may be answered."""
        self.spellings = Spellings()
        self._maker = None if encoder is None else ToolVectors(encoder, cache)
        self._store = store
        self._lock = Lock()
        self._thread = CapacityLimiter(1)
        self._take_over(store.empty())
        self._is_saved = True
        self._has_work = anyio.Event()

    def _take_over(self, stored: StoredIndex) -> None:
        self._keywords, self._vectors = stored.keywords, stored.vectors
        self._next_row = stored.next_row
        self._rows: dict[ToolId, tuple[int, str]] = dict(stored.rows)
        self._tools: dict[int, ToolId] = {row: tool for tool, (row, _) in stored.rows.items()}
        self._encoded = set(stored.encoded)
        self._pending: dict[int, VersionRecord] = {}
        self._says: dict[int, tuple[str, str]] = {}
        self._all = np.array(sorted(self._tools), np.int64)

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
        if not self._pending:
            return None
        there, total = len(self._encoded), len(self._tools)
        return f"vectors building {there}/{total}; until then the others are found by words only"

    def rows_of(self, tools: Iterable[ToolId]) -> NDArray[np.int64]:
        """The rows of those tools that may be found, ascending."""
        rows = sorted(self._rows[tool][0] for tool in tools if tool in self._rows)
        return np.array(rows, np.int64)

    def tool_of(self, row: int) -> ToolId:
        """The tool of a row."""
        return self._tools[row]

    def says(self, row: int) -> tuple[str, str]:
        """Name and description of a row's tool, for telling copies of one tool."""
        if row not in self._says:
            tool = self._tools[row]
            head = self.snapshot.tools[tool].head
            told = "" if head is None else head.description
            self._says[row] = spelling(tool.name), told
        return self._says[row]

    def keyword_scores(self, words: Sequence[str]) -> tuple[NDArray[np.float32], float]:
        """The keyword score of every row, and about that of a row with all words."""
        return self._keywords.scores(words, self._next_row)

    def coverage(self, words: Sequence[str], allowed: NDArray[np.int64]) -> float:
        """The largest share of the words, by weight, that one of the allowed rows has; 0..1."""
        shares = self._keywords.coverage(words, self._next_row)
        return float(shares[allowed].max(initial=0.0))

    def nearest(
        self, vector: NDArray[np.float32], most: int, allowed: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The nearest of the allowed rows and their similarities, best first."""
        everything = len(allowed) == len(self._all)
        return self._vectors.nearest(vector, most, None if everything else allowed)

    def lowest(self, vector: NDArray[np.float32], allowed: NDArray[np.int64]) -> float:
        """About the least similarity of the allowed rows: the lower end of min-max."""
        return self._vectors.lowest(vector, allowed)

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vector of each row; null vectors for those that have none yet."""
        return self._vectors.vectors(rows)

    # Following the catalogue.

    def open(self, snapshot: Snapshot) -> None:
        """Take over what is stored, and make its words agree with the catalogue."""
        stored = self._store.load()
        if stored is not None and stored.next_row <= _MOST_WASTE * max(len(stored.rows), _CHUNK):
            with self._lock:
                self._take_over(stored)
                for row, tool in self._tools.items():
                    self.spellings.put(row, _names(tool, snapshot.tools.get(tool)))
        self.follow(snapshot)

    def follow(self, snapshot: Snapshot) -> None:
        """Make rows, words and names agree with the catalogue; dropped rows lose their vectors."""
        before = self.snapshot.tools
        gone = [tool for tool in self._rows if tool not in snapshot.tools]
        fresh: list[VersionRecord] = []
        unfinished: dict[int, VersionRecord] = {}
        for tool, record in snapshot.tools.items():
            # A record is a value: what was not touched is the same object.
            if before.get(tool) is record:
                continue
            head, known = record.head, self._rows.get(tool)
            if known is not None and (head is None or head.fingerprint != known[1]):
                gone.append(tool)
                known = None
            if head is None:
                continue
            if known is None:
                fresh.append(head)
            elif known[0] not in self._encoded:
                unfinished[known[0]] = head
        self._apply(gone, fresh, snapshot)
        self._await_vectors(unfinished)

    def _apply(
        self, gone: Sequence[ToolId], fresh: Sequence[VersionRecord], snapshot: Snapshot
    ) -> None:
        """What is gone goes at once; what is new comes in chunks, and counts when all is there."""
        with self._lock:
            self._drop(gone)
            self.snapshot = snapshot
            self.generation += 1
        for start in range(0, len(fresh), _CHUNK):
            with self._lock:
                for record in fresh[start : start + _CHUNK]:
                    self._add(record)
        if gone or fresh:
            with self._lock:
                self._all = np.array(sorted(self._tools), np.int64)
                self.generation += 1
                self._is_saved = False

    def _drop(self, tools: Sequence[ToolId]) -> None:
        rows = [self._rows.pop(tool)[0] for tool in tools]
        for row in rows:
            del self._tools[row]
            self._keywords.remove(row)
            self.spellings.remove(row)
            self._pending.pop(row, None)
            self._says.pop(row, None)
        if rows:
            self._encoded.difference_update(rows)
            self._vectors.remove(np.array(rows, np.int64))
            self._all = np.array(sorted(self._tools), np.int64)

    def _add(self, record: VersionRecord) -> None:
        row, tool = self._next_row, record.tool
        self._next_row += 1
        self._keywords.put(row, contract_words(record.contract))
        self.spellings.put(row, _names(tool, self.snapshot.tools[tool]))
        self._rows[tool] = (row, record.fingerprint)
        self._tools[row] = tool
        self._await_vectors({row: record})

    def _await_vectors(self, records: Mapping[int, VersionRecord]) -> None:
        if self._maker is not None:
            self._pending.update(records)

    # Vectors, in the background.

    def notice(self) -> None:
        """Wake what makes vectors; called on the event loop after a change."""
        self._has_work.set()

    async def keep(self) -> None:
        """Make missing vectors and keep the index on disk, until cancelled."""
        batches = pruned = 0
        try:
            while True:
                self._has_work = anyio.Event()
                made = await to_thread.run_sync(self._make_batch, limiter=self._thread)
                batches += made
                if not made or batches % _SAVE_EVERY == 0:
                    await self._save_if_changed()
                if self._maker is not None and batches > pruned and not made:
                    pruned = batches
                    prune = self._maker.prune
                    await to_thread.run_sync(prune, self._contracts, limiter=self._thread)
                if not made:
                    with anyio.move_on_after(_IDLE_SECONDS):
                        await self._has_work.wait()
        finally:
            # A command that indexed something ends at once; the next one must find its work.
            with anyio.CancelScope(shield=True):
                await self._save_if_changed()

    async def _save_if_changed(self) -> None:
        if not self._is_saved:
            await to_thread.run_sync(self.save, limiter=self._thread)

    async def building(self) -> AsyncIterator[tuple[int, int]]:
        """Vectors that are there, of all, now and then, until none is missing."""
        while self._pending:
            yield len(self._encoded), len(self._tools)
            await anyio.sleep(_PROGRESS_SECONDS)

    def save(self) -> None:
        """Put the index on disk; questions wait while it is copied, not while it is written."""
        with self._lock:
            self._is_saved = True
            write = self._store.saving(
                StoredIndex(
                    dict(self._rows),
                    self._next_row,
                    self._keywords,
                    self._vectors,
                    frozenset(self._encoded),
                )
            )
        write()

    def _contracts(self) -> list[Contract]:
        """What is to have vectors."""
        records = list(self.snapshot.tools.values())
        return [record.head.contract for record in records if record.head is not None]

    def _make_batch(self) -> bool:
        """Make the vectors of a few rows; whether there were any to make."""
        maker = self._maker
        if maker is None:
            return False
        with self._lock:
            batch = dict(islice(self._pending.items(), _BATCH))
        if not batch:
            return False
        rows = list(batch)
        vectors = maker.of([record.contract for record in batch.values()])
        with self._lock:
            # What was dropped meanwhile must not come back.
            still = [place for place, row in enumerate(rows) if row in self._pending]
            there = np.array([rows[place] for place in still], np.int64)
            self._vectors.put(there, vectors[still])
            self._encoded.update(there.tolist())
            for row in there.tolist():
                del self._pending[row]
            self._is_saved = False
            self.generation += 1
        return True


def _names(tool: ToolId, record: ToolRecord | None) -> Sequence[str]:
    published = () if record is None else (record.published_name,)
    return (tool.name, str(tool), *published)
