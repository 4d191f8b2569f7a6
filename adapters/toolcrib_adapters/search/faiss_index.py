"""Vectors in FAISS: exact, with row numbers, hot to add and remove.

Flat up to 20,000 rows; above, each number is kept in 8 bits, which is about three times as fast and
a quarter of the size. FAISS's traps are dealt with here: it pads short answers with row -1,
keeps a row twice if it is added twice, and meets a wrong dimension with an AssertionError without
text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import faiss
import numpy as np

from toolcrib_protocol.errors import INTERNAL, ToolError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALL: Final = 20_000
"""Rows up to which every number is kept in full."""
_LARGEST: Final = 127
_HEADROOM: Final = 1.25
"""Later vectors may have somewhat larger numbers than those the scale was made for."""
_SCALE_BYTES: Final = 8
_EXACT_LOWEST: Final = 2_000
_SAMPLE: Final = 256


class FaissIndex:
    """A `toolcrib_registry.ports.VectorIndex`; used from one thread at a time."""

    def __init__(self, dimensions: int, small: int = SMALL) -> None:
        """An empty index for vectors of `dimensions` numbers and length 1."""
        self.dimensions = dimensions
        self._small = small
        self._index: Any = faiss.IndexIDMap2(faiss.IndexFlatIP(dimensions))
        self._rows: set[int] = set()
        self._has = np.zeros(1, bool)
        """The same, by row; the last place is always empty, for rows beyond it."""
        self._scale = 1.0

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, rows: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add vectors; a row that is there is replaced.

        Raises:
            ToolError: `internal` for vectors of another dimension.
        """
        if not len(rows):
            return
        if vectors.shape != (len(rows), self.dimensions):
            raise ToolError(
                INTERNAL,
                f"vectors of shape {vectors.shape} do not fit an index of "
                f"{self.dimensions} dimensions",
            )
        self.remove(rows)
        if len(self._rows) + len(rows) > self._small and self._is_flat:
            self._make_compact()
        self._index.add_with_ids(self._scaled(vectors), rows)
        self._note(rows)

    def remove(self, rows: NDArray[np.int64]) -> None:
        """Take rows out."""
        there = np.array([row for row in rows.tolist() if row in self._rows], np.int64)
        if len(there):
            self._index.remove_ids(there)
            self._rows.difference_update(there.tolist())
            self._has[there] = False

    def nearest(
        self, vector: NDArray[np.float32], most: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows and similarities, best first."""
        if not self._rows or (allowed is not None and not len(allowed)):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        parameters = None
        if allowed is not None:
            selector = faiss.IDSelectorBatch(np.ascontiguousarray(allowed))
            parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]  # SWIG hides its keywords
        # OpenMP counts threads for each thread of ours apart. More than one cost more than they
        # bring at these sizes, and spin beside everything else.
        faiss.omp_set_num_threads(1)
        scores, rows = self._index.search(
            vector.reshape(1, -1), min(most, len(self._rows)), params=parameters
        )
        # FAISS returns -1 for "fewer than that"; those places carry no row.
        real = rows[0] >= 0
        return rows[0][real], scores[0][real] / np.float32(self._scale)

    def lowest(self, vector: NDArray[np.float32], allowed: NDArray[np.int64]) -> float:
        """The least similarity of the allowed rows, of an even sample of them if they are many.

        It sets a scale only, and a second pass over 100,000 vectors would double the time.
        """
        if len(allowed) > _EXACT_LOWEST:
            sample = allowed[:: len(allowed) // _SAMPLE]
            return float(np.einsum("ij,j->i", self.vectors(sample), vector).min())
        everything = len(allowed) == len(self._rows)
        _, farthest = self.nearest(-vector, 1, None if everything else allowed)
        return -float(farthest[0]) if len(farthest) else 0.0

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vector of each row; null vectors where there is none."""
        found = np.zeros((len(rows), self.dimensions), np.float32)
        there = self._has[np.minimum(rows, len(self._has) - 1)]
        if there.any():
            found[there] = self._index.reconstruct_batch(rows[there]) / np.float32(self._scale)
        return found

    def dump(self) -> NDArray[np.uint8]:
        """The index as bytes, for a file."""
        scale = np.frombuffer(np.float64(self._scale).tobytes(), np.uint8)
        return np.concatenate([scale, faiss.serialize_index(self._index)])

    @classmethod
    def restored(cls, written: NDArray[np.uint8], dimensions: int) -> FaissIndex:
        """The index that `dump` wrote.

        Raises:
            ValueError: it is damaged, or of other dimensions.
        """
        try:
            read = faiss.deserialize_index(written[_SCALE_BYTES:])
        except RuntimeError as error:
            raise ValueError(f"the vector index cannot be read: {error}") from error
        if read.d != dimensions:
            raise ValueError(f"the vector index has {read.d} dimensions, expected {dimensions}")
        index = cls(dimensions)
        index._index = read
        index._scale = float(np.frombuffer(written[:_SCALE_BYTES].tobytes(), np.float64)[0])
        index._note(faiss.vector_to_array(read.id_map))  # type: ignore[attr-defined]
        return index

    def _note(self, rows: NDArray[np.int64]) -> None:
        self._rows.update(rows.tolist())
        last = int(rows.max(initial=-1))
        if last + 2 > len(self._has):
            grown = np.zeros(2 * last + 2, bool)
            grown[: len(self._has)] = self._has
            self._has = grown
        self._has[rows] = True

    @property
    def _is_flat(self) -> bool:
        return isinstance(faiss.downcast_index(self._index.index), faiss.IndexFlat)

    def _make_compact(self) -> None:
        rows = np.array(sorted(self._rows), np.int64)
        vectors = self._index.reconstruct_batch(rows)
        # One byte a number without a table: the quickest of FAISS's compact forms. It keeps whole
        # numbers from -128 to 127, so everything is scaled to fill them.
        self._scale = _LARGEST / max(float(np.abs(vectors).max()) * _HEADROOM, 1e-6)
        inner = faiss.IndexScalarQuantizer(
            self.dimensions, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
        )
        self._index = faiss.IndexIDMap2(inner)
        self._index.add_with_ids(self._scaled(vectors), rows)

    def _scaled(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._is_flat:
            return np.ascontiguousarray(vectors)
        whole: NDArray[np.float32] = np.rint(vectors * np.float32(self._scale))
        return whole.clip(-_LARGEST, _LARGEST)
