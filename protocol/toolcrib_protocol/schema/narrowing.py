"""An object schema without some of its arguments: what callers see when the operator sets them.

The narrowed form may admit more than the whole schema does (a rule that names a removed argument is
left out), never less; whoever puts the arguments back in checks the result with the whole schema.
Used by `toolcrib_protocol.overlay`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.json_pointer import pointer
from toolcrib_protocol.schema.references import REFERENCES, Document, references_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

_RULES: Final = frozenset(
    {"anyOf", "oneOf", "not", "if", "then", "else", "propertyNames", "const", "enum"}
    | {"dependentRequired", "dependentSchemas", "dependencies"}
)
_COUNTS: Final = frozenset({"minProperties", "maxProperties"})
_SENSITIVE: Final = _COUNTS | {
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "const",
    "enum",
}
"""Keywords by which a rule may feel that an argument is missing, without naming it."""
_MOST_STEPS: Final = 100_000
_DEEPEST: Final = 16


def without_arguments(schema: JsonObject, names: Collection[str]) -> JsonObject:
    """`schema` with the arguments `names` taken out of it.

    Raises:
        ToolError: `invalid_contract` if an argument cannot be removed, because other parts of the
            schema refer to it.
    """
    if not names:
        return schema
    for reference in _references(schema):
        taken = next((name for name in names if _reaches(reference, name)), None)
        if taken is not None:
            raise _irremovable(f"the argument {taken!r}", reference)
    return _Narrowing(schema, frozenset(names)).of(schema)


def required_arguments(schema: JsonObject) -> frozenset[str]:
    """The names that the root of `schema`, or a part that holds in any case, demands."""
    return frozenset(_required(Document(schema), schema, _DEEPEST))


def _required(document: Document, schema: JsonObject, levels: int) -> Iterator[str]:
    told = schema.get("required")
    yield from map(str, told if isinstance(told, list) else ())
    parts = schema.get("allOf")
    targets = map(document.target, references_of(schema))
    for part in (*(parts if isinstance(parts, list) else ()), *targets):
        if isinstance(part, dict) and levels:
            yield from _required(document, part, levels - 1)


class _Narrowing:
    """Takes names out of the root of one schema, and of all parts that hold there in any case."""

    def __init__(self, root: JsonObject, names: frozenset[str]) -> None:
        self._document = Document(root)
        self._names = names

    def of(self, schema: JsonObject, levels: int = _DEEPEST) -> JsonObject:
        """`schema` without the names."""
        narrow: JsonObject = {}
        folded: list[Json] = []
        dropped = False
        for keyword, value in schema.items():
            if keyword in REFERENCES and isinstance(value, str):
                folded += self._target(value, levels)
                if not folded:
                    narrow[keyword] = value
            elif keyword in _COUNTS or (keyword in _RULES and self._feels(value)):
                dropped = True
            else:
                narrow[keyword] = self._part(keyword, value, levels)
        if folded:
            known = narrow.get("allOf")
            narrow["allOf"] = [*(known if isinstance(known, list) else ()), *folded]
        if dropped:
            # What a dropped rule evaluated would now count as unevaluated.
            narrow.pop("unevaluatedProperties", None)
        if narrow.get("required") == []:
            del narrow["required"]  # draft 4 refuses an empty list
        return narrow

    def _part(self, keyword: str, value: Json, levels: int) -> Json:
        names = self._names
        if keyword == "properties" and isinstance(value, dict):
            return {name: part for name, part in value.items() if name not in names}
        if keyword == "required" and isinstance(value, list):
            return [name for name in value if name not in names]
        if keyword == "allOf" and isinstance(value, list):
            return [self.of(part, levels) if isinstance(part, dict) else part for part in value]
        return value

    def _target(self, reference: str, levels: int) -> list[Json]:
        """What a reference leads to, narrowed; nothing if no name is in it."""
        target = self._document.target(reference)
        if not isinstance(target, dict) or not self._feels(target):
            return []
        if not levels:
            raise _irremovable("an argument", reference)
        return [self.of(target, levels - 1)]

    def _feels(self, value: Json) -> bool:
        """Whether a rule, or what it refers to, may notice that one of the names is missing."""
        seen: set[str] = set()
        waiting = [value]
        while waiting:
            for part in _parts(waiting.pop()):
                if isinstance(part, str) and part in self._names:
                    return True
                if isinstance(part, dict):
                    if not (_SENSITIVE | self._names).isdisjoint(part):
                        return True
                    fresh = set(references_of(part)) - seen
                    seen |= fresh
                    waiting += [target for target in map(self._document.target, fresh) if target]
        return False


def _irremovable(what: str, reference: str) -> ToolError:
    return ToolError(
        INVALID_CONTRACT,
        f"{what} cannot be taken out of the schema: the reference {reference!r} reaches there",
    )


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
