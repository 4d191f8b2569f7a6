"""Any model of the hub as encoder, from local files; needs the extra `sentence-transformers`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.registry.shelf import open_shelf, tool
from toolcrib_adapters.extras import load
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from toolcrib_adapters.search.sentence_encoder import SentenceEncoder

pytest.importorskip(
    "sentence_transformers", reason="the extra `sentence-transformers` is not installed"
)

MODEL = os.environ.get("TOOLCRIB_TEST_SENTENCE_MODEL", "")
needs_model = pytest.mark.skipif(
    not Path(MODEL, "config.json").is_file(),
    reason="TOOLCRIB_TEST_SENTENCE_MODEL does not name the folder of a model",
)


@needs_model
def test_a_folder_is_loaded_without_any_network() -> None:
    encoder: SentenceEncoder = load("search.sentence_encoder")(MODEL)
    question, near, far = encoder.encode(["check my inbox", "fetch e-mail", "rotate an image"])
    assert question @ near > question @ far
    assert encoder.encode([""]).shape == (1, encoder.dimensions)
    assert encoder.encode([]).shape == (0, encoder.dimensions)
    assert 0 <= encoder.unrelated < 0.9
    assert encoder.id == load("search.sentence_encoder")(MODEL).id


@needs_model
async def test_a_crib_can_use_it(tmp_path: Path) -> None:
    tools = [tool("fetch_mail", "Fetches e-mail messages."), tool("rotate", "Rotates an image.")]
    shelf = await open_shelf(tmp_path, *tools, encoder=f"sentence-transformers:{MODEL}")
    answer = await shelf.ask("check my inbox")
    assert answer.degraded is None
    assert answer.tools[0].name == "fetch_mail"


def test_a_model_that_is_not_here_is_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="is not on this machine"):
        load("search.sentence_encoder")(str(tmp_path / "nothing"))
