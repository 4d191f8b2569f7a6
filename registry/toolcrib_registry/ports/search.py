"""What a search is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from toolcrib_protocol.names import ToolId


class Encoder(Protocol):
    """Turns texts into vectors; synchronous work for the CPU, safe to call from several threads."""

    id: str
    """Names the model and its files; vectors of different ids are never compared."""
    dimensions: int
    unrelated: float
    """The usual similarity of texts that have nothing in common."""
    reads_unspaced: bool
    """Whether Chinese and other scripts without spaces mean anything to it."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (texts, dimensions)."""
        ...


class VectorIndex(Protocol):
    """Nearest vectors by inner product. Used from one thread at a time."""

    def put(self, rows: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add vectors under row numbers that are not in the index."""
        ...

    def remove(self, rows: NDArray[np.int64]) -> None:
        """Take rows out; those that are not there are passed over."""
        ...

    def nearest(
        self, vector: NDArray[np.float32], most: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows and similarities, best first; `allowed` (sorted rows) limits what is looked at."""
        ...

    def lowest(self, vector: NDArray[np.float32], allowed: NDArray[np.int64]) -> float:
        """The least similarity of the allowed rows, of a sample of them if they are many."""
        ...

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vector of each row, shape (rows, dimensions); null vectors for rows not there."""
        ...


class KeywordIndex(Protocol):
    """Rows by words. Used from one thread at a time."""

    def put(self, row: int, words: Sequence[str]) -> None:
        """Index words under a row number that was never used before."""
        ...

    def remove(self, row: int) -> None:
        """Forget a row."""
        ...

    def scores(self, words: Sequence[str], size: int) -> tuple[NDArray[np.float32], float]:
        """The score of each row below `size`, which no row reaches; 0 where no word occurs.

        And about what a row with every word would score, whether or not there is one.
        """
        ...

    def coverage(self, words: Sequence[str], size: int) -> NDArray[np.float32]:
        """How much of the words, by their rarity, each row below `size` has; 0..1."""
        ...


class VectorCache(Protocol):
    """Vectors that were made before, by content: a new version embeds only what changed."""

    def get(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that are known."""
        ...

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Remember vectors."""
        ...

    def prune(self, live: Callable[[], Collection[str]]) -> None:
        """Forget what is too much, but none that `live` names and few that are new."""
        ...


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """What of a search index survived on disk.

    Which row is which tool at which contract, and the two legs.
    """

    rows: Mapping[ToolId, tuple[int, str]]
    """Row number and contract fingerprint of each tool."""
    next_row: int
    keywords: KeywordIndex
    vectors: VectorIndex
    encoded: frozenset[int]
    """Rows whose vectors are in the vector leg."""


class IndexStore(Protocol):
    """Where an index is kept between processes. A cache: anything unreadable counts as absent."""

    def load(self) -> StoredIndex | None:
        """The stored index, if it was made by the same encoder and the same rules."""
        ...

    def empty(self) -> StoredIndex:
        """A fresh index."""
        ...

    def saving(self, index: StoredIndex) -> Callable[[], None]:
        """Copy what is to be kept, and return what replaces the stored index by it, at once.

        Questions have to wait for the copying only.
        """
        ...
