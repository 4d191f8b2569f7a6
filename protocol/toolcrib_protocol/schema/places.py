"""Where schemas hold other schemas.

The keywords of all dialects from draft-04 to 2020-12. Values of other keywords (default, enum,
const, examples) are data: what looks like a schema there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

SINGLE: Final = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if",
        "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
LISTED: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
NAMED: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)


def with_parts(schema: JsonObject, change: Callable[[Json], Json]) -> JsonObject:
    """A copy of `schema` in which `change` was applied to each schema directly inside it."""
    return {keyword: _changed(keyword, value, change) for keyword, value in schema.items()}


def _changed(keyword: str, value: Json, change: Callable[[Json], Json]) -> Json:
    if keyword in LISTED and isinstance(value, list):
        return [change(part) for part in value]
    if keyword in NAMED and isinstance(value, dict):
        return {name: change(part) for name, part in value.items()}
    if keyword in SINGLE and isinstance(value, dict | bool):
        return change(value)
    return value


def parts(schema: JsonObject) -> Iterator[tuple[str, Json]]:
    """Every schema directly inside `schema`, with the keyword that holds it."""
    for keyword, value in schema.items():
        if keyword in LISTED and isinstance(value, list):
            yield from ((keyword, part) for part in value)
        elif keyword in NAMED and isinstance(value, dict):
            yield from ((keyword, part) for part in value.values())
        elif keyword in SINGLE and isinstance(value, dict):
            yield keyword, value


def nodes(schema: Json) -> Iterator[JsonObject]:
    """`schema` and every schema object inside it, outermost first; references are not followed."""
    waiting: list[Json] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(part for _, part in parts(node))
