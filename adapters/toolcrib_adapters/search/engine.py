"""Puts a search together: encoder, index file and vector cache in the home folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from toolcrib_adapters.extras import load
from toolcrib_adapters.search.index_file import IndexFile
from toolcrib_adapters.search.vector_cache import VectorCache
from toolcrib_protocol.errors import INVALID_SETTINGS, STORE_UNAVAILABLE, ToolError
from toolcrib_registry.search import Search

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_registry.ports import Encoder


async def open_search(home: Path, encoder: str = "default") -> Search:
    """The search of the crib in `home`; nothing is loaded from its index yet.

    Args:
        home: the crib's folder; the index is kept in its `index`.
        encoder: `default`, `none`, or `sentence-transformers:FOLDER_OR_MODEL`.

    Raises:
        ToolError: `invalid_settings`, `missing_extra`, or `store_unavailable` if the folder cannot
            be used.
    """
    return await to_thread.run_sync(_opened, home, encoder)


def _opened(home: Path, wanted: str) -> Search:
    encoder = make_encoder(wanted)
    folder = home / "index"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(
            STORE_UNAVAILABLE, f"the folder {folder} cannot be used: {error.strerror}"
        ) from error
    encoder_id, dimensions = ("none", 0) if encoder is None else (encoder.id, encoder.dimensions)
    store = IndexFile(folder / "search.npz", encoder_id, dimensions)
    return Search(encoder, store, VectorCache(folder / "vectors.db"))


def make_encoder(wanted: str) -> Encoder | None:
    """The encoder that a setting names; None for `none`.

    Raises:
        ToolError: `invalid_settings`, `missing_extra`.
    """
    name, _, model = wanted.partition(":")
    if wanted == "none":
        return None
    if wanted == "default":
        encoder: Encoder = load("search.onnx_encoder")()
        return encoder
    if name == "sentence-transformers" and model:
        encoder = load("search.sentence_encoder")(model)
        return encoder
    raise ToolError(
        INVALID_SETTINGS,
        f"no encoder is called {wanted!r}; use default, none or sentence-transformers:FOLDER_OR_MODEL",
    )
