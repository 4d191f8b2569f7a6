"""Rules of inclusion for numbers and sizes; see `rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.compatibility.forms import (
    FRACTION,
    exact,
)
from toolcrib_protocol.compatibility.inclusion import Inclusion, Missing, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from toolcrib_protocol.compatibility.forms import Form
    from toolcrib_protocol.json_value import JsonObject

_NUMBERS: Final = frozenset({"integer", FRACTION})


_SAFEST_INTEGER: Final = 2**53 - 1


def lower_bound(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`minimum` and `exclusiveMinimum`."""
    mine = _bound(form, "minimum", "exclusiveMinimum", is_lower=True)
    yield from _bound_missing(form, right, at, mine, is_lower=True)


def upper_bound(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`maximum` and `exclusiveMaximum`."""
    mine = _bound(form, "maximum", "exclusiveMaximum", is_lower=False)
    yield from _bound_missing(form, right, at, mine, is_lower=False)


def _bound(
    form: Form, inclusive: str, exclusive: str, *, is_lower: bool
) -> tuple[Fraction, bool] | None:
    """The tightest bound of a form, and whether the bound itself is out."""
    found = [(number, False) for number in form.numbers(inclusive)]
    found += [(number, True) for number in form.numbers(exclusive)]
    if form.values is not None:
        numbers = [number for value in form.values if (number := exact(value)) is not None]
        found += [(min(numbers) if is_lower else max(numbers), False)] if numbers else []
    if not found:
        return None
    sign = 1 if is_lower else -1
    return max(found, key=lambda bound: (sign * bound[0], bound[1]))


def _bound_missing(
    form: Form,
    right: JsonObject,
    at: str,
    mine: tuple[Fraction, bool] | None,
    *,
    is_lower: bool,
) -> Iterator[Missing]:
    if not form.types & _NUMBERS:
        return
    names = ("minimum", "exclusiveMinimum") if is_lower else ("maximum", "exclusiveMaximum")
    sign = 1 if is_lower else -1
    for keyword, is_out in zip(names, (False, True), strict=True):
        wanted = exact(right.get(keyword))
        if wanted is None:
            continue
        if mine is not None:
            mine_sorted, wanted_sorted = sign * mine[0], sign * wanted
            if mine_sorted > wanted_sorted or (
                mine_sorted == wanted_sorted and (mine[1] or not is_out)
            ):
                continue
        rule = "lower-bound" if is_lower else "upper-bound"
        told = (
            "no bound" if mine is None else f"{'more than ' if mine[1] else ''}{float(mine[0]):g}"
        )
        yield Missing(
            at,
            rule,
            told,
            f"{keyword} {shown(right[keyword])}",
            only_edge_values=abs(wanted) >= _SAFEST_INTEGER,
        )


def multiple(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`multipleOf`."""
    wanted = exact(right.get("multipleOf"))
    if wanted is None or not form.types & _NUMBERS or wanted == 0:
        return
    mine = [number for number in form.numbers("multipleOf") if number != 0]
    if FRACTION not in form.types:
        mine.append(exact(1) or wanted)
    if any((number / wanted).denominator == 1 for number in mine):
        return
    listed = [exact(value) for value in form.values or ()]
    if listed and all(number is None or (number / wanted).denominator == 1 for number in listed):
        return
    told = f"multiples of {', '.join(str(float(number)) for number in mine)}" if mine else "any"
    yield Missing(at, "multiple", told, f"multiples of {shown(right['multipleOf'])}")


def length(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`minLength` and `maxLength`."""
    if "string" in form.types:
        lengths = [len(value) for value in form.values or () if isinstance(value, str)]
        yield from _size_missing(form, right, at, ("minLength", "maxLength", "length"), lengths)


def item_count(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`minItems` and `maxItems`."""
    if "array" in form.types:
        sizes = [len(value) for value in form.values or () if isinstance(value, list)]
        yield from _size_missing(form, right, at, ("minItems", "maxItems", "item-count"), sizes)


def property_count(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`minProperties` and `maxProperties`."""
    if "object" not in form.types:
        return
    sizes = [len(value) for value in form.values or () if isinstance(value, dict)]
    names = ("minProperties", "maxProperties", "property-count")
    for each in _size_missing(form, right, at, names, sizes):
        least = exact(right.get("minProperties"))
        is_met = least is not None and len(form.required) >= least
        if not (is_met and each.right.startswith("minProperties")):
            yield each


def _size_missing(
    form: Form, right: JsonObject, at: str, names: tuple[str, str, str], sizes: list[int]
) -> Iterator[Missing]:
    least_name, most_name, rule = names
    least, most = exact(right.get(least_name)), exact(right.get(most_name))
    mine_least = max([*form.numbers(least_name), *([exact(min(sizes)) or 0] if sizes else [0])])
    if least is not None and least > mine_least:
        yield Missing(
            at,
            rule,
            f"{least_name} {mine_least}",
            f"{least_name} {shown(right[least_name])}",
            only_edge_values=least == 1,
        )
    bounds = [*form.numbers(most_name), *([exact(max(sizes)) or 0] if sizes else [])]
    if most is not None and (not bounds or min(bounds) > most):
        told = f"{most_name} {min(bounds)}" if bounds else f"no {most_name}"
        yield Missing(at, rule, told, f"{most_name} {shown(right[most_name])}")
