"""The shipped encoder: int8 ONNX on one thread of the CPU, from files beside this module."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FILES: Final = Path(__file__).parent / "encoder_files"
_LONGEST_TOKENS: Final = 256
_BATCH_TOKENS: Final = 256
"""So many tokens go through the graph together; texts are sorted, so little is padding. More left
the caches: 4,096 took nearly twice the time and 150 MB that never came back."""


class OnnxEncoder:
    """A `toolcrib_registry.ports.Encoder` over ONNX Runtime; safe to use from several threads."""

    unrelated = 0.0
    reads_unspaced = False

    def __init__(self, folder: Path = FILES) -> None:
        """Load the model; about 0.1 s.

        Args:
            folder: holds `model.int8.onnx`, `tokenizer.json` and `MODEL_CARD.md` (whose text is
                part of the id).
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # The further levels find nothing to do in this graph and cost a third of the load time.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(
            folder / "model.int8.onnx", options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_LONGEST_TOKENS)
        # The card holds the hashes of the files; a test holds them against the files, so that
        # nobody waits here for 23 MB to be hashed.
        hashes = re.findall(r"\b[0-9a-f]{64}\b", (folder / "MODEL_CARD.md").read_text("utf-8"))
        content = hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]
        self.id = f"onnx:all-MiniLM-L6-v2:{content}"
        self.dimensions: int = self._session.get_outputs()[0].shape[1]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (texts, dimensions)."""
        encoded = self._tokenizer.encode_batch([text or " " for text in texts])
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        while order:
            widest = len(encoded[order[-1]].ids)
            batch = order[-max(1, _BATCH_TOKENS // widest) :]
            del order[-len(batch) :]
            ids = np.zeros((len(batch), widest), np.int64)
            mask = np.zeros_like(ids)
            for place, number in enumerate(batch):
                tokens = encoded[number].ids
                ids[place, : len(tokens)], mask[place, : len(tokens)] = tokens, 1
            vectors[batch] = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return vectors
