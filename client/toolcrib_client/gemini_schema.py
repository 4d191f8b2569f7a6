"""JSON Schema in the words that Gemini's function declarations understand.

Gemini takes a subset of OpenAPI 3.0: upper-case types, `nullable`, `anyOf`; no references, no
`const`, no `additionalProperties`, enumerations of strings only. What the subset cannot say is said
in the description or left out: the crib checks arguments against the exact schema anyway. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_KEPT: Final = {
    "STRING": ("minLength", "maxLength", "pattern"),
    "NUMBER": ("minimum", "maximum"),
    "INTEGER": ("minimum", "maximum"),
    "ARRAY": ("minItems", "maxItems"),
    "OBJECT": ("minProperties", "maxProperties"),
}
_FORMATS: Final = {
    "STRING": frozenset({"date-time"}),
    "NUMBER": frozenset({"float", "double"}),
    "INTEGER": frozenset({"int32", "int64"}),
}
_TYPE_OF: Final[dict[type, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_MOST_REFERENCES: Final = 500
"""How many references are written out; a definition that uses itself many times over grows without
end."""


def gemini_schema(schema: JsonObject) -> JsonObject:
    """`schema` in Gemini's subset."""
    definitions = schema.get("$defs")
    return _Retelling(definitions if isinstance(definitions, dict) else {}).node(schema)


class _Retelling:
    """One pass over a schema."""

    def __init__(self, definitions: JsonObject) -> None:
        self._definitions = definitions
        self._open: list[str] = []
        self._written_out = 0

    def node(self, given: Json) -> JsonObject:
        if not isinstance(given, dict):
            return {"type": "STRING", "description": "any JSON value"}
        reference = given.get("$ref")
        if isinstance(reference, str):
            return self._referenced(reference, given)
        schema = _merged(given)
        branches = _branches(schema)
        if branches is not None:
            return self._either(schema, branches)
        return self._plain(schema)

    def _referenced(self, reference: str, given: JsonObject) -> JsonObject:
        name = reference.removeprefix("#/$defs/")
        definition = self._definitions.get(name)
        self._written_out += 1
        if (
            name in self._open
            or self._written_out > _MOST_REFERENCES
            or not isinstance(definition, dict)
        ):
            return {"type": "OBJECT", "description": f"another {name}"}
        self._open.append(name)
        beside = {key: value for key, value in given.items() if key != "$ref"}
        told = self.node({**definition, **beside})
        self._open.pop()
        return told

    def _either(self, schema: JsonObject, branches: list[Json]) -> JsonObject:
        """A choice: several branches are `anyOf`, one is itself, a null one is `nullable`."""
        outside = {
            key: value for key, value in schema.items() if key not in {"anyOf", "oneOf", "type"}
        }
        real = [branch for branch in branches if not _is_null(branch)]
        if len(real) == 1 and isinstance(real[0], dict):
            told = self.node({**outside, **real[0]})
        else:
            told = {**_described(outside), "anyOf": [self.node(branch) for branch in real]}
        return {**told, "nullable": True} if len(real) < len(branches) else told

    def _plain(self, schema: JsonObject) -> JsonObject:
        kind = _kind(schema).upper()
        told: JsonObject = {"type": kind, **_described(schema)}
        told.update({key: schema[key] for key in _KEPT.get(kind, ()) if key in schema})
        if schema.get("format") in _FORMATS.get(kind, frozenset()):
            told["format"] = schema["format"]
        self._tell_choices(told, schema)
        if kind == "OBJECT":
            self._tell_properties(told, schema)
        if kind == "ARRAY":
            told["items"] = self.node(_items(schema))
        return told

    def _tell_choices(self, told: JsonObject, schema: JsonObject) -> None:
        choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if not isinstance(choices, list):
            return
        if None in choices:
            told["nullable"] = True
        real: list[Json] = [choice for choice in choices if choice is not None]
        if told["type"] == "STRING" and all(isinstance(choice, str) and choice for choice in real):
            told["enum"] = real
        else:
            _say(told, f"one of {', '.join(dump_json(choice) for choice in real)}")

    def _tell_properties(self, told: JsonObject, schema: JsonObject) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            return
        told["properties"] = {name: self.node(inner) for name, inner in properties.items()}
        required = schema.get("required")
        named: list[Json] = (
            [n for n in required if n in properties] if isinstance(required, list) else []
        )
        if named:
            told["required"] = named


def _merged(schema: JsonObject) -> JsonObject:
    """The schema with the parts of its `allOf` laid into it."""
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    merged: JsonObject = {key: value for key, value in schema.items() if key != "allOf"}
    for part in parts:
        for key, value in _merged(part).items() if isinstance(part, dict) else ():
            merged[key] = _joined(merged.get(key), value)
    return merged


def _joined(mine: Json, other: Json) -> Json:
    if isinstance(mine, dict) and isinstance(other, dict):
        return {**other, **mine}
    if isinstance(mine, list) and isinstance(other, list):
        return [*mine, *(value for value in other if value not in mine)]
    return other if mine is None else mine


def _branches(schema: JsonObject) -> list[Json] | None:
    """The alternatives of a choice, or None if the schema is none."""
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        # Beside properties, a choice only says which of them go together.
        if isinstance(branches, list) and branches and "properties" not in schema:
            return branches
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return None


def _is_null(branch: Json) -> bool:
    return isinstance(branch, dict) and (
        branch.get("type") == "null" or branch.get("const", 0) is None
    )


def _kind(schema: JsonObject) -> str:
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "null":
        return kind
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    choices = schema.get("enum")
    first = choices[0] if isinstance(choices, list) and choices else schema.get("const")
    # Without a type anything may be meant; text can carry it, and the crib tells the model if it
    # was wrong.
    return _TYPE_OF.get(type(first), "string")


def _items(schema: JsonObject) -> Json:
    parts = schema.get("prefixItems")
    if isinstance(parts, list) and parts:
        return parts[0] if len(parts) == 1 else {"anyOf": parts}
    return schema.get("items", {"type": "string"})


def _described(schema: JsonObject) -> JsonObject:
    text = schema.get("description")
    return {"description": text} if isinstance(text, str) and text else {}


def _say(told: JsonObject, sentence: str) -> None:
    before = told.get("description")
    told["description"] = f"{before} ({sentence})" if before else sentence
