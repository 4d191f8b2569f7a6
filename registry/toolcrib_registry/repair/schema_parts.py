"""What an input schema says about one place in the arguments, over references and choices.

Read for repairs only: what comes out is checked with the whole schema afterwards, so this may see
more than is allowed (every branch of a choice), but must be quick and must end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.schema.references import Document, references_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolcrib_protocol.json_value import Json, JsonObject

_MOST_FORMS: Final = 60
_CHOICES: Final = ("anyOf", "oneOf")
_CONDITIONS: Final = ("then", "else")
_JSON_TYPES: Final = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)


def type_of(value: Json) -> str:
    """The name that JSON Schema has for the type of a value."""
    for python, name in _JSON_TYPES:
        if isinstance(value, python):
            return name
    return "null"


class Place:
    """The schemas that may hold at one place."""

    __slots__ = ("_certain", "_document", "forms")

    def __init__(self, document: Document, schemas: Sequence[Json]) -> None:
        self._document = document
        self.forms = tuple(_forms(document, schemas, is_wide=True))
        self._certain = tuple(_forms(document, schemas, is_wide=False))

    @classmethod
    def root(cls, schema: JsonObject) -> Place:
        """The whole of the arguments."""
        return cls(Document(schema), [schema])

    @property
    def types(self) -> frozenset[str]:
        """The types that are named for it; empty if none are."""
        found: set[str] = set()
        for form in self.forms:
            named = form.get("type")
            listed = named if isinstance(named, list) else [named]
            found.update(each for each in listed if isinstance(each, str))
            if named is None:
                found.update(type_of(value) for value in _listed(form))
        return frozenset(found | {"integer"} if "number" in found else found)

    @property
    def values(self) -> list[Json]:
        """The values that are listed for it, if only listed ones may stand there."""
        return [value for form in self.forms for value in _listed(form)]

    @property
    def known(self) -> dict[str, list[Json]]:
        """The properties that are described, each with its schemas."""
        found: dict[str, list[Json]] = {}
        for form in self.forms:
            properties = form.get("properties")
            for name, schema in properties.items() if isinstance(properties, dict) else ():
                found.setdefault(name, []).append(schema)
        return found

    @property
    def is_open(self) -> bool:
        """Whether other properties than the described ones are expected."""
        return not self.known or any(
            form.get("additionalProperties", False) is not False or "patternProperties" in form
            for form in self.forms
        )

    @property
    def required(self) -> list[str]:
        """The properties that are required whatever branch of a choice is taken."""
        found: dict[str, None] = {}
        for form in self._certain:
            named = form.get("required")
            listed = named if isinstance(named, list) else []
            found.update((each, None) for each in listed if isinstance(each, str))
        return [*found]

    @property
    def texts(self) -> str:
        """What is said about it in words."""
        said = (form.get(key) for form in self.forms for key in ("title", "description"))
        return " ".join(text for text in said if isinstance(text, str))

    @property
    def only_value(self) -> tuple[Json, ...]:
        """The one value that the schema itself gives for it; empty if it gives none, or several."""
        given = [form["default"] for form in self._certain if "default" in form]
        if not given and len(self.values) == 1:
            given = self.values
        return (given[0],) if given and all(each == given[0] for each in given) else ()

    def property(self, name: str) -> Place:
        """The place of a property."""
        schemas = self.known.get(name)
        if schemas is None:
            schemas = [form.get("additionalProperties") for form in self.forms]
        return Place(self._document, schemas)

    def item(self, position: int) -> Place:
        """The place of an item of a list."""
        schemas: list[Json] = []
        for form in self.forms:
            items, first = form.get("items"), form.get("prefixItems")
            leading = first if isinstance(first, list) else items
            if isinstance(leading, list) and position < len(leading):
                schemas.append(leading[position])
            elif not isinstance(items, list):
                schemas.append(items)
        return Place(self._document, schemas)

    def at(self, path: Sequence[str | int]) -> Place:
        """The place that a path from here leads to."""
        here = self
        for step in path:
            here = here.item(step) if isinstance(step, int) else here.property(step)
        return here


def _listed(form: JsonObject) -> list[Json]:
    if "const" in form:
        return [form["const"]]
    listed = form.get("enum")
    return listed if isinstance(listed, list) else []


def _forms(document: Document, schemas: Sequence[Json], *, is_wide: bool) -> Iterator[JsonObject]:
    """The schemas themselves and those they stand for; with those of choices if `is_wide`."""
    seen: set[int] = set()
    waiting: list[Json | bool] = [*reversed(schemas)]
    while waiting and len(seen) < _MOST_FORMS:
        form = waiting.pop()
        if not isinstance(form, dict) or id(form) in seen:
            continue
        seen.add(id(form))
        yield form
        inner: list[Json | bool] = [document.target(each) for each in references_of(form)]
        for keyword in ("allOf", *(_CHOICES if is_wide else ())):
            listed = form.get(keyword)
            inner.extend(listed if isinstance(listed, list) else ())
        if is_wide:
            inner.extend(form.get(keyword) for keyword in _CONDITIONS)
        waiting.extend(reversed(inner))
