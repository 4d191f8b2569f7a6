"""One small valid value for a schema, to teach with.

Deterministic, and checked before it is shown: what cannot be made valid is None, never a wrong example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.schema.checker import Checker
from toolcrib_protocol.schema.places import at_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

_DEEPEST: Final = 8
_MOST_TRIES: Final = 12
_BY_FORMAT: Final = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:30:00Z",
    "time": "09:30:00Z",
    "email": "ana@example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "hostname": "example.com",
}


def sample(schema: JsonObject) -> JsonObject | None:
    """An object that fits `schema`, with what is required and little else; None if none was found."""
    try:
        checker = Checker.compile(schema)
    except ToolError:
        return None
    tries = 0
    for value in _objects(schema, schema):
        tries += 1
        if isinstance(value, dict) and not checker.check(value):
            return value
        if tries == _MOST_TRIES:
            break
    return None


def _objects(schema: JsonObject, root: JsonObject) -> Iterator[Json]:
    """Candidates for the root: as it stands, then with each branch of a choice."""
    yield _value(schema, root, 0)
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        for branch in branches if isinstance(branches, list) else ():
            yield _joined(_value(schema, root, 0), _value(branch, root, 1))
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, part in properties.items():
            yield _joined(_value(schema, root, 0), {name: _value(part, root, 1)})


def _joined(one: Json, other: Json) -> Json:
    return {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else other


def _value(schema: Json, root: JsonObject, depth: int) -> Json:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return None if depth > _DEEPEST else "text"
    told = _told(schema)
    if told is not ...:
        return told
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _value(at_pointer(root, reference), root, depth + 1)
    for keyword in ("allOf", "anyOf", "oneOf") if depth else ("allOf",):
        branches = schema.get(keyword)
        if isinstance(branches, list) and branches:
            own = {k: v for k, v in schema.items() if k != keyword}
            return _joined(_of_type(own, root, depth), _value(branches[0], root, depth + 1))
    return _of_type(schema, root, depth)


def _told(schema: JsonObject) -> Json:
    """A value that the schema itself names."""
    for keyword in ("examples", "enum"):
        listed = schema.get(keyword)
        if isinstance(listed, list) and listed:
            return listed[0]
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]
    return ...  # type: ignore[return-value]  # no value is named; None would be one


def _of_type(schema: JsonObject, root: JsonObject, depth: int) -> Json:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "null")
    if kind == "object" or (kind is None and ("properties" in schema or not depth)):
        return _object(schema, root, depth)
    if kind == "array":
        count = _whole(schema.get("minItems"), 0)
        return [_value(schema.get("items", {}), root, depth + 1) for _ in range(min(count, 5))]
    if kind in {"integer", "number"}:
        return _number(schema)
    if kind == "boolean":
        return True
    return None if kind == "null" else _text(schema)


def _object(schema: JsonObject, root: JsonObject, depth: int) -> JsonObject:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return {name: _value(known.get(name, True), root, depth + 1) for name in names}


def _number(schema: JsonObject) -> int | float:
    lowest, highest = schema.get("minimum"), schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    if isinstance(above, int | float) and not isinstance(above, bool):
        return above + 1
    if isinstance(lowest, int | float):
        return lowest + 1 if above is True else lowest
    step = schema.get("multipleOf")
    if isinstance(step, int | float) and not isinstance(step, bool):
        return step
    return min(1, highest) if isinstance(highest, int | float) else 1


def _text(schema: JsonObject) -> str:
    text = _BY_FORMAT.get(str(schema.get("format")), "text")
    shortest = _whole(schema.get("minLength"), 0)
    longest = _whole(schema.get("maxLength"), len(text) + shortest)
    return text.ljust(min(shortest, 200), "x")[:longest]


def _whole(value: Json, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
