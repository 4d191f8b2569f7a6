"""Which JSON Schema dialect a schema is written in, and its nodes in the words of 2020-12.

`$schema` is honoured; without one 2020-12 is assumed; where the meta-schema then refuses, older
dialects are tried, because many servers send draft-04 or draft-07 without saying so, or say
another. Compiling checks belongs to `checker.py`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import JsonObject


class Dialect(StrEnum):
    """The dialects that are understood, newest first."""

    D2020_12 = "2020-12"
    D2019_09 = "2019-09"
    D7 = "draft-07"
    D6 = "draft-06"
    D4 = "draft-04"


_BY_URI: Final = {
    "json-schema.org/draft/2020-12/schema": Dialect.D2020_12,
    "json-schema.org/draft/2019-09/schema": Dialect.D2019_09,
    "json-schema.org/draft-07/schema": Dialect.D7,
    "json-schema.org/draft-06/schema": Dialect.D6,
    "json-schema.org/draft-04/schema": Dialect.D4,
}
_NEW_IN_2020_12: Final = frozenset({"prefixItems"})
_NEW_IN_2019_09: Final = _NEW_IN_2020_12 | {
    "contentSchema",
    "dependentRequired",
    "dependentSchemas",
    "maxContains",
    "minContains",
    "unevaluatedItems",
    "unevaluatedProperties",
}
_NEW_IN_7: Final = _NEW_IN_2019_09 | {"if", "then", "else"}
_UNKNOWN_TO: Final = {
    Dialect.D2019_09: _NEW_IN_2020_12,
    Dialect.D7: _NEW_IN_2019_09,
    Dialect.D6: _NEW_IN_7,
    Dialect.D4: _NEW_IN_7 | {"contains", "propertyNames"},
}
DEFINITIONS: Final = {
    Dialect.D2020_12: "$defs",
    Dialect.D2019_09: "$defs",
    Dialect.D7: "definitions",
    Dialect.D6: "definitions",
    Dialect.D4: "definitions",
}
"""The keyword under which each dialect keeps schemas to refer to."""
_BOUNDS: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def declared_dialect(schema: JsonObject) -> Dialect | None:
    """The dialect that `$schema` names, or None if it names none that is known."""
    uri = schema.get("$schema")
    if not isinstance(uri, str):
        return None
    return _BY_URI.get(uri.removeprefix("https://").removeprefix("http://").rstrip("#"))


def candidates(schema: JsonObject) -> Iterator[Dialect]:
    """The dialects to try, in order, each once."""
    first = declared_dialect(schema) or Dialect.D2020_12
    yield first
    yield from (dialect for dialect in Dialect if dialect is not first)


def modern_node(node: JsonObject, dialect: Dialect) -> JsonObject:
    """One schema node (not what is inside it) in the words of 2020-12, keywords in order."""
    if dialect is Dialect.D2020_12:
        return node
    unknown = _UNKNOWN_TO[dialect]
    # Nothing has looked at what these hold, and to the exact schema they say nothing.
    modern = {keyword: value for keyword, value in node.items() if keyword not in unknown}
    if dialect is Dialect.D4:
        _plain_bounds(modern)
        if isinstance(modern.get("id"), str):
            del modern["id"]
    _plain_tuples(modern)
    return modern if dialect is Dialect.D2019_09 else _split_dependencies(modern)


def _plain_bounds(node: JsonObject) -> None:
    """Draft 4 wrote `exclusiveMinimum: true` beside the minimum."""
    for exclusive, plain in _BOUNDS.items():
        flag = node.get(exclusive)
        if not isinstance(flag, bool):
            continue
        del node[exclusive]
        if flag and plain in node:
            node[exclusive] = node.pop(plain)


def _plain_tuples(node: JsonObject) -> None:
    """Before 2020-12 a list of `items` meant positions, and `additionalItems` the rest."""
    rest = node.pop("additionalItems", None)
    if isinstance(node.get("items"), list):
        node["prefixItems"] = node.pop("items")
        if rest is not None:
            node["items"] = rest


def _split_dependencies(node: JsonObject) -> JsonObject:
    dependencies = node.pop("dependencies", None)
    if isinstance(dependencies, dict):
        required = {name: need for name, need in dependencies.items() if isinstance(need, list)}
        schemas = {name: need for name, need in dependencies.items() if not isinstance(need, list)}
        if required:
            node["dependentRequired"] = {**required}
        if schemas:
            node["dependentSchemas"] = {**schemas}
    return node
