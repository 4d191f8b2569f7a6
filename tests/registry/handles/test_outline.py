from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.registry.handles.desk import structured
from toolcrib_protocol.content import text_block
from toolcrib_protocol.result import Result
from toolcrib_registry.handles.contents import contents_of
from toolcrib_registry.handles.outline import cut_to_bytes, excerpt_of, shape_of
from toolcrib_registry.handles.references import HandleReference, replaced
from toolcrib_registry.handles.sizes import BINARY_BYTES, block_size, is_larger, is_value_larger

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

SHAPES: list[tuple[Json, str]] = [
    ("abc", "text(3)"),
    (True, "boolean"),
    (1.5, "number"),
    (None, "null"),
    ([], "[]"),
    ([[[[[[1]]]]]], "[1 x [1 x [1 x [1 x [1 x ...]]]]]"),
    ({"a": {"b": {"c": {"d": {"e": 1}}}}}, "{a: {b: {c: {d: {1 keys}}}}}"),
    ({str(n): n for n in range(22)}, "20 keys"),
]


@pytest.mark.parametrize(("value", "shape"), SHAPES)
def test_a_shape_tells_types_keys_and_lengths(value: Json, shape: str) -> None:
    if shape == "20 keys":
        assert shape_of(value).endswith("19: number, ... 22 keys}")
    else:
        assert shape_of(value) == shape


def test_a_long_shape_is_cut() -> None:
    shape = shape_of({f"{'k' * 80}{n}": n for n in range(20)})
    assert len(shape) == 600
    assert shape.endswith("...")


def test_an_excerpt_has_the_form_of_the_whole_or_there_is_none() -> None:
    assert excerpt_of({"a": "x" * 9_000}, 300) == {"a": f"{'x' * 160}..."}
    deep: Json = {"a": [[[["x"]]]], "b": {"c": {}}}
    assert excerpt_of(deep, 3_000) == deep
    wide: Json = {"k" * 5_000: 1}
    assert excerpt_of(wide, 300) is None
    nested: Json = {"a": {"b": [{"c": ["x" * 200] * 9}] * 9}}
    assert excerpt_of(nested, 120) == {"a": {"b": [{"c": []}, {"c": []}]}}
    assert excerpt_of([[[["x" * 99] * 9] * 9] * 9] * 9, 100) == [[[[]]]]


def test_a_text_is_cut_between_characters() -> None:
    assert cut_to_bytes("aäö", 4) == "aä"
    assert cut_to_bytes("abc", 3) == "abc"


SIZES: list[tuple[JsonObject, int]] = [
    (text_block("abc"), 3),
    (text_block("äö"), 4),
    ({"type": "text", "text": 3}, 100),
    ({"type": "text"}, 0),
    ({"type": "image", "data": "x" * 90_000}, BINARY_BYTES),
    ({"type": "audio", "data": "x" * 9_000_000}, 9_000_000),
    ({"type": "image"}, 0),
    ({"type": "resource", "resource": {"text": "abc", "blob": "x"}}, 3 + BINARY_BYTES),
    ({"type": "resource", "resource": 3}, 0),
    ({"type": "resource_link", "uri": "u"}, 100),
]


@pytest.mark.parametrize(("block", "size"), SIZES)
def test_blocks_count_what_they_cost_a_model(block: JsonObject, size: int) -> None:
    assert block_size(block) == size


def test_sizes_of_values_follow_their_json() -> None:
    values: list[Json] = [["abc"] * 100, {"k": ["x", 1, None]}, {f"k{n}": n for n in range(99)}]
    for value in values:
        size = len(json.dumps(value))
        assert is_value_larger(value, size // 2)
        assert not is_value_larger(value, size * 2)
    assert is_value_larger([1] * 100, 10)
    assert is_larger(Result(content=(text_block("x" * 11),)), 10)


REPEATS: list[tuple[Json, str, bool]] = [
    ({"a": 1}, '{"a": 1}', True),
    ({"result": "words"}, "words", True),
    ({"result": [1, 2]}, "[1, 2]", True),
    ({"result": 3}, "four", False),
    ("words", "words", True),
    ({"a": 1}, "one", False),
    ({"a": 1}, "{a: 1}", False),
    ({"a": None}, "null", False),
    ([1], "[2]", False),
]


@pytest.mark.parametrize(("data", "text", "repeats"), REPEATS)
def test_a_text_block_that_says_the_same_is_not_kept_again(
    data: Json, text: str, *, repeats: bool
) -> None:
    contents = contents_of(structured(data, text_block(text)), 100)
    assert bool("".join(contents.blocks)) is not repeats
    odd: JsonObject = {"type": "text"}
    assert "".join(contents_of(structured(data, odd), 100).blocks) == '[{"type":"text"}]'


def test_an_outline_of_blocks_names_the_first_twenty() -> None:
    link: JsonObject = {"type": "resource_link", "uri": "file:///a"}
    odd: JsonObject = {"type": "odd"}
    contents = contents_of(Result(content=(link, odd) * 11), 100)
    assert contents.shape.startswith("content[0]: resource_link file:///a, content[1]: odd, ")
    assert contents.shape.endswith("content[19]: odd, ...")


def test_what_is_nested_beyond_any_use_is_left_alone() -> None:
    deep: Json = {"$handle": "h_x"}
    for _ in range(80):
        deep = [deep]
    assert replaced(deep, lambda reference: reference.handle) == deep
    assert replaced([deep[0]], lambda _: 1, 49) == [deep[0]]  # type: ignore[index]
    assert replaced({"$handle": "h_x"}, lambda found: found == HandleReference("h_x")) is True
