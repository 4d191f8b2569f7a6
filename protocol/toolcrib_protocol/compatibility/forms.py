"""What a value that fits a schema is known to be: the left side of an inclusion.

A schema is taken apart into *forms*, one for each branch of its choices. A form knows the keywords
that hold for it together; whatever it cannot keep is left out, so that a form admits at least what
the schema does, and says that it is not exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.schema.canonical import canonical_json as _canonical_json
from toolcrib_protocol.schema.dialects import Dialect, modern_node
from toolcrib_protocol.schema.places import with_parts
from toolcrib_protocol.schema.references import Document, references_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolcrib_protocol.json_value import Json, JsonObject

    Schemas = tuple[Json, ...]
    """Schemas that all hold."""

FRACTION: Final = "fraction"
"""The numbers that are not whole; JSON Schema's `number` is these and `integer`."""
ALL_TYPES: Final = frozenset({"null", "boolean", "integer", FRACTION, "string", "array", "object"})
NEVER: Final[Schemas] = (False,)
_MOST_FORMS: Final = 48
_DEEPEST: Final = 40
_INEXACT: Final = (
    "not", "if", "oneOf", "contains", "propertyNames", "dependentRequired", "dependentSchemas",
    "unevaluatedProperties", "unevaluatedItems", "patternProperties",
)  # fmt: skip
"""Keywords that a form holds on to but does not understand."""


class SchemaDocument:
    """One schema in the words of 2020-12, with its references."""

    def __init__(self, schema: JsonObject, dialect: Dialect) -> None:
        self._dialect = dialect
        self._document = Document(self._modern_root(schema))
        self._expanded: dict[int, str] = {}

    @property
    def root(self) -> JsonObject:
        """The whole schema."""
        return self._document.root

    def targets(self, node: JsonObject) -> Iterator[Json]:
        """What the references of a node point at; None for what cannot be found."""
        for reference in references_of(node):
            found = self._document.target(reference)
            yield None if found is None else found

    def _modern_root(self, schema: JsonObject) -> JsonObject:
        plain = {key: value for key, value in schema.items() if key != "$schema"}
        return with_parts(modern_node(plain, self._dialect), self._modern)

    def _modern(self, node: Json) -> Json:
        if not isinstance(node, dict):
            return node
        references = references_of(node)
        if references and self._dialect not in {Dialect.D2020_12, Dialect.D2019_09}:
            # Before 2019-09 a reference stands alone: what is beside it is not looked at.
            return {"$ref": references[0]}
        return with_parts(modern_node(node, self._dialect), self._modern)


def value_key(value: Json) -> bytes:
    """The same for values that JSON Schema takes for equal: 1 and 1.0 are."""
    return _canonical_json(_plain(value))


def _plain(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value


def types_of(node: JsonObject) -> frozenset[str]:
    """The types that a node's `type` admits."""
    named = node.get("type")
    if named is None:
        return ALL_TYPES
    listed = {str(each) for each in (named if isinstance(named, list) else [named])}
    return frozenset(listed - {"number"} | ({"integer", FRACTION} if "number" in listed else set()))


def type_of_value(value: Json) -> str:
    """The type of a value, whole numbers apart from others."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else FRACTION
    names = {int: "integer", str: "string", list: "array", dict: "object", type(None): "null"}
    return names[type(value)]


def exact(number: Json) -> Fraction | None:
    """A number without any rounding; None for what is none."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


@dataclass(frozen=True)
class Form:
    """Keywords that hold together.

    Attributes:
        parts: nodes without references and choices.
        is_exact: whether nothing was left out.
    """

    parts: tuple[JsonObject, ...]
    is_exact: bool = True
    only_type: str | None = None
    only_value: tuple[Json, ...] = ()
    _cache: dict[str, Schemas] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def values(self) -> tuple[Json, ...] | None:
        """The values that are listed, if only listed ones fit."""
        if self.only_value:
            return self.only_value
        found: list[Json] | None = None
        for part in self.parts:
            listed = [part["const"]] if "const" in part else part.get("enum")
            if not isinstance(listed, list):
                continue
            known = {value_key(each) for each in listed}
            # In the words of the first list: 1 and 1.0 are one value.
            kept = listed if found is None else [v for v in found if value_key(v) in known]
            found = [*kept]
        if found is None:
            return None
        return tuple(value for value in found if type_of_value(value) in self._named_types)

    @cached_property
    def _named_types(self) -> frozenset[str]:
        found = ALL_TYPES
        for part in self.parts:
            found &= types_of(part)
        return found if self.only_type is None else found & {self.only_type}

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of the values that fit."""
        if self.values is not None:
            return frozenset(map(type_of_value, self.values))
        return self._named_types

    def numbers(self, keyword: str) -> list[Fraction]:
        """What the parts say under a keyword whose value is a number."""
        found = (exact(part.get(keyword)) for part in self.parts)
        return [number for number in found if number is not None]

    def held(self, keyword: str) -> list[Json]:
        """What the parts say under a keyword."""
        return [part[keyword] for part in self.parts if keyword in part]

    @cached_property
    def required(self) -> frozenset[str]:
        """The properties that are always there."""
        named = (part.get("required") for part in self.parts)
        return frozenset(
            str(name) for listed in named if isinstance(listed, list) for name in listed
        )

    @cached_property
    def named(self) -> dict[str, None]:
        """The properties that are described, in order."""
        found: dict[str, None] = {}
        for part in self.parts:
            properties = part.get("properties")
            found.update(dict.fromkeys(properties if isinstance(properties, dict) else ()))
        return found

    def of_property(self, name: str) -> Schemas:
        """What holds for the value of a property."""
        found: list[Json] = []
        for part in self.parts:
            properties = part.get("properties")
            if isinstance(properties, dict) and name in properties:
                found.append(properties[name])
            elif "patternProperties" not in part:
                found.append(part.get("additionalProperties", True))
        return tuple(found)

    @cached_property
    def rest(self) -> Schemas:
        """What holds for the values of properties that are not described."""
        return tuple(
            True if "patternProperties" in part else part.get("additionalProperties", True)
            for part in self.parts
        )

    @property
    def says_nothing_of_the_rest(self) -> bool:
        """Whether no part speaks of properties that are not described."""
        return not any(
            keyword in part
            for part in self.parts
            for keyword in ("additionalProperties", "patternProperties", "unevaluatedProperties")
        )

    def item(self, position: int) -> Schemas:
        """What holds for the item at a position."""
        found: list[Json] = []
        for part in self.parts:
            leading = part.get("prefixItems")
            if isinstance(leading, list) and position < len(leading):
                found.append(leading[position])
            else:
                found.append(part.get("items", True))
        return tuple(found)

    @cached_property
    def leading(self) -> int:
        """How many items are described by position."""
        lists = (part.get("prefixItems") for part in self.parts)
        return max((len(each) for each in lists if isinstance(each, list)), default=0)

    @property
    def is_empty(self) -> bool:
        """Whether it is plain that nothing fits."""
        lacks = self.types == {"object"} and self._lacks_what_it_needs
        return lacks or not self.types

    @property
    def _lacks_what_it_needs(self) -> bool:
        return any(False in self.of_property(name) for name in self.required)

    def pieces(self) -> list[Form]:
        """The same by type, and by value where values are listed."""
        if self.values is not None:
            return [Form(self.parts, self.is_exact, None, (value,)) for value in self.values]
        ordered = sorted(self.types)
        return [Form(self.parts, self.is_exact, each) for each in ordered] if ordered else []


def forms_of(document: SchemaDocument, schemas: Sequence[Json]) -> list[Form]:
    """The forms of what fits all of `schemas`; none if it is plain that nothing does."""
    expansion = _Expansion(document)
    branches = expansion.expanded([*schemas], 0)
    if branches is None:
        return []
    forms = [Form(tuple(parts), _is_exact(parts, expansion)) for parts in branches]
    return [form for form in forms if not form.is_empty]


def _is_exact(parts: list[JsonObject], expansion: _Expansion) -> bool:
    return expansion.is_exact and not any(key in part for part in parts for key in _INEXACT)


class _Expansion:
    """One taking apart."""

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document
        self.is_exact = True

    def expanded(self, schemas: list[Json], depth: int) -> list[list[JsonObject]] | None:
        """The branches of what fits all of `schemas`; None if nothing does."""
        branches: list[list[JsonObject]] = [[]]
        for schema in schemas:
            own = self._branches(schema, depth)
            if own is None:
                return None
            if len(branches) * len(own) > _MOST_FORMS:
                self.is_exact = False
                continue
            branches = [[*before, *after] for before in branches for after in own]
        return branches

    def _branches(self, schema: Json, depth: int) -> list[list[JsonObject]] | None:
        if schema is False:
            return None
        if not isinstance(schema, dict):
            return [[]]
        if depth > _DEEPEST:
            self.is_exact = False
            return [[]]
        together: list[Json] = []
        for target in self._document.targets(schema):
            self.is_exact = self.is_exact and target is not None
            together.append(True if target is None else target)
        conjunction = schema.get("allOf")
        together += conjunction if isinstance(conjunction, list) else []
        plain = {key: value for key, value in schema.items() if key not in _TAKEN_APART}
        branches = self.expanded(together, depth + 1) if together else [[]]
        for keyword in ("anyOf", "oneOf"):
            options = schema.get(keyword)
            if branches is not None and isinstance(options, list):
                if keyword == "oneOf" and len(options) > 1:
                    # What fits two of them fits none: a form admits it all the same.
                    plain = {**plain, "oneOf": options}
                branches = self._with_options(branches, options, depth)
        return None if branches is None else [[plain, *branch] for branch in branches]

    def _with_options(
        self, branches: list[list[JsonObject]], options: list[Json], depth: int
    ) -> list[list[JsonObject]] | None:
        found: list[list[JsonObject]] = []
        for option in options:
            found += self._branches(option, depth + 1) or []
        if not found:
            return None
        if len(branches) * len(found) > _MOST_FORMS:
            self.is_exact = False
            return branches
        return [[*before, *after] for before in branches for after in found]


_TAKEN_APART: Final = frozenset(
    {"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "$defs", "definitions"}
)
