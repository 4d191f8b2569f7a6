"""A schema as a short signature: what a search answer shows instead of the whole schema.

`mail__send(to: string, subject?: string, priority?: "low"|"high") -> {id: string}`. Bounded in
length and depth; what is left out is an ellipsis. For reading only: nothing parses it back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.schema.references import Document, references_of

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_LONGEST: Final = 400
_LONGEST_TYPE: Final = 60
_MOST_CHOICES: Final = 6
_DEEPEST: Final = 2
_PLAIN_NAME: Final = re.compile(r"[^\s\"'(){}\[\],:|?]{1,100}")


def signature(
    name: str,
    input_schema: JsonObject,
    output_schema: JsonObject | None = None,
    longest: int = _LONGEST,
) -> str:
    """The signature of a tool, at most `longest` characters (plus name, result and ellipsis).

    Args:
        name: the published name.
        input_schema: the published (model-safe) input schema.
        output_schema: the output schema, shown by its type.
        longest: how many characters the parameters may take.
    """
    written: list[str] = []
    room = longest
    parameters = _Reader(input_schema).parameters(input_schema, 0)
    for parameter in parameters:
        room -= len(parameter) + 2
        if room < 0:
            written.append(f"… {len(parameters) - len(written)} more")
            break
        written.append(parameter)
    returned = f" -> {_Reader(output_schema).type(output_schema, 0)}" if output_schema else ""
    return f"{name}({', '.join(written)}){returned}"


class _Reader:
    """Tells the types of one schema document."""

    def __init__(self, root: JsonObject) -> None:
        self._document = Document(root)

    def parameters(self, schema: JsonObject, depth: int) -> list[str]:
        """Required ones first, each group in the schema's order."""
        properties = schema.get("properties")
        required = schema.get("required")
        needed = set(map(str, required)) if isinstance(required, list) else set()
        items = list(properties.items()) if isinstance(properties, dict) else []
        ordered = sorted(items, key=lambda item: item[0] not in needed)
        return [
            f"{_name(name)}{'' if name in needed else '?'}: {self.type(part, depth)}"
            for name, part in ordered
        ]

    def type(self, schema: Json, depth: int) -> str:
        """The type of a schema in few words."""
        if not isinstance(schema, dict):
            return "any"
        for reference in references_of(schema):
            target = self._document.target(reference) if depth < _DEEPEST else None
            return self.type(target, depth + 1)
        text = self._choice(schema, depth) or self._plain(schema, depth)
        return text if len(text) <= _LONGEST_TYPE else _kind(schema)

    def _choice(self, schema: JsonObject, depth: int) -> str | None:
        if "const" in schema:
            return dump_json(schema["const"])
        listed = schema.get("enum")
        if isinstance(listed, list):
            shown = [dump_json(value) for value in listed[:_MOST_CHOICES]]
            return "|".join([*shown, "…"] if len(listed) > _MOST_CHOICES else shown)
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches and depth <= _DEEPEST:
                told = (self.type(branch, depth + 1) for branch in branches[:_MOST_CHOICES])
                return "|".join(dict.fromkeys(told))
        return None

    def _plain(self, schema: JsonObject, depth: int) -> str:
        if schema.get("type") == "array" and depth < _DEEPEST:
            inner = self.type(schema.get("items"), depth + 1)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties and depth < _DEEPEST:
            return f"{{{', '.join(self.parameters(schema, depth + 1))}}}"
        return _kind(schema)


def _name(name: str) -> str:
    """A name as it is, or quoted where it could be read as something else."""
    return name if _PLAIN_NAME.fullmatch(name) else dump_json(name)


def _kind(schema: JsonObject) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(map(str, kind))
    return str(kind) if kind else "any"
