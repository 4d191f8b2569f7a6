"""A signature tells a tool's parameters in few words."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib_protocol.schema import signature


def of(**properties: Any) -> str:
    return signature("t", {"type": "object", "properties": properties})


@pytest.mark.promise("schema-signature")
def test_a_signature_reads_like_a_function() -> None:
    inputs: Any = {
        "type": "object",
        "properties": {
            "subject": {"type": "string"},
            "to": {"type": "string"},
            "cc": {"type": "array", "items": {"type": "string"}},
            "priority": {"enum": ["low", "high"]},
        },
        "required": ["to"],
    }
    outputs: Any = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    assert signature("mail__send", inputs, outputs) == (
        'mail__send(to: string, subject?: string, cc?: string[], priority?: "low"|"high") '
        "-> {id: string}"
    )


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({}, "any"),
        (True, "any"),
        ({"const": 3}, "3"),
        ({"type": ["number", "null"]}, "number|null"),
        ({"enum": list(range(9))}, "0|1|2|3|4|5|…"),
        ({"enum": ["x" * 70], "type": "string"}, "string"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}, "string|null"),
        ({"oneOf": [{"type": "integer"}, {"const": "auto"}]}, 'integer|"auto"'),
        ({"type": "array"}, "any[]"),
        ({"type": "array", "items": {"enum": [1, 2]}}, "(1|2)[]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "array"}}}, "array[][]"),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {"x": {"type": "integer"}}}, "{x?: integer}"),
        ({"type": "object", "properties": {f"name_{i}": {} for i in range(9)}}, "object"),
        ({"$ref": "#/nowhere"}, "any"),
    ],
)
def test_each_type_has_a_short_form(part: Any, told: Any) -> None:
    assert of(a=part) == f"t(a?: {told})"


def test_names_that_could_be_misread_are_quoted() -> None:
    assert of(**{"a b": {}, "x-y": {}, "Created<": {}, "new\nline": {}, "": {}}) == (
        't("a b"?: any, x-y?: any, Created<?: any, "new\\nline"?: any, ""?: any)'
    )


@pytest.mark.promise("schema-signature")
def test_what_does_not_fit_is_counted() -> None:
    told = of(**{f"parameter_{i}": {"type": "string"} for i in range(100)})
    assert told.endswith(", … 83 more)")
    assert len(told) < 430


def test_recursive_schemas_end() -> None:
    link: Any = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    assert signature("t", link) == "t(a?: {a?: any})"
    choice: dict[str, Any] = {"type": "string"}
    for _ in range(50):
        choice = {"anyOf": [choice, choice]}
    assert of(a=choice) == "t(a?: any)"


def test_no_parameters_and_no_result_are_told_as_such() -> None:
    assert signature("t", {}) == "t()"
    assert signature("t", {}, {"type": "array", "items": {"type": "integer"}}) == "t() -> integer[]"
