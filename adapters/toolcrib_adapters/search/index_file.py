"""The search index on disk: one file, replaced at once, thrown away when anything does not fit.

Its header names encoder, dimensions and text rules; a difference means that it is not loaded, and
the index is made again from the catalogue and the vector cache while words answer.
"""

from __future__ import annotations

import json
import logging
import os
import zipfile
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from toolcrib_adapters.search.faiss_index import FaissIndex
from toolcrib_adapters.search.keyword_index import KeywordIndex
from toolcrib_protocol.names import ToolId
from toolcrib_registry.ports import StoredIndex
from toolcrib_registry.search_text import TEMPLATE_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from toolcrib_protocol.json_value import JsonObject

_log = logging.getLogger(__name__)
_FORMAT: Final = 3
_NO_VECTORS: Final = 1
_LEFT_BEHIND_SECONDS: Final = 600.0


class IndexFile:
    """A `toolcrib_registry.ports.IndexStore` in one file."""

    def __init__(self, path: Path, encoder_id: str, dimensions: int) -> None:
        """The file at `path` for an encoder (`encoder_id` "none" and 0 dimensions without one)."""
        self._path = path
        self._dimensions = dimensions or _NO_VECTORS
        self._header: JsonObject = {
            "format": _FORMAT,
            "encoder": encoder_id,
            "dimensions": dimensions,
            "template": TEMPLATE_VERSION,
        }

    def empty(self) -> StoredIndex:
        """A fresh index."""
        return StoredIndex({}, 0, KeywordIndex(), FaissIndex(self._dimensions), frozenset())

    def load(self) -> StoredIndex | None:
        """What is stored, or None if there is nothing usable."""
        try:
            with np.load(self._path, allow_pickle=False) as arrays:
                facts = json.loads(arrays["facts"].tobytes())
                if facts["header"] != self._header:
                    _log.info("the search index was made by %s and is made anew", facts["header"])
                    return None
                return StoredIndex(
                    rows={ToolId(g, n): (row, made_of) for g, n, row, made_of in facts["rows"]},
                    next_row=facts["next_row"],
                    keywords=KeywordIndex.restored(arrays),
                    vectors=FaissIndex.restored(arrays["vectors"], self._dimensions),
                    encoded=frozenset(facts["encoded"]),
                )
        except FileNotFoundError:
            return None
        except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            _log.warning("the search index %s is damaged and is made anew: %s", self._path, error)
            return None

    def saving(self, index: StoredIndex) -> Callable[[], None]:
        """Copy what is to be kept, and return what replaces the file by it."""
        if not isinstance(index.keywords, KeywordIndex) or not isinstance(
            index.vectors, FaissIndex
        ):
            raise TypeError("an index file keeps the indexes that it gave out")
        arrays = index.keywords.dump()
        arrays["vectors"] = index.vectors.dump()
        return partial(self._write, index, arrays)

    def _write(self, index: StoredIndex, arrays: dict[str, NDArray[Any]]) -> None:
        facts = {
            "header": self._header,
            "rows": [
                [tool.group, tool.name, row, made] for tool, (row, made) in index.rows.items()
            ],
            "next_row": index.next_row,
            "encoded": sorted(index.encoded),
        }
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        scratch = self._path.with_suffix(f".{os.getpid()}.new")
        try:
            with scratch.open("wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
            self._sweep(scratch)
            scratch.replace(self._path)
        except OSError as error:
            # Without the file the index is made again next time: slower, never wrong.
            _log.warning("the search index cannot be kept in %s: %s", self._path, error)
            with suppress(OSError):
                scratch.unlink(missing_ok=True)

    def _sweep(self, scratch: Path) -> None:
        """Remove what processes that were killed while writing have left behind."""
        now = scratch.stat().st_mtime
        for left in self._path.parent.glob(f"{self._path.stem}.*.new"):
            with suppress(FileNotFoundError):
                if now - left.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                    left.unlink()
