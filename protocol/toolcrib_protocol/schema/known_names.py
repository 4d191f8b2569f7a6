"""Which property names an object schema knows, so that a misspelt argument is not ignored silently.

A schema that says nothing about properties, or opens itself (`additionalProperties` true or a
schema, patterns), knows no bounds and nothing is unknown to it. Computed once when a checker is
compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_pointer import pointer
from toolcrib_protocol.schema.references import REFERENCES, Document, references_of
from toolcrib_protocol.schema.violation import UnknownArgument

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolcrib_protocol.json_value import Json, JsonObject

_DEEPEST: Final = 12
_OPENERS: Final = ("additionalProperties", "unevaluatedProperties")
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONS: Final = ("if", "then", "else")
_UNCERTAIN: Final = (*_BRANCHES, *_CONDITIONS, *REFERENCES)
_MOST_STEPS: Final = 2_000


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names an object may have and what is known of their values.

    `names` is None if any may come.
    """

    names: Mapping[str, KnownNames] | None = None
    items: KnownNames | None = None
    order: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, schema: JsonObject) -> KnownNames:
        """What `schema` knows."""
        return _Reading(schema).known(schema)

    def unknown_in(
        self, value: Json, path: tuple[str | int, ...] = ()
    ) -> Iterator[UnknownArgument]:
        """The unknown names in `value`, outermost first."""
        if isinstance(value, list):
            if self.items is not None:
                for position, item in enumerate(value):
                    yield from self.items.unknown_in(item, (*path, position))
            return
        if self.names is None or not isinstance(value, dict):
            return
        for name, inner in value.items():
            known = self.names.get(name)
            if known is None:
                yield UnknownArgument(pointer((*path, name)), name, self.order)
            elif known is not _ANYTHING:
                yield from known.unknown_in(inner, (*path, name))


_ANYTHING: Final = KnownNames()


class _Reading:
    """One reading of a schema. It gives up, and leaves names open, when the schema fans out."""

    def __init__(self, schema: JsonObject) -> None:
        self._document = Document(schema)
        self._steps_left = _MOST_STEPS

    def known(self, schema: Json, depth: int = 0) -> KnownNames:
        """What `schema` knows of a value."""
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return _ANYTHING
        if depth and any(keyword in schema for keyword in _UNCERTAIN):
            # Inside, only plain objects are judged: which branch applies is the checker's business.
            return _ANYTHING
        gathered = self._gathered(schema, 0)
        items = self.known(schema.get("items"), depth + 1)
        inside = items if items is not _ANYTHING else None
        if gathered is None:
            return KnownNames(None, inside) if inside else _ANYTHING
        names = {name: self.known(part, depth + 1) for name, part in gathered.items()}
        return KnownNames(names, inside, tuple(names))

    def _gathered(self, schema: Json, depth: int) -> Mapping[str, Json] | None:
        """All properties of `schema` and its branches, or None if any of them leaves names open."""
        self._steps_left -= 1
        if not isinstance(schema, dict) or depth > _DEEPEST or self._steps_left < 0:
            return None
        if _is_open(schema):
            return None
        properties = schema.get("properties")
        found: dict[str, Json] = {**properties} if isinstance(properties, dict) else {}
        has_some = isinstance(properties, dict) or schema.get("additionalProperties") is False
        for branch in self._branches(schema):
            inner = self._gathered(branch, depth + 1)
            if inner is None and (self._steps_left < 0 or _may_say_more(branch)):
                return None
            for name, part in (inner or {}).items():
                # Two branches that describe one name differently: its inside is not judged.
                found[name] = part if found.get(name, part) == part else True
            has_some = has_some or inner is not None
        return found if has_some else None

    def _branches(self, schema: JsonObject) -> Iterator[Json]:
        for keyword in _BRANCHES:
            listed = schema.get(keyword)
            yield from listed if isinstance(listed, list) else ()
        for keyword in _CONDITIONS:
            if keyword in schema:
                yield schema[keyword]
        for keyword in ("dependentSchemas", "dependencies"):
            named = schema.get(keyword)
            if isinstance(named, dict):
                yield from (part for part in named.values() if isinstance(part, dict))
        for reference in references_of(schema):
            yield self._document.target(reference)


def _is_open(schema: JsonObject) -> bool:
    is_opened = any(schema.get(keyword, False) is not False for keyword in _OPENERS)
    return is_opened or "patternProperties" in schema


def _may_say_more(branch: Json) -> bool:
    """Whether a branch without known names may still admit any name."""
    return branch is True or (
        isinstance(branch, dict)
        and (_is_open(branch) or any(keyword in branch for keyword in _UNCERTAIN))
    )
