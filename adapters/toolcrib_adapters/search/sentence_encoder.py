"""Any sentence-transformers model as encoder (extra `sentence-transformers`), from local files.

It never asks the network: a model is a folder, or what was downloaded before.
"""

from __future__ import annotations

import hashlib
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
from sentence_transformers import SentenceTransformer

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Models differ in how alike unrelated texts look to them (0.0 to 0.8) and in the languages they
# read; neither is written anywhere, so both are tried out.
_UNRELATED: Final = (
    "send an email",
    "weather forecast for tomorrow",
    "merge two branches",
    "play the next song",
    "delete a database table",
)
_CHINESE: Final = ("发送电子邮件", "明天的天气预报", "合并两个分支")
_UNDERSTOOD: Final = 0.2
_OF_THE_SHIPPED: Final = 0.08
"""What the shipped encoder makes of the unrelated texts; the floors of search count from there."""


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
                f"the model {model!r} is not on this machine ({error}); give the folder of a model",
            ) from error
        english = self.encode(_UNRELATED)
        chinese = self.encode(_CHINESE)
        self.dimensions = int(english.shape[1])
        self.id = f"sentence-transformers:{model}:{_revision(self._model)}"
        pairs = [float(one @ other) for one, other in combinations(english, 2)]
        usual = sum(pairs) / len(pairs)
        self.unrelated = max(usual - _OF_THE_SHIPPED, 0.0)
        same = [float(one @ other) for one, other in zip(english, chinese, strict=False)]
        self.reads_unspaced = min(same) > usual + _UNDERSTOOD

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (texts, dimensions)."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        vectors = self._model.encode(
            [text or " " for text in texts], normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32)


def _revision(model: SentenceTransformer) -> str:
    """What tells two states of a model apart: a hash over its weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().float().numpy().tobytes())
    return digest.hexdigest()[:16]
