"""Repairs of input schemas from elsewhere, made only where the meaning is certain.

Arguments of a tool are always an object: so a root without a type, or with a list of types, can
only mean one. And `required: true` inside a property is draft-03 for naming the property among the
required ones. Used by `foreign_tool.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_NOT_OF_OBJECTS: Final = frozenset(
    {
        "contains", "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems",
        "maxLength", "maximum", "minItems", "minLength", "minimum", "multipleOf", "pattern",
        "prefixItems", "uniqueItems",
    }
)  # fmt: skip
"""Keywords that say nothing about objects: a schema with one of them meant something else."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What was mended, and where (JSON Pointer into the entry)."""

    pointer: str
    what: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.what}"


def object_root(schema: JsonObject) -> JsonObject | None:
    """`schema` with type 'object' at its root; None if it may have meant something else."""
    kind = schema.get("type")
    if kind == "object":
        return schema
    if isinstance(kind, list):
        return {**schema, "type": "object"} if "object" in kind else None
    if kind is not None or not schema or _NOT_OF_OBJECTS & set(schema) or _lists_others(schema):
        return None
    return {**schema, "type": "object"}


def _lists_others(schema: JsonObject) -> bool:
    listed = schema.get("enum")
    values = [*(listed if isinstance(listed, list) else []), schema.get("const", {})]
    return not all(isinstance(value, dict) for value in values)


def lifted_required(schema: Json) -> Json:
    """`schema` with each property's `required: true` moved to the list of the object that has it.

    The depth of the schema is bounded (`schema/bounds.py`).
    """
    if not isinstance(schema, dict):
        return schema
    lifted = {**schema}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        needed = [
            n for n, p in properties.items() if isinstance(p, dict) and p.get("required") is True
        ]
        listed = schema.get("required")
        names = [*(listed if isinstance(listed, list) else []), *needed]
        if names:
            lifted["required"] = list(dict.fromkeys(map(str, names)))
        lifted["properties"] = {name: _unmarked(part) for name, part in properties.items()}
    if "items" in schema:
        lifted["items"] = _unmarked(schema["items"])
    return lifted


def _unmarked(part: Json) -> Json:
    lifted = lifted_required(part)
    if isinstance(lifted, dict) and isinstance(lifted.get("required"), bool):
        del lifted["required"]
    return lifted
