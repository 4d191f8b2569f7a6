"""Where schemas hold other schemas, and how a pointer finds them.

The keywords of all dialects from draft-04 to 2020-12. Values of other keywords (default, enum,
const, examples) are data: what looks like a schema there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.json_value import Json, JsonObject

SINGLE: Final = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
        "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
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


def parts(schema: JsonObject) -> list[Json]:
    """Every schema directly inside `schema`."""
    found: list[Json] = []

    def note(part: Json) -> Json:
        found.append(part)
        return part

    with_parts(schema, note)
    return found


def at_pointer(root: Json, reference: str) -> Json | None:
    """What a reference inside the document (`#`, `#/a/b`) points at, or None if that is nothing."""
    if not reference.startswith("#"):
        return None
    here: Json = root
    for token in unquote(reference[1:]).split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and name in here:
            here = here[name]
        elif isinstance(here, list) and name.isascii() and name.isdigit() and int(name) < len(here):
            here = here[int(name)]
        else:
            return None
    # An anchor (`#name`) is no pointer: nobody walks there.
    return here if reference in {"#", ""} or reference.startswith("#/") else None
