"""The output schema of a tool whose results are wrapped for older clients.

Revisions before 2026-07-28 know structured results that are objects only, so a list or a number
travels as `{"result": ...}`; what is published has to say the same. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

WRAPPED: Final = "result"
"""The name under which a result travels that is no object."""
_INSIDE: Final = f"#/properties/{WRAPPED}"
_DATA: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords that hold values, not schemas."""


def is_never_object(schema: JsonObject) -> bool:
    """Whether no object fits the schema, so that every result is wrapped."""
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else kind
    return isinstance(kinds, list) and bool(kinds) and "object" not in kinds


def wrapped_schema(schema: JsonObject) -> JsonObject:
    """The schema of `{"result": ...}` for results that fit `schema`."""
    # A schema with an address of its own stays the root of what it refers to.
    inner = schema if "$id" in schema else _moved(schema)
    outer: JsonObject = {
        "type": "object",
        "properties": {WRAPPED: inner},
        "required": [WRAPPED],
    }
    dialect = schema.get("$schema")
    return outer if dialect is None else {"$schema": dialect, **outer}


def _moved(value: Json) -> Json:
    """`value` with its references to the root leading to where the root is now."""
    if isinstance(value, list):
        return [_moved(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {key: _moved_keyword(key, part) for key, part in value.items()}


def _moved_keyword(key: str, part: Json) -> Json:
    if key == "$ref" and isinstance(part, str) and (part == "#" or part.startswith("#/")):
        return _INSIDE + part[1:]
    return part if key in _DATA else _moved(part)
