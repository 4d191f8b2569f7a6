"""Hypothesis strategies: any JSON value, and values that look like JSON Schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_names = st.sampled_from(["a", "b", "name", "items", "$ref", "type", "x/y", "~", ""]) | st.text(
    max_size=4
)
_plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**53, max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
json_values = st.recursive(
    _plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=12,
)
_types = st.sampled_from(["object", "string", "integer", "number", "array", "boolean", "null"])
_references = st.sampled_from(
    [
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/definitions/a",
        "#/properties/a",
        "#q",
        "http://127.0.0.1:9/x",
    ]
)
_required = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True)


def _some(keywords: dict[str, st.SearchStrategy[object]]) -> st.SearchStrategy[dict[str, Any]]:
    """A few of the keywords: schemas with all of them are slow to make and all alike."""
    pairs = [st.tuples(st.just(name), values) for name, values in keywords.items()]
    return st.lists(st.one_of(pairs), max_size=4).map(dict)


def _schema(inner: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, Any]]:
    listed = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    return _some(
        {
            "type": _types | st.lists(_types, min_size=1, max_size=2, unique=True),
            "properties": named,
            "required": _required,
            "items": inner | listed,
            "prefixItems": listed,
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.just("^a"), inner, max_size=1),
            "anyOf": listed,
            "oneOf": listed,
            "allOf": listed,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "dependencies": st.dictionaries(st.just("a"), inner | _required, max_size=1),
            "$defs": named,
            "definitions": named,
            "$ref": _references,
            "$dynamicRef": _references,
            "$anchor": st.just("q"),
            "enum": st.lists(_plain, min_size=1, max_size=3),
            "const": _plain,
            "default": _plain,
            "minimum": st.integers(-3, 3),
            "exclusiveMinimum": st.booleans() | st.integers(-3, 3),
            "multipleOf": st.integers(1, 3),
            "minLength": st.integers(0, 9),
            "pattern": st.sampled_from(["^a+$", "^[0-9]+$", "("]),
            "format": st.sampled_from(["date", "email", "odd"]),
            "$schema": st.sampled_from(
                [
                    "http://json-schema.org/draft-04/schema#",
                    "http://json-schema.org/draft-07/schema#",
                    "https://json-schema.org/draft/2020-12/schema",
                ]
            ),
        },
    )


schema_like: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.just({}), _schema, max_leaves=6
)
"""Anything from sound to odd; the root may be a boolean."""
object_schemas = _schema(schema_like).map(lambda schema: {**schema, "type": "object"})
"""The same with an object at the root."""
