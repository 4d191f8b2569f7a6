"""Rules of inclusion for choices, negations, conditions and keywords that are kept; see `rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.compatibility.forms import (
    value_key,
)
from toolcrib_protocol.compatibility.inclusion import Inclusion, Missing, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.compatibility.forms import Form
    from toolcrib_protocol.json_value import Json, JsonObject


def choice(asked: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`anyOf`: each piece of the form needs an option that takes it."""
    options = right.get("anyOf")
    if isinstance(options, list):
        yield from _choice_missing(asked, form, options, (at, "choice"))


def _choice_missing(
    asked: Inclusion, form: Form, options: list[Json], place: tuple[str, str]
) -> Iterator[Missing]:
    if any(asked.holds(form, option) for option in options):
        return
    for piece in form.pieces():
        if any(asked.holds(piece, option) for option in options):
            continue
        certain = all(asked.never_meets(piece, option) for option in options)
        only = piece.only_type if not piece.only_value else shown(piece.only_value[0])
        yield Missing(*place, f"{only}", "none of the forms", is_certain=certain)


def exclusive_choice(asked: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`oneOf`: exactly one option may take a value."""
    options = right.get("oneOf")
    if not isinstance(options, list) or _has_the_same_options(asked, form, options):
        return
    for piece in form.pieces():
        takers = [option for option in options if asked.holds(piece, option)]
        if not takers:
            yield from _choice_missing(asked, piece, options, (at, "exclusive-choice"))
            continue
        others = [option for option in options if option is not takers[0]]
        if not all(asked.never_meets(piece, option) for option in others):
            told = "one form"
            yield Missing(at, "exclusive-choice", told, "two forms at once", is_certain=False)


def _has_the_same_options(asked: Inclusion, form: Form, options: list[Json]) -> bool:
    return any(
        isinstance(held, list)
        and len(held) == len(options)
        and all(map(asked.is_the_same, held, options))
        for held in form.held("oneOf")
    )


def negation(asked: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`not`."""
    if "not" not in right:
        return
    refused = right["not"]
    if asked.never_meets(form, refused):
        return
    if any(asked.is_the_same(held, refused) for held in form.held("not")):
        return
    yield Missing(at, "not", "other exceptions", "what is refused", is_certain=False)


def condition(asked: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """`if`, `then`, `else`: both branches are met, or the same condition leads to the same."""
    if "if" not in right:
        return
    branches = [right.get("then", True), right.get("else", True)]
    if all(asked.holds(form, branch) for branch in branches):
        return
    if not any(_leads_to(asked, part, right["if"], branches) for part in form.parts):
        yield Missing(at, "condition", "other conditions", "a condition", is_certain=False)


def _leads_to(asked: Inclusion, part: JsonObject, wanted: Json, branches: list[Json]) -> bool:
    """Whether a part has the same condition, and what it leads to fits the branches."""
    if "if" not in part or not asked.is_the_same(part["if"], wanted):
        return False
    mine = [part.get("then", True), part.get("else", True)]
    return not any(asked.of_schemas((a,), b, "", 0) for a, b in zip(mine, branches, strict=True))


def kept_keyword(_: Inclusion, form: Form, right: JsonObject, at: str) -> Iterator[Missing]:
    """Keywords that are met only where the left schema says the very same."""
    for keyword, type_name in _KEPT.items():
        if keyword not in right or type_name not in form.types:
            continue
        if keyword in _HARMLESS and right[keyword] == _HARMLESS[keyword]:
            continue
        if not any(_says_the_same(part, right, keyword) for part in form.parts):
            certain = False
            yield Missing(at, "kept-keyword", f"another {keyword}", keyword, is_certain=certain)


_KEPT: Final = {
    "contains": "array",
    "unevaluatedItems": "array",
    "patternProperties": "object",
    "propertyNames": "object",
    "dependentRequired": "object",
    "dependentSchemas": "object",
    "unevaluatedProperties": "object",
}


_BESIDE: Final = {
    "contains": ("minContains", "maxContains"),
    "unevaluatedItems": ("prefixItems", "items", "allOf", "anyOf", "oneOf", "if", "$ref"),
    "unevaluatedProperties": ("properties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref"),
    "patternProperties": (),
}
"""What the meaning of a keyword depends on, in the same node."""


_HARMLESS: Final[dict[str, Json]] = {
    "unevaluatedItems": True,
    "unevaluatedProperties": True,
    "propertyNames": True,
    "dependentRequired": {},
    "dependentSchemas": {},
    "patternProperties": {},
}


def _says_the_same(part: JsonObject, right: JsonObject, keyword: str) -> bool:
    """Whether a part has the keyword with the same meaning, references followed by text only."""
    if keyword not in part:
        return False
    beside = (keyword, *_BESIDE.get(keyword, ()))
    mine = {key: part[key] for key in beside if key in part}
    theirs = {key: right[key] for key in beside if key in right}
    if _refers({**mine, **theirs}):
        return False
    return value_key(mine) == value_key(theirs)


def _refers(value: Json) -> bool:
    if isinstance(value, dict):
        return "$ref" in value or "$dynamicRef" in value or any(map(_refers, value.values()))
    return isinstance(value, list) and any(map(_refers, value))
