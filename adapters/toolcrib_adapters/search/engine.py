"""Puts a search together: encoder, index file and vector cache in the home folder."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from anyio import to_thread

from toolcrib_adapters.extras import load
from toolcrib_adapters.search.encoder_choice import encoder_part
from toolcrib_adapters.search.index_file import IndexFile
from toolcrib_adapters.search.index_folder import index_folder
from toolcrib_adapters.search.vector_cache import VectorCache
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.search import Search

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_registry.ports import Encoder


_log = logging.getLogger(__name__)


async def open_search(home: Path, encoder: str = "default") -> Search:
    """The search of the crib in `home`; nothing is loaded from its index yet.

    Args:
        home: the crib's folder; the index is kept in its `index`.
        encoder: `default`, `none`, or `sentence-transformers:FOLDER_OR_MODEL`.

    Raises:
        ToolError: `invalid_settings` for an encoder that does not exist, `store_unavailable` if the
            folder cannot be used. An encoder that cannot be loaded is no error: answers say so.
    """
    return await to_thread.run_sync(_opened, home, encoder)


def _opened(home: Path, wanted: str) -> Search:
    encoder, lacking = _encoder_or_reason(wanted)
    folder = index_folder(home)
    if encoder is None:
        # A file of its own: an encoder that is missing today must not cost its index.
        store = IndexFile(folder / "words.npz", "none", 0)
    else:
        store = IndexFile(folder / "search.npz", encoder.id, encoder.dimensions)
    return Search(encoder, store, VectorCache(folder / "vectors.db"), lacking=lacking)


def _encoder_or_reason(wanted: str) -> tuple[Encoder | None, str | None]:
    """The encoder; or None, and why tools are found by words only although one is wanted."""
    part, arguments = encoder_part(wanted)
    if part is None:
        return None, None
    try:
        return load(part)(*arguments), None
    except ToolError as error:
        _log.warning("the encoder %s cannot be used: %s", wanted, error.message)
        return None, f"tools are found by words only: {error.message}"
