"""What a source's own refusal of arguments says about how they were meant.

The published schema admitted them, so only the words of the refusal can help: an argument that they
name, and the type that they name for it. Everything is checked with the published schema again; who
repeats the call decides whether that is harmless.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.schema.references import Document
from toolcrib_registry.repair.argument_repair import Repaired
from toolcrib_registry.repair.draft import Draft
from toolcrib_registry.repair.leaves import readings
from toolcrib_registry.repair.schema_parts import Place, type_of

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.schema import Checker

_TYPES: Final = {
    "string": "string",
    "str": "string",
    "text": "string",
    "integer": "integer",
    "int": "integer",
    "number": "number",
    "float": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "object": "object",
    "dict": "object",
    "dictionary": "object",
}
_EXPECTATION: Final = re.compile(
    r"(?:must be|should be|expected|expects|is not|needs to be|requires)(?: (?:of )?type:?)?"
    r"(?: an?)?(?: valid)?:? ['\"`]?(\w+)",
    re.IGNORECASE,
)
_LONGEST: Final = 4_000
_REACH: Final = 200
"""How many characters after a name its expected type may stand."""


def after_rejection(
    arguments: JsonObject, schema: JsonObject, checker: Checker, told: str
) -> Repaired | None:
    """Other arguments of the same meaning that the refusal `told` asks for; None if it asks none.

    Args:
        arguments: what was sent; it fits `schema`.
        schema: the published schema.
        checker: of `schema`.
        told: the source's words.
    """
    draft = Draft.of(arguments)
    place = Place.root(schema)
    for name in [*arguments]:
        wanted = _wanted_type(name, told[:_LONGEST])
        if draft.values[name] is None and wanted and name not in place.required:
            del draft.values[name]
            draft.note((name,), "left out: the source takes no null", is_certain=True)
        elif wanted:
            _mend(draft, name, wanted)
    if not draft.repairs or checker.check(draft.values):
        return None
    return Repaired(draft.values, tuple(draft.repairs))


def _mend(draft: Draft, name: str, wanted: str) -> None:
    value = draft.values[name]
    asked = Place(Document({}), [{"type": wanted}])
    if type_of(value) in asked.types:
        return
    for reading in readings(value, name, asked)[:1]:
        draft.values[name] = reading.value
        told = f"sent as {reading.what}, which the source asked for"
        draft.note((name,), told, is_certain=reading.is_certain)


def _wanted_type(name: str, told: str) -> str | None:
    """The type that the words name for an argument, the only one they name for it."""
    found: set[str] = set()
    for mention in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", told):
        after = told[mention.end() : mention.end() + _REACH]
        expectation = _EXPECTATION.search(after)
        if expectation and expectation[1].casefold() in _TYPES:
            found.add(_TYPES[expectation[1].casefold()])
    return found.pop() if len(found) == 1 else None
