"""An object schema without some of its arguments: what callers see when the operator sets them.

The narrowed form may admit more than the whole schema does (a rule that names a removed argument is
left out), never less; whoever puts the arguments back in checks the result with the whole schema.
Used by `toolcrib_protocol.overlay`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.schema.known_names import KnownNames
from toolcrib_protocol.schema.references import references_of
from toolcrib_protocol.schema.violation import pointer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

_RULES: Final = frozenset(
    {"anyOf", "oneOf", "not", "if", "then", "else", "propertyNames", "const", "enum"}
    | {"dependentRequired", "dependentSchemas", "dependencies"}
)
_COUNTS: Final = ("minProperties", "maxProperties")
_MOST_STEPS: Final = 100_000


def without_arguments(schema: JsonObject, names: Collection[str]) -> JsonObject:
    """`schema` with the arguments `names` taken out of it.

    Raises:
        ToolError: `invalid_contract` if an argument cannot be removed: other parts of the schema
            refer to it, or it is behind a reference.
    """
    if not names:
        return schema
    for reference in _references(schema):
        taken = next((name for name in names if _reaches(reference, name)), None)
        if taken is not None:
            raise ToolError(
                INVALID_CONTRACT,
                f"the argument {taken!r} cannot be taken out of the schema: the reference "
                f"{reference!r} in it reaches there",
            )
    narrow = _narrowed(schema, frozenset(names))
    left = next((name for name in names if name in (KnownNames.of(narrow).names or ())), None)
    if left is not None:
        text = f"the argument {left!r} cannot be taken out of the schema: it is behind a reference"
        raise ToolError(INVALID_CONTRACT, text)
    return narrow


def required_arguments(schema: JsonObject) -> frozenset[str]:
    """The names that the root of `schema`, or a part that holds in any case, demands."""
    told = schema.get("required")
    found = frozenset(map(str, told)) if isinstance(told, list) else frozenset()
    parts = schema.get("allOf")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            found |= required_arguments(part)
    return found


def _narrowed(schema: JsonObject, names: frozenset[str]) -> JsonObject:
    narrow: JsonObject = {}
    dropped = False
    for keyword, value in schema.items():
        if keyword in _COUNTS or (keyword in _RULES and _mentions(value, names)):
            dropped = True
        elif keyword == "properties" and isinstance(value, dict):
            narrow[keyword] = {name: part for name, part in value.items() if name not in names}
        elif keyword == "required" and isinstance(value, list):
            narrow[keyword] = [name for name in value if name not in names]
        elif keyword == "allOf" and isinstance(value, list):
            narrow[keyword] = [
                _narrowed(part, names) if isinstance(part, dict) else part for part in value
            ]
        else:
            narrow[keyword] = value
    if dropped:
        # What a dropped rule evaluated would now count as unevaluated.
        narrow.pop("unevaluatedProperties", None)
    if narrow.get("required") == []:
        del narrow["required"]  # draft 4 refuses an empty list
    return narrow


def _mentions(value: Json, names: frozenset[str]) -> bool:
    return any(text in names for text in _texts(value))


def _texts(value: Json) -> Iterator[str]:
    for part in _parts(value):
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            yield from part


def _references(schema: JsonObject) -> Iterator[str]:
    for part in _parts(schema):
        if isinstance(part, dict):
            yield from references_of(part)


def _reaches(reference: str, name: str) -> bool:
    """Whether a reference leads to an argument of the root, or to the root that has it."""
    place = reference.removeprefix("#")
    argument = "/properties" + pointer([name])
    return reference.startswith("#") and (
        place in {"", "/"} or f"{place}/".startswith(f"{argument}/")
    )


def _parts(value: Json) -> Iterator[Json]:
    """`value` and everything in it, bounded."""
    waiting = [value]
    for _ in range(_MOST_STEPS):
        if not waiting:
            return
        part = waiting.pop()
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
