"""Whether every value that fits one schema fits another, and where it does not.

The values of the left schema are taken apart into forms, and each form has to meet every keyword of
the right one: the rules (`rules.py`) say keyword by keyword what is missing. Nothing missing is a
proof. Something missing is a break if nothing was left out on the way, else it is not known.
Recursive schemas are walked once: what is being shown is taken as shown (values are finite).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.compatibility.forms import NEVER, forms_of, value_key
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from toolcrib_protocol.compatibility.forms import Form, SchemaDocument
    from toolcrib_protocol.json_value import Json, JsonObject

    Rule = Callable[["Inclusion", Form, JsonObject, str], Iterator["Missing"]]

_DEEPEST: Final = 40
_MOST_WORK: Final = 5_000
_MOST_TOLD: Final = 60
_LONGEST: Final = 120


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a value of the left schema may not fit the right one.

    Attributes:
        pointer: where in the value.
        rule: the rule that found it.
        left: what the left schema says there, in words.
        right: what the right one says.
        is_certain: whether there surely is such a value.
        only_edge_values: whether such values are hardly ever meant.
    """

    pointer: str
    rule: str
    left: str
    right: str
    is_certain: bool = True
    only_edge_values: bool = False


class Inclusion:
    """One question: is everything of `left` in `right`?"""

    def __init__(
        self,
        left: SchemaDocument,
        right: SchemaDocument,
        rules: Mapping[str, Rule],
    ) -> None:
        """A question.

        Args:
            left: whose values are asked about.
            right: the schema that they have to fit.
            rules: by id.
        """
        self.left = left
        self.right = right
        self._rules = rules
        self._taken: dict[tuple[tuple[int, ...], int], None] = {}
        self._work = 0

    def missing(self) -> list[Missing]:
        """Everything that is missing; empty if the inclusion is proven."""
        return self.of_schemas((self.left.root,), self.right.root, "", 0)[:_MOST_TOLD]

    def of_schemas(self, left: Sequence[Json], right: Json, at: str, depth: int) -> list[Missing]:
        """What is missing for the values that fit all of `left`."""
        if not isinstance(right, dict | bool) or right is True or right == {}:
            return []
        key = (tuple(map(id, left)), id(right))
        if key in self._taken:
            return []
        self._work += 1
        if depth > _DEEPEST or self._work > _MOST_WORK:
            return [Missing(at, "too-large", "a schema", "one that is too large", is_certain=False)]
        known = len(self._taken)
        self._taken[key] = None
        found: dict[Missing, None] = {}
        for form in forms_of(self.left, left):
            found.update(dict.fromkeys(self.of_form(form, right, at, depth)))
        if found:
            # This was taken as shown, and so was what was shown by it.
            while len(self._taken) > known:
                self._taken.popitem()
        return [*found]

    def of_form(self, form: Form, right: Json, at: str, depth: int) -> list[Missing]:
        """What is missing for the values of a form."""
        if right is False:
            return [Missing(at, "nothing-fits", _types(form), "nothing", is_certain=form.is_exact)]
        if not isinstance(right, dict) or not right:
            return []
        found: list[Missing] = []
        for part in self._together(right):
            found += self._of_part(form, part, at, depth + 1)
        for rule in self._rules.values():
            found += rule(self, form, right, at)
        if form.is_exact:
            return found
        return [replace(each, is_certain=False) for each in found]

    def _together(self, right: JsonObject) -> list[Json]:
        """The other schemas that hold where this one does; None for a lost one."""
        conjunction = right.get("allOf")
        return [*self.right.targets(right), *(conjunction if isinstance(conjunction, list) else ())]

    def _of_part(self, form: Form, part: Json, at: str, depth: int) -> list[Missing]:
        if part is None or depth > _DEEPEST:
            return [Missing(at, "lost-reference", "", "a lost reference", is_certain=False)]
        return self.of_form(form, part, at, depth)

    def inside(self, left: Sequence[Json], right: Json, at: str) -> list[Missing]:
        """What is missing one level deeper in the value."""
        return self.of_schemas(left, right, at, at.count("/"))

    def holds(self, form: Form, right: Json) -> bool:
        """Whether a form is proven to fit `right`."""
        return not self.of_form(form, right, "", 0)

    def never_meets(self, form: Form, right: Json) -> bool:
        """Whether it is plain that no value of a form fits `right`."""
        others = forms_of(self.right, (right,))
        return all(_are_apart(form, other) for other in others)

    def is_the_same(self, left: Json, right: Json) -> bool:
        """Whether both schemas are proven to admit the same values."""
        there = self.of_schemas((left,), right, "", 0)
        if there:
            return False
        back = Inclusion(self.right, self.left, self._rules)
        return not back.of_schemas((right,), left, "", 0)


def _are_apart(one: Form, other: Form) -> bool:
    """Whether no value fits both, seen from their types, values and properties."""
    if one.values is not None and other.values is not None:
        known = {value_key(value) for value in other.values}
        return not any(value_key(value) in known for value in one.values)
    common = one.types & other.types
    if not common:
        return True
    if common != {"object"}:
        return False
    return any(_property_is_apart(one, other, name) for name in {*one.required, *other.required})


def _property_is_apart(one: Form, other: Form, name: str) -> bool:
    """Whether a property that one of both needs keeps them apart."""
    mine, theirs = one.of_property(name), other.of_property(name)
    if (name in one.required and False in theirs) or (name in other.required and False in mine):
        return True
    if name not in one.required or name not in other.required:
        return False
    here, there = _listed(mine), _listed(theirs)
    return here is not None and there is not None and here.isdisjoint(there)


def _listed(schemas: Sequence[Json]) -> set[bytes] | None:
    """The values that are listed by one of the schemas themselves."""
    for schema in schemas:
        if isinstance(schema, dict):
            listed = [schema["const"]] if "const" in schema else schema.get("enum")
            if isinstance(listed, list):
                return set(map(value_key, listed))
    return None


def _types(form: Form) -> str:
    return " or ".join(sorted(form.types))


def shown(value: Json) -> str:
    """A value as short JSON text."""
    text = dump_json(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def never(schemas: Sequence[Json]) -> bool:
    """Whether nothing fits all of these."""
    return False in schemas or tuple(schemas) == NEVER
