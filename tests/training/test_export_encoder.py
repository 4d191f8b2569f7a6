"""Models of the hub become encoders, from a folder and over HTTP; others are refused."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest

from toolcrib_adapters.search.onnx_encoder import OnnxEncoder

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.promise("search-encoder-export")

REPOSITORY = Path(__file__).parents[2]
WORDS = ["[UNK]", "send", "the", "invoice", "weather", "in", "rome"]
WIDTH, INNER, HEADS, PLACES = 16, 32, 4, 256
NAME = "somebody/tiny"

Weights = dict[str, np.ndarray[Any, np.dtype[np.float32]]]


def drawn_weights() -> Weights:
    """A BERT of two layers that nobody trained."""
    draw = np.random.default_rng(7)
    sizes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        linear: dict[str, tuple[int, ...]] = {
            **{f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")},
            "attention.output.dense": (WIDTH, WIDTH),
            "intermediate.dense": (INNER, WIDTH),
            "output.dense": (WIDTH, INNER),
        }
        sizes |= {f"{layer}.{name}.weight": size for name, size in linear.items()}
        sizes |= {f"{layer}.{name}.bias": size[:1] for name, size in linear.items()}
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    sizes |= {f"{norm}.{part}": (WIDTH,) for norm in norms for part in ("weight", "bias")}
    return {name: draw.normal(0, 0.5, size).astype(np.float32) for name, size in sizes.items()}


def keep_weights(path: Path, weights: Weights) -> None:
    """A safetensors file, with the prefix that some publishers leave in the names."""
    header, content = {}, b""
    for name, value in weights.items():
        place = [len(content), len(content) + value.nbytes]
        header[f"bert.{name}"] = {"dtype": "F32", "shape": value.shape, "data_offsets": place}
        content += value.tobytes()
    header["bert.embeddings.position_ids"] = {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]}
    written = json.dumps(header | {"__metadata__": {"format": "pt"}}).encode()
    path.write_bytes(len(written).to_bytes(8, "little") + written + content)


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """A folder as the hub has it."""
    folder = tmp_path / "hub"
    (folder / "1_Pooling").mkdir(parents=True)
    keep_weights(folder / "model.safetensors", drawn_weights())
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {
            "type": "WordLevel",
            "unk_token": "[UNK]",
            "vocab": {w: i for i, w in enumerate(WORDS)},
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": 2,
        "num_attention_heads": HEADS,
        "hidden_size": WIDTH,
        "max_position_embeddings": PLACES,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": true}')
    return folder


@pytest.fixture
def endpoint(hub: Path, tmp_path: Path) -> Iterator[str]:
    """An HTTP server that answers as the hub does for one model."""
    place = tmp_path / "served" / NAME / "resolve"
    place.mkdir(parents=True)
    (place / "main").symlink_to(hub)
    handler = partial(QuietHandler, directory=str(tmp_path / "served"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    """Files of a folder, without a line on stderr for each."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def export(*arguments: str | Path, endpoint: str = "http://127.0.0.1:9") -> str:
    """What the command says on stderr; no other hub than `endpoint` can be reached."""
    done = subprocess.run(
        [sys.executable, "-m", "training.export_encoder", *map(str, arguments)],
        cwd=REPOSITORY,
        env={"HF_ENDPOINT": endpoint},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    return done.stderr


def expected(text: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The vector of `text` by the textbook."""
    weights = {name: value.astype(np.float64) for name, value in drawn_weights().items()}

    def linear(value: Any, name: str) -> Any:
        return value @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(value: Any, name: str) -> Any:
        spread = value.std(axis=1, keepdims=True)
        even = (value - value.mean(axis=1, keepdims=True)) / (spread + 1e-12)
        return even * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def gelu(value: Any) -> Any:
        return value * 0.5 * (1 + np.vectorize(math.erf)(value / np.sqrt(2)))

    def heads(value: Any) -> Any:
        return value.reshape(len(value), HEADS, -1).transpose(1, 0, 2)

    tokens = [WORDS.index(word) for word in text.split()]
    value = weights["embeddings.word_embeddings.weight"][tokens]
    value = value + weights["embeddings.position_embeddings.weight"][: len(tokens)]
    value = norm(
        value + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm"
    )
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        query, key, content = (
            heads(linear(value, f"{layer}.attention.self.{part}"))
            for part in ("query", "key", "value")
        )
        shares = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(WIDTH / HEADS))
        mixed = (shares / shares.sum(axis=2, keepdims=True)) @ content
        mixed = mixed.transpose(1, 0, 2).reshape(len(tokens), WIDTH)
        attended = linear(mixed, f"{layer}.attention.output.dense") + value
        value = norm(attended, f"{layer}.attention.output.LayerNorm")
        inner = gelu(linear(value, f"{layer}.intermediate.dense"))
        value = norm(linear(inner, f"{layer}.output.dense") + value, f"{layer}.output.LayerNorm")
    mean: np.ndarray[Any, np.dtype[np.float64]] = value.mean(axis=0)
    return mean / float(np.linalg.norm(mean))


@pytest.mark.parametrize("text", ["send the invoice", "weather", "the weather in rome in rome"])
def test_an_exported_model_gives_the_vectors_of_the_published_weights(
    hub: Path, tmp_path: Path, text: str
) -> None:
    export("--hub", hub, "--out", tmp_path / "made", "--fp32", tmp_path / "full.onnx")
    encoder = OnnxEncoder(tmp_path / "made")
    alone, company = encoder.encode([text]), encoder.encode([text, "send the invoice " * 9])
    assert alone[0] @ expected(text) > 0.99
    assert alone[0] @ company[0] == pytest.approx(1, abs=1e-5)
    full = onnxruntime.InferenceSession(tmp_path / "full.onnx")
    ids = np.array([[WORDS.index(word) for word in text.split()]])
    vector = full.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
    assert vector == pytest.approx(expected(text), abs=1e-5)


def test_a_name_a_folder_and_the_cache_of_the_hub_give_the_same_files(
    hub: Path, endpoint: str, tmp_path: Path
) -> None:
    export("--hub", hub, "--name", NAME, "--out", tmp_path / "of-folder")
    cached = tmp_path / "models--somebody--tiny"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs/main").write_text("c0ffee\n")
    (cached / "snapshots").mkdir()
    (cached / "snapshots/c0ffee").symlink_to(hub)
    export("--hub", cached, "--name", NAME, "--out", tmp_path / "of-cache")
    export("--hub", NAME, "--out", tmp_path / "of-name", endpoint=endpoint)
    files = {
        folder: {file.name: file.read_bytes() for file in (tmp_path / folder).iterdir()}
        for folder in ("of-folder", "of-cache", "of-name")
    }
    assert files["of-folder"] == files["of-cache"] == files["of-name"]
    assert NAME in files["of-name"]["MODEL_CARD.md"].decode()
    # Whoever publishes under another licence must not find ours beside it.
    assert "LICENSE" not in files["of-name"]


@pytest.mark.parametrize(
    ("file", "written", "told"),
    [
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "pooling is"),
        ("config.json", {"model_type": "mpnet"}, "model_type is 'mpnet'; only 'bert'"),
    ],
)
def test_a_model_that_cannot_be_built_is_refused_with_what_is_different(
    hub: Path, tmp_path: Path, file: str, written: object, told: str
) -> None:
    (hub / file).write_text(json.dumps(written))
    assert told in export("--hub", hub, "--out", tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_what_is_missing_or_another_file_than_was_expected_is_told(
    hub: Path, endpoint: str, tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "made")
    assert "expected 00" in export("--hub", hub, "--sha256", "00", *out)
    assert "404" in export("--hub", "somebody/else", *out, endpoint=endpoint)
    assert "neither a folder nor a name" in export("--hub", "../../etc", *out)
    config = json.loads((hub / "config.json").read_text())
    (hub / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    assert "lacks the tensor 'encoder.layer.2." in export("--hub", hub, *out)
    for damaged in (b"", b"\xff" * 99, (hub / "model.safetensors").read_bytes()[:5_000]):
        (hub / "model.safetensors").write_bytes(damaged)
        assert "is no safetensors file" in export("--hub", hub, *out)
    (hub / "tokenizer.json").unlink()
    assert "lacks tokenizer.json" in export("--hub", hub, *out)
