"""Rules of inclusion for what is inside of objects and lists; see `rules`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from toolcrib_protocol.compatibility.inclusion import Inclusion, Missing, never
from toolcrib_protocol.json_pointer import below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.compatibility.forms import Form
    from toolcrib_protocol.json_value import JsonObject


def required(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`required`."""
    wanted = right.get("required")
    if not isinstance(wanted, list) or "object" not in form.types:
        return
    for name in wanted:
        if name not in form.required:
            yield Missing(below(at, str(name)), "required", "optional", "required")


def properties(asked: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """The values of described properties."""
    described = right.get("properties")
    if not isinstance(described, dict) or "object" not in form.types:
        return
    for name, schema in described.items():
        here = below(at, name)
        if name not in form.named and form.says_nothing_of_the_rest:
            # Nobody sends what is not described; that it came or went is told by `described`.
            continue
        if not never(form.of_property(name)):
            yield from asked.inside(form.of_property(name), schema, here)


def additional(asked: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """The values of properties that the right schema does not describe."""
    rest = right.get("additionalProperties", True)
    if rest is True or rest == {} or "object" not in form.types:
        return
    described = right.get("properties")
    known = described if isinstance(described, dict) else {}
    has_patterns = "patternProperties" in right
    for name in form.named:
        if name not in known and not never(form.of_property(name)):
            found = asked.inside(form.of_property(name), rest, below(at, name))
            yield from (_doubted(each) if has_patterns else each for each in found)
    if never(form.rest):
        return
    found = asked.inside(form.rest, rest, f"{at}/*")
    if found:
        told = "other names" if form.says_nothing_of_the_rest else "other names, said so"
        narrowed = "no other names" if rest is False else "other names of another form"
        yield Missing(f"{at}/*", "additional", told, narrowed, is_certain=not has_patterns)


def _doubted(missing: Missing) -> Missing:
    return Missing(missing.pointer, missing.rule, missing.left, missing.right, is_certain=False)


def items(asked: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """The items of lists."""
    if "array" not in form.types:
        return
    leading = right.get("prefixItems")
    first = leading if isinstance(leading, list) else []
    most = int(min([*form.numbers("maxItems"), Fraction(1_000)]))
    both = max(len(first), form.leading)
    for position in range(min(both, most)):
        wanted = first[position] if position < len(first) else right.get("items", True)
        yield from asked.inside(form.item(position), wanted, f"{at}/{position}")
    if most > both:
        rest = right.get("items", True)
        yield from asked.inside(form.item(both), rest, f"{at}/*")


def unique(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`uniqueItems`."""
    if right.get("uniqueItems") is not True or "array" not in form.types:
        return
    is_short = any(number <= 1 for number in form.numbers("maxItems"))
    if True not in form.held("uniqueItems") and not is_short:
        yield Missing(at, "unique", "items may be the same", "items differ")
