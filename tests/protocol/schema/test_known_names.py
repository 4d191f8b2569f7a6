"""Misspelt arguments are reported where the schema does not open itself."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib_protocol.schema import Checker

TEXT = {"type": "string"}


def told(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    return [
        str(fault)
        for fault in Checker.compile({"type": "object"} | schema).unknown_arguments(arguments)
    ]


def pointers(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    checker = Checker.compile({"type": "object"} | schema)
    return [fault.pointer for fault in checker.unknown_arguments(arguments)]


@pytest.mark.promise("field-o12-unknown-names")
def test_a_misspelt_name_is_reported_with_the_nearest_known_one() -> None:
    schema = {
        "properties": {"path": TEXT, "recursive": {"type": "boolean", "default": False}},
        "required": ["path"],
    }
    assert told(schema, {"path": "/a", "recurve": True, "recursive": True}) == [
        "unknown argument 'recurve' at /recurve; did you mean 'recursive'?"
    ]
    assert told(schema, {"zz": 1}) == [
        "unknown argument 'zz' at /zz; known are path, recursive",
    ]
    assert told({"additionalProperties": False}, {"zz": 1}) == [
        "unknown argument 'zz' at /zz; none is known there",
    ]


@pytest.mark.promise("field-o12-unknown-names")
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": {"a": TEXT}, "additionalProperties": True},
        {"properties": {"a": TEXT}, "additionalProperties": TEXT},
        {"properties": {"a": TEXT}, "unevaluatedProperties": {}},
        {"properties": {"a": TEXT}, "patternProperties": {"^x": {}}},
        {"properties": {"a": TEXT}, "anyOf": [True, {"properties": {"b": TEXT}}]},
        {"properties": {"a": TEXT}, "allOf": [{"additionalProperties": TEXT}]},
        {"properties": {"a": TEXT}, "$ref": "#/$defs/Open", "$defs": {"Open": True}},
        {
            "properties": {"a": TEXT},
            "allOf": [{"$ref": "#/$defs/D"}],
            "$defs": {"D": {"$ref": "#/$defs/E"}, "E": {}},
        },
    ],
)
def test_a_schema_that_opens_itself_knows_no_unknown_name(schema: Any) -> None:
    assert pointers(schema, {"zz": 1}) == []


@pytest.mark.promise("field-o12-unknown-names")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": TEXT}, "additionalProperties": False},
        {"anyOf": [{"properties": {"a": TEXT}}, {"required": ["a"]}]},
        {"allOf": [{"$ref": "#/$defs/D"}], "$defs": {"D": {"properties": {"a": TEXT}}}},
        {"if": {"properties": {"a": {"const": "x"}}}, "then": {"properties": {"a": TEXT}}},
        {"dependentSchemas": {"a": {"properties": {"a": TEXT}}}},
        {
            "dependencies": {"a": {"properties": {"a": TEXT}}, "b": ["a"]},
            "$schema": "http://json-schema.org/draft-07/schema#",
        },
    ],
)
def test_names_of_all_branches_are_known_and_others_are_not(schema: Any) -> None:
    assert pointers(schema, {"a": "x", "zz": 1}) == ["/zz"]


def test_plain_objects_inside_are_judged_too() -> None:
    schema = {
        "properties": {
            "to": {"type": "object", "properties": {"name": TEXT}},
            "items": {"type": "array", "items": {"type": "object", "properties": {"id": TEXT}}},
            "rows": {"type": "array", "items": {"type": "array", "items": TEXT}},
            "free": {"type": "object"},
            "either": {"anyOf": [{"type": "object", "properties": {"x": TEXT}}, TEXT]},
        }
    }
    arguments = {
        "to": {"name": "a", "nmae": "b"},
        "items": [{"id": "1"}, {"idd": "2"}],
        "rows": [["x"]],
        "free": {"z": 1},
        "either": {"z": 1},
    }
    assert pointers(schema, arguments) == ["/to/nmae", "/items/1/idd"]
    assert pointers(schema, {"to": ["x"], "items": "text"}) == []


def test_a_name_that_two_branches_describe_differently_is_not_judged_inside() -> None:
    part = {"type": "object", "properties": {"x": TEXT}}
    schema = {
        "anyOf": [
            {"properties": {"a": part}},
            {"properties": {"a": {"type": "object", "properties": {"y": TEXT}}}},
        ]
    }
    assert pointers(schema, {"a": {"z": 1}}) == []


def test_a_schema_that_fans_out_is_left_open() -> None:
    wide = {f"D{i}": {"allOf": [{"$ref": f"#/$defs/D{i + 1}"}] * 8} for i in range(4)}
    schema = {"$ref": "#/$defs/D0", "$defs": {**wide, "D4": {"properties": {"a": TEXT}}}}
    assert pointers(schema, {"zz": 1}) == []


def test_a_schema_nested_deeply_is_judged_to_a_depth() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": TEXT}}
    arguments: dict[str, Any] = {"zz": 1}
    for _ in range(20):
        schema = {"type": "object", "properties": {"in": schema}}
        arguments = {"in": arguments}
    assert pointers(schema, arguments) == []


def test_many_unknown_names_are_reported_in_part() -> None:
    assert len(pointers({"properties": {"a": TEXT}}, {f"z{i}": 1 for i in range(100)})) == 20
