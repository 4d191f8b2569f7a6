"""What the shipped encoder makes of texts."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest

from toolcrib_adapters.search.onnx_encoder import FILES, OnnxEncoder


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    return OnnxEncoder()


@pytest.mark.promise("search-encoder-files")
def test_the_card_tells_the_hashes_of_the_shipped_files_and_their_licence() -> None:
    card = (FILES / "MODEL_CARD.md").read_text("utf-8")
    told = dict(re.findall(r"\| (\S+) \| ([0-9a-f]{64}) \|", card))
    for name in ("model.int8.onnx", "tokenizer.json"):
        assert told[name] == hashlib.sha256((FILES / name).read_bytes()).hexdigest()
    assert "Apache-2.0" in card
    assert "Apache License" in (FILES / "LICENSE").read_text("utf-8")


def test_vectors_have_length_one_and_the_told_dimensions(encoder: OnnxEncoder) -> None:
    vectors = encoder.encode(["send an e-mail", "", "🌦️", "x" * 20_000, "天气" * 3_000, "\x00"])
    assert vectors.shape == (6, encoder.dimensions) == (6, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-3)
    assert encoder.encode([]).shape == (0, 384)


def test_company_in_a_batch_changes_nothing(encoder: OnnxEncoder) -> None:
    texts = ["short", "a much longer text about invoices and customers " * 20, "weather in Rome"]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert together == pytest.approx(alone, abs=1e-5)


def test_meaning_is_near_and_nonsense_is_far(encoder: OnnxEncoder) -> None:
    question, near, far = encoder.encode(
        ["check my inbox", "fetch e-mail messages", "rotate an image by 90 degrees"]
    )
    assert question @ near > 0.3 > question @ far


def test_two_encoders_of_the_same_files_have_one_id(encoder: OnnxEncoder) -> None:
    assert OnnxEncoder().id == encoder.id
    assert re.fullmatch(r"onnx:all-MiniLM-L6-v2:[0-9a-f]{16}", encoder.id)
