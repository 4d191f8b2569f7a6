"""A BERT sentence encoder as an ONNX graph, with int8 weights or none; used by `export_encoder`.

Standard operators only. Of each row that meets a weight, the largest number is scaled to 127, so
that one token's outlier costs no other token precision, and a text has the same vector whatever it
is encoded together with (the usual quantisation, one scale for a whole batch, has neither; cosine
to the full model at worst .990, here .995).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Weights = dict[str, Array]
LARGEST: Final = 127
OPSET: Final = 20
IR_VERSION: Final = 10


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a BERT is.

    Attributes:
        layers: how many.
        heads: of attention, in each layer.
        width: numbers a token, and a vector.
        epsilon: of the layer normalisation.
    """

    layers: int
    heads: int
    width: int
    epsilon: float


def build(weights: Mapping[str, Array], shape: Shape, *, is_int8: bool) -> onnx.ModelProto:
    """The graph from `input_ids` and `attention_mask` to `embedding`: the mean, at length 1."""
    graph = _Graph(weights, shape, is_int8=is_int8)
    graph.pool(graph.encoded())
    sizes = ["batch", "tokens"]
    body = helper.make_graph(
        graph.nodes,
        "encoder",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, sizes)
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", shape.width])],
        list(graph.constants.values()),
    )
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(body, opset_imports=[opset], producer_name="toolcrib")
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    return model


class _Graph:
    """A graph under construction; each method adds nodes and tells the output's name."""

    def __init__(self, weights: Mapping[str, Array], shape: Shape, *, is_int8: bool) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self._weights, self._shape, self._is_int8 = weights, shape, is_int8

    def encoded(self) -> str:
        """Each token in its sentence."""
        floats = self._add("Cast", "attention_mask", to=TensorProto.FLOAT)
        absent = self._add("Sub", self._number("one", 1), floats)
        far = self._add("Mul", absent, self._number("far", -10_000))
        mask = self._add("Unsqueeze", far, self._whole("heads_and_rows", 1, 2))
        value = self._embedded()
        for number in range(self._shape.layers):
            value = self._layer(value, mask, f"encoder.layer.{number}")
        return value

    def pool(self, value: str) -> None:
        """The mean over the real tokens, at length 1, as `embedding`."""
        mask = self._add("Cast", "attention_mask", to=TensorProto.FLOAT)
        wide = self._add("Unsqueeze", mask, self._whole("last", -1))
        real = self._add("Mul", value, wide)
        # The mean and the sum point the same way, so normalising the sum is enough.
        total = self._add("ReduceSum", real, self._whole("tokens", 1), keepdims=0)
        length = self._add("ReduceL2", total, self._whole("last", -1), keepdims=1)
        safe = self._add("Max", length, self._number("tiny", 1e-9))
        self.nodes.append(helper.make_node("Div", [total, safe], ["embedding"], name="embedding"))

    def _embedded(self) -> str:
        table = self._weights["embeddings.word_embeddings.weight"]
        if self._is_int8:
            whole, scale = _whole_rows(table)
            looked_up = self._add("Gather", self._constant("words", whole), "input_ids")
            words = self._add(
                "Mul",
                self._add("Cast", looked_up, to=TensorProto.FLOAT),
                self._add("Gather", self._constant("words.scale", scale), "input_ids"),
            )
        else:
            words = self._add("Gather", self._constant("words", table), "input_ids")
        # Token type 0 everywhere, so its vector is part of each position's.
        places = self._weights["embeddings.position_embeddings.weight"]
        places = places + self._weights["embeddings.token_type_embeddings.weight"][0]
        count = self._add("Shape", "input_ids", start=1, end=2)
        here = self._add("Slice", self._constant("places", places), self._whole("zero", 0), count)
        return self._norm(self._add("Add", words, here), "embeddings.LayerNorm")

    def _layer(self, value: str, mask: str, name: str) -> str:
        mixed = self._attention(value, mask, f"{name}.attention.self")
        attended = self._linear(mixed, [f"{name}.attention.output.dense"])
        value = self._norm(self._add("Add", attended, value), f"{name}.attention.output.LayerNorm")
        inner = self._add("Gelu", self._linear(value, [f"{name}.intermediate.dense"]))
        outer = self._linear(inner, [f"{name}.output.dense"])
        return self._norm(self._add("Add", outer, value), f"{name}.output.LayerNorm")

    def _attention(self, value: str, mask: str, name: str) -> str:
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        joined = self._linear(value, parts)
        self.nodes.append(
            helper.make_node("Split", [joined], parts, name=name, axis=-1, num_outputs=len(parts))
        )
        query, key, content = map(self._heads, parts)
        turned = self._add("Transpose", key, perm=[0, 1, 3, 2])
        scale = self._number("scale", (self._shape.width / self._shape.heads) ** -0.5)
        scores = self._add("Mul", self._add("MatMul", query, turned), scale)
        shares = self._add("Softmax", self._add("Add", scores, mask), axis=-1)
        mixed = self._add("Transpose", self._add("MatMul", shares, content), perm=[0, 2, 1, 3])
        return self._add("Reshape", mixed, self._whole("from_heads", 0, 0, self._shape.width))

    def _heads(self, value: str) -> str:
        heads, width = self._shape.heads, self._shape.width
        split = self._add("Reshape", value, self._whole("to_heads", 0, 0, heads, width // heads))
        return self._add("Transpose", split, perm=[0, 2, 1, 3])

    def _linear(self, value: str, names: Sequence[str]) -> str:
        """The product with one or several layers, side by side."""
        kernel = np.concatenate([self._weights[f"{name}.weight"] for name in names])
        bias = np.concatenate([self._weights[f"{name}.bias"] for name in names])
        if self._is_int8:
            product = self._int8_product(value, names[0], kernel)
        else:
            product = self._add("MatMul", value, self._constant(f"{names[0]}.kernel", kernel.T))
        return self._add("Add", product, self._constant(f"{names[0]}.bias", bias))

    def _int8_product(self, value: str, name: str, kernel: Array) -> str:
        whole, scale = _whole_rows(kernel)
        step = self._number("step", 1 / LARGEST)
        middle = self._constant("middle", np.array(LARGEST + 1, np.uint8))
        largest = self._add("Abs", value)
        # No row is all zero, padding included: what comes before adds a bias.
        largest = self._add("ReduceMax", largest, self._whole("last", -1), keepdims=1)
        rows = self._add("QuantizeLinear", self._add("Div", value, largest), step, middle)
        numbers = self._constant(f"{name}.kernel", whole.T)
        product = self._add("MatMulInteger", rows, numbers, middle)
        floats = self._add("Cast", product, to=TensorProto.FLOAT)
        columns = self._constant(f"{name}.scale", (scale[:, 0] / LARGEST).astype(np.float32))
        return self._add("Mul", self._add("Mul", floats, columns), largest)

    def _norm(self, value: str, name: str) -> str:
        return self._add(
            "LayerNormalization",
            value,
            *(
                self._constant(f"{name}.{p}", self._weights[f"{name}.{p}"])
                for p in ("weight", "bias")
            ),
            axis=-1,
            epsilon=self._shape.epsilon,
        )

    def _add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operator.lower()}_{len(self.nodes)}"
        node = helper.make_node(operator, list(inputs), [output], name=output, **attributes)
        self.nodes.append(node)
        return output

    def _constant(self, name: str, value: np.ndarray[Any, Any]) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def _number(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value, np.float32))

    def _whole(self, name: str, *values: int) -> str:
        return self._constant(name, np.array(values, np.int64))


def _whole_rows(table: Array) -> tuple[np.ndarray[Any, np.dtype[np.int8]], Array]:
    """Each row in whole numbers up to 127, and what one of them is worth in it."""
    largest = np.abs(table).max(axis=1, keepdims=True)
    scale = (np.where(largest > 0, largest, 1) / LARGEST).astype(np.float32)
    return np.rint(table / scale).astype(np.int8), scale
