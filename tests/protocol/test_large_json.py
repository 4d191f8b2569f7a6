from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.json_strategies import json_values
from toolcrib_protocol import large_json
from toolcrib_protocol.errors import INVALID_JSON, ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_protocol.large_json import json_pieces, parse_large_json, regrouped

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json


@settings(max_examples=150, deadline=None)
@given(value=json_values)
def test_the_pieces_are_the_text_of_the_whole(value: Json) -> None:
    assert "".join(json_pieces(value)) == dump_json(value)


@settings(max_examples=150, deadline=None)
@given(value=json_values, indent=st.sampled_from([None, 1]))
def test_a_large_text_is_read_as_a_small_one(value: Json, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    padded = f"{' ' * large_json.LARGE}\n{text} "
    assert parse_large_json(padded) == parse_json(text)


FAULTY = ["[1,", "[1 2]", '{"a" 1}', '{"a":1,}', "{1:2}", '{"a":1 "b":2}', "[1] x", "[NaN]",
          "[" * 9_000, "", "tru", "[" + "9" * 5_000 + "]"]  # fmt: skip


@pytest.mark.parametrize("text", FAULTY)
def test_a_faulty_large_text_is_refused_as_a_small_one_is(text: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_large_json(f"{' ' * large_json.LARGE}{text}")
    assert refused.value.code == INVALID_JSON


def test_long_containers_inside_others_are_taken_apart_too() -> None:
    long: Json = [*range(300)]
    keyed: Json = {f"k{n}": n for n in range(300)}
    for value in ([long, 1, keyed], {"a": long, "b": 1, "c": keyed}, keyed, [long] * 250):
        assert "".join(json_pieces(value)) == dump_json(value)
    deep: Json = [[[[long]]]]
    assert "".join(json_pieces(deep)) == dump_json(deep)


def test_many_items_come_through_in_pieces_of_bounded_size() -> None:
    value: Json = {"rows": [{"id": n, "text": "é" * 20} for n in range(30_000)], "n": [], "o": {}}
    pieces = list(json_pieces(value))
    assert max(map(len, pieces)) < 100_000
    assert list(json_pieces("x" * 70_000)) == [f'"{"x" * 70_000}"']
    assert parse_large_json("".join(pieces)) == value
    assert parse_large_json('{"a":[1]}') == {"a": [1]}


@settings(max_examples=100, deadline=None)
@given(pieces=st.lists(st.text(max_size=7), max_size=9), length=st.integers(1, 5))
def test_regrouped_pieces_have_one_length(pieces: list[str], length: int) -> None:
    groups = list(regrouped(pieces, length))
    assert "".join(groups) == "".join(pieces)
    assert all(len(group) == length for group in groups[:-1])
    assert all(0 < len(group) <= length for group in groups)
