"""A schema as a short signature: what a search answer shows instead of the whole schema.

`mail__send(to: string, subject?: string, priority?: "low"|"high") -> {id: string}`. Bounded in length and depth; what is
left out is an ellipsis. For reading only: nothing parses it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_LONGEST: Final = 400
_LONGEST_TYPE: Final = 60
_MOST_CHOICES: Final = 6
_DEEPEST: Final = 2


def signature(
    name: str, input_schema: JsonObject, output_schema: JsonObject | None = None, longest: int = _LONGEST
) -> str:
    """The signature of a tool, at most `longest` characters (plus name and ellipsis).

    Args:
        name: the published name.
        input_schema: the published (model-safe) input schema.
        output_schema: the output schema, shown by its type.
        longest: how many characters the parameters may take.
    """
    written: list[str] = []
    room = longest
    parameters = _parameters(input_schema)
    for parameter in parameters:
        room -= len(parameter) + 2
        if room < 0:
            written.append(f"… {len(parameters) - len(written)} more")
            break
        written.append(parameter)
    returned = f" -> {_type(output_schema, 0)}" if output_schema else ""
    return f"{name}({', '.join(written)}){returned}"


def _parameters(schema: JsonObject, depth: int = 0) -> list[str]:
    """Required ones first, each group in the schema's order."""
    properties = schema.get("properties")
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    items = list(properties.items()) if isinstance(properties, dict) else []
    ordered = [i for i in items if i[0] in needed] + [i for i in items if i[0] not in needed]
    return [f"{name}{'' if name in needed else '?'}: {_type(part, depth)}" for name, part in ordered]


def _type(schema: Json, depth: int) -> str:
    if not isinstance(schema, dict):
        return "any"
    text = _choice(schema, depth) or _plain(schema, depth)
    return text if len(text) <= _LONGEST_TYPE else _kind(schema)


def _choice(schema: JsonObject, depth: int) -> str | None:
    if "const" in schema:
        return dump_json(schema["const"])
    listed = schema.get("enum")
    if isinstance(listed, list):
        shown = [dump_json(value) for value in listed[:_MOST_CHOICES]]
        return "|".join([*shown, "…"] if len(listed) > _MOST_CHOICES else shown)
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, list) and branches:
            return "|".join(dict.fromkeys(_type(branch, depth + 1) for branch in branches[:_MOST_CHOICES]))
    return None


def _plain(schema: JsonObject, depth: int) -> str:
    kind = schema.get("type")
    if kind == "array" and depth < _DEEPEST:
        inner = _type(schema.get("items"), depth + 1)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    properties = schema.get("properties")
    if isinstance(properties, dict) and properties and depth < _DEEPEST:
        return f"{{{', '.join(_parameters(schema, depth + 1))}}}"
    return _kind(schema)


def _kind(schema: JsonObject) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(map(str, kind))
    return str(kind) if kind else "any"
