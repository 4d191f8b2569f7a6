"""JSON text becomes values exactly, or is refused in a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.protocol.json_strategies import json_values
from toolcrib_protocol.errors import INVALID_JSON, ToolError
from toolcrib_protocol.json_value import dump_json, parse_json


@pytest.mark.promise("field-o10-digits")
def test_integers_pass_both_ways_digit_for_digit() -> None:
    text = '{"id":9007199254740993,"neg":-9223372036854775808,"big":' + "7" * 4_000 + ',"f":1.0}'
    value: Any = parse_json(text)
    assert value["id"] == 9007199254740993
    assert isinstance(value["f"], float)
    assert dump_json(value) == text


@pytest.mark.promise("field-o10-digits")
def test_an_integer_of_too_many_digits_is_refused_cleanly() -> None:
    with pytest.raises(ToolError, match="number that cannot be read") as refusal:
        parse_json('{"id":' + "9" * 4_301 + "}")
    assert refusal.value.code == INVALID_JSON


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a" 1}', "line 1, column 6"),
        ("", "line 1, column 1"),
        ("[1,\n 2 3]", "line 2, column 4"),
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("1e999", "too large for a floating-point number"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b'{"a":"\xff"}', "not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: Any, says: Any) -> None:
    with pytest.raises(ToolError, match=says) as refusal:
        parse_json(text)
    assert refusal.value.code == INVALID_JSON


def test_text_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(ToolError, match="11 bytes is over the limit of 10"):
        parse_json('"123456789"', most_bytes=10)


def test_bytes_and_text_read_alike() -> None:
    assert parse_json('{"a": "ü"}'.encode()) == parse_json('{"a": "ü"}') == {"a": "ü"}


def test_json_is_written_compactly_or_for_people() -> None:
    assert dump_json({"a": ["ü", 1]}) == '{"a":["ü",1]}'
    assert dump_json({"a": 1}, indent=2) == '{\n  "a": 1\n}'


def test_half_an_emoji_stays_escaped() -> None:
    assert dump_json(["\ud83d", "ü"]) == '["\\ud83d","\\u00fc"]'
    dump_json(["\ud83d"]).encode()


@pytest.mark.parametrize("value", [float("nan"), [object()], pytest.param(10**5000, id="digits")])
def test_what_cannot_be_written_is_refused_cleanly(value: Any) -> None:
    with pytest.raises(ToolError, match="cannot be written as JSON") as refusal:
        dump_json(value)
    assert refusal.value.code == INVALID_JSON


@given(json_values)
def test_what_was_written_is_read_back_the_same(value: Any) -> None:
    assert parse_json(dump_json(value)) == value
