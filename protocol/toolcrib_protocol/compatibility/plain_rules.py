"""Rules of inclusion for types, listed values and texts; see `rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.compatibility.forms import (
    ALL_TYPES,
    FRACTION,
    type_of_value,
    types_of,
    value_key,
)
from toolcrib_protocol.compatibility.inclusion import Inclusion, Missing, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.compatibility.forms import Form
    from toolcrib_protocol.json_value import Json, JsonObject

_NUMBERS: Final = frozenset({"integer", FRACTION})


def _words(types: frozenset[str]) -> str:
    if types >= ALL_TYPES:
        return "any type"
    named = set(types)
    if named >= _NUMBERS:
        named = named - _NUMBERS | {"number"}
    return " or ".join(sorted(named)) or "nothing"


def type_(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """The types."""
    admitted = types_of(right)
    if not form.types <= admitted:
        yield Missing(at, "type", _words(form.types), _words(admitted))


def values(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """Listed values: `enum` and `const`."""
    for listed in ([right["const"]] if "const" in right else None, right.get("enum")):
        if not isinstance(listed, list):
            continue
        admitted = {value_key(value) for value in listed}
        mine = _all_values(form)
        if mine is None:
            yield Missing(at, "values", _words(form.types), f"one of {shown(listed)}")
            continue
        lost = [value for value in mine if value_key(value) not in admitted]
        if lost:
            # A value that is listed may be refused by another keyword of its own schema.
            told = f"one of {shown([*mine])}"
            yield Missing(at, "values", told, f"one of {shown(listed)}", _is_bare(form))


def _all_values(form: Form) -> tuple[Json, ...] | None:
    if form.values is not None:
        return form.values
    if form.types <= {"boolean", "null"}:
        return tuple(value for value in (True, False, None) if type_of_value(value) in form.types)
    return None


def _is_bare(form: Form) -> bool:
    """Whether listed values are refused by no other keyword."""
    plain = {"enum", "const", "type", "title", "description", "default", "examples", "deprecated"}
    return all(part.keys() <= plain for part in form.parts)


def pattern(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`pattern`: only the same one is known to be met."""
    yield from _same_word(form, right, at, "pattern", "string")


def format_(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`format`: who asserts it refuses what has another form."""
    yield from _same_word(form, right, at, "format", "string")


def _same_word(
    form: Form, right: JsonObject, at: str, keyword: str, type_name: str
) -> Iterator[Missing]:
    wanted = right.get(keyword)
    if not isinstance(wanted, str) or type_name not in form.types:
        return
    mine = form.held(keyword)
    if wanted in mine:
        return
    told = f"{keyword} {shown(mine[0])}" if mine else f"no {keyword}"
    # Another pattern may admit the same texts, and listed values may all match.
    certain = not mine and form.values is None
    yield Missing(at, keyword, told, f"{keyword} {shown(wanted)}", is_certain=certain)
