"""What becomes of each piece of JSON Schema on its way to Gemini."""

from __future__ import annotations

import pytest

from toolcrib_client.gemini_schema import gemini_schema


def told(node: object) -> object:
    """What becomes of one property."""
    return gemini_schema({"type": "object", "properties": {"p": node}})["properties"]["p"]  # type: ignore[index,call-overload,dict-item]


@pytest.mark.promise("client-tool-formats")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "string", "minLength": 1, "title": "T"}, {"type": "STRING", "minLength": 1}),
        ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
        ({"type": "string", "format": "uri"}, {"type": "STRING"}),
        ({"type": "integer", "minimum": 1, "default": 2}, {"type": "INTEGER", "minimum": 1}),
        ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        (
            {"type": ["string", "integer"], "description": "d"},
            {
                "description": "d",
                "anyOf": [
                    {"type": "STRING", "description": "d"},
                    {"type": "INTEGER", "description": "d"},
                ],
            },
        ),
        ({"enum": ["a", "b"]}, {"type": "STRING", "enum": ["a", "b"]}),
        ({"enum": ["a", None]}, {"type": "STRING", "nullable": True, "enum": ["a"]}),
        ({"enum": [1, 2]}, {"type": "INTEGER", "description": "one of 1, 2"}),
        (
            {"enum": [1.5, True], "description": "d"},
            {"type": "NUMBER", "description": "d (one of 1.5, true)"},
        ),
        ({"enum": [True]}, {"type": "BOOLEAN", "description": "one of true"}),
        ({"const": "a"}, {"type": "STRING", "enum": ["a"]}),
        ({"const": ""}, {"type": "STRING", "description": 'one of ""'}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "STRING", "nullable": True}),
        (
            {"oneOf": [{"type": "string"}, {"type": "boolean"}, {"const": None}]},
            {"anyOf": [{"type": "STRING"}, {"type": "BOOLEAN"}], "nullable": True},
        ),
        (
            {"allOf": [{"properties": {"a": True}, "required": ["a"]}, {"required": ["b"]}, False]},
            {
                "type": "OBJECT",
                "properties": {"a": {"type": "STRING", "description": "any JSON value"}},
                "required": ["a"],
            },
        ),
        (
            {"description": "mine", "allOf": [{"description": "other", "type": "string"}]},
            {"type": "STRING", "description": "mine"},
        ),
        (
            {"properties": {"a": {"type": "string"}}, "allOf": [{"properties": {"b": {}}}]},
            {"type": "OBJECT", "properties": {"b": {"type": "STRING"}, "a": {"type": "STRING"}}},
        ),
        (
            {"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
        ),
        ({"type": "array"}, {"type": "ARRAY", "items": {"type": "STRING"}}),
        (
            {"items": {"type": "number"}, "maxItems": 3},
            {"type": "ARRAY", "maxItems": 3, "items": {"type": "NUMBER"}},
        ),
        (
            {"prefixItems": [{"type": "number"}]},
            {"type": "ARRAY", "items": {"type": "NUMBER"}},
        ),
        (
            {"prefixItems": [{"type": "number"}, {"type": "string"}]},
            {"type": "ARRAY", "items": {"anyOf": [{"type": "NUMBER"}, {"type": "STRING"}]}},
        ),
        ({"additionalProperties": {"type": "string"}}, {"type": "OBJECT"}),
        ({"type": "null"}, {"type": "STRING"}),
        ({}, {"type": "STRING"}),
    ],
)
def test_each_piece_is_told_in_the_subset(given: object, expected: object) -> None:
    assert told(given) == expected


def test_references_are_written_out_until_they_come_round() -> None:
    node = {
        "type": "object",
        "description": "A node",
        "properties": {"next": {"$ref": "#/$defs/Node", "description": "The next one"}},
    }
    schema = {
        "type": "object",
        "properties": {"first": {"$ref": "#/$defs/Node"}, "lost": {"$ref": "#/$defs/Gone"}},
        "$defs": {"Node": node},
    }
    assert gemini_schema(schema) == {  # type: ignore[arg-type]
        "type": "OBJECT",
        "properties": {
            "first": {
                "type": "OBJECT",
                "description": "A node",
                "properties": {"next": {"type": "OBJECT", "description": "another Node"}},
            },
            "lost": {"type": "OBJECT", "description": "another Gone"},
        },
    }


def test_definitions_that_multiply_are_cut_short() -> None:
    # Each level names the next one twice: 2^20 nodes if all were written out.
    levels = {
        f"L{level}": {
            "properties": {side: {"$ref": f"#/$defs/L{level + 1}"} for side in ("left", "right")}
        }
        for level in range(20)
    }
    text = str(gemini_schema({"$ref": "#/$defs/L0", "$defs": levels}))  # type: ignore[dict-item]
    assert len(text) < 200_000
