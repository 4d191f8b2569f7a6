"""Any sentence-transformers model as encoder (extra `sentence-transformers`).

Local files only: it never asks the network.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sentence_transformers import SentenceTransformer

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class SentenceEncoder:
    """A `toolcrib_registry.ports.Encoder` over sentence-transformers."""

    def __init__(self, model: str) -> None:
        """Load a model from a folder, or from the local cache of the hub.

        Raises:
            ToolError: `invalid_settings` if it is not on this machine.
        """
        try:
            self._model = SentenceTransformer(model, device="cpu", local_files_only=True)
        except (OSError, ValueError) as error:
            raise ToolError(
                INVALID_SETTINGS,
                f"the model {model!r} is not on this machine ({error}); give the folder of a downloaded model",
            ) from error
        dimensions = self._model.get_sentence_embedding_dimension()
        if dimensions is None:
            raise ToolError(
                INVALID_SETTINGS, f"the model {model!r} does not say how long its vectors are"
            )
        self.dimensions = int(dimensions)
        self.id = f"sentence-transformers:{model}:{_revision(Path(model))}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (texts, dimensions)."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        vectors = self._model.encode(
            [text or " " for text in texts], normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32)


def _revision(folder: Path) -> str:
    """What tells two states of a model folder apart: the sizes and times of its weight files."""
    files = sorted(folder.glob("*.safetensors")) + sorted(folder.glob("*.bin"))
    facts = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]
