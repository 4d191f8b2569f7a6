"""An example teaches only if it is valid."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib_protocol.schema import Checker, sample


@pytest.mark.promise("schema-valid-example")
@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"type": "string", "examples": ["ana"], "default": "bo"}, "ana"),
        ({"type": "string", "default": "bo"}, "bo"),
        ({"enum": ["low", "high"]}, "low"),
        ({"const": 7}, 7),
        ({"type": "string", "format": "date"}, "2026-01-31"),
        ({"type": "string", "format": "email"}, "ana@example.com"),
        ({"type": "string", "minLength": 6}, "textxx"),
        ({"type": "string", "maxLength": 2}, "te"),
        ({"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}, "ABC-1"),
        ({"type": "string", "pattern": "^[A-Z]{3}$", "minLength": 3}, "ABC"),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "exclusiveMaximum": 0}, -1),
        ({"type": "integer", "multipleOf": 4}, 4),
        ({"type": "number"}, 1),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 1),
        ({"type": ["null"]}, None),
        ({"type": "array"}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "array", "prefixItems": [{"const": "x"}], "minItems": 2}, ["x", "text"]),
        (
            {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"]},
            {"b": True},
        ),
        ({"properties": {"b": {}}}, {}),
        ({"$ref": "#/$defs/T"}, "t"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 1),
        (
            {"allOf": [{"properties": {"b": {"const": 1}}, "required": ["b"]}], "type": "object"},
            {"b": 1},
        ),
        (True, "text"),
        ({"required": ["b"], "type": "object"}, {"b": "text"}),
    ],
)
def test_a_value_follows_what_the_schema_names(part: Any, value: Any) -> None:
    schema: Any = {
        "type": "object",
        "properties": {"a": part},
        "required": ["a"],
        "$defs": {"T": {"const": "t"}},
    }
    assert sample(schema) == {"a": value}


def test_a_bound_of_draft_4_is_honoured() -> None:
    part: Any = {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    assert sample({"type": "object", "properties": {"a": part}, "required": ["a"]}) == {"a": 1}


def test_a_tuple_of_draft_7_is_honoured() -> None:
    part: Any = {"type": "array", "items": [{"const": 1}, {"const": 2}], "minItems": 2}
    assert sample({"type": "object", "properties": {"a": part}, "required": ["a"]}) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ({"anyOf": [{"required": ["url"]}, {"required": ["text"]}]}, {"url": "text"}),
        ({"oneOf": [{"required": ["url"]}, {"required": ["text"]}]}, {"url": "text"}),
        ({"if": {}, "then": {"required": ["url"]}}, {"url": "text"}),
        ({"if": False, "else": {"required": ["url"]}}, {"url": "text"}),
        ({"properties": {"q": {"type": "string"}}, "minProperties": 1}, {"q": "text"}),
        ({}, {}),
        ({"examples": [{"q": 1}]}, {"q": 1}),
    ],
)
def test_rules_at_the_root_are_tried_one_after_the_other(rule: Any, value: Any) -> None:
    assert sample({"type": "object", **rule}) == value


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "not": {}},
        {"type": "object", "properties": {"a": {"pattern": "^zq{7}$"}}, "required": ["a"]},
        {"type": "object", "properties": {f"p{i}": {} for i in range(30)}, "minProperties": 20},
        {"type": "object", "$ref": "#"},
    ],
)
def test_there_is_no_example_rather_than_a_wrong_one(schema: Any) -> None:
    assert sample(schema) is None


def test_a_schema_that_asks_for_endless_values_takes_bounded_effort() -> None:
    names = [f"p{i}" for i in range(30)]
    schema: Any = {
        "type": "object",
        "properties": {n: {"$ref": "#"} for n in names},
        "required": names,
    }
    Checker.compile(schema)
    assert sample(schema) is None
