"""The root of a published schema: one object with all properties, and the rules of its branches as sentences.

Knows nothing of references and dialects: `publishing.py` has dealt with them before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import Json, JsonObject

_CHOICES: Final = {"anyOf": "at least one", "oneOf": "exactly one"}
_CONDITION: Final = ("if", "then", "else")
_MOST_TEXT: Final = 400


def merged_root(schema: JsonObject) -> tuple[JsonObject, list[str]]:
    """`schema` as a plain object, and what it cannot say any more, in sentences."""
    root = {**schema}
    notes: list[str] = []
    _merge_reference(root, notes)
    _merge_all_of(root, notes)
    for keyword, how_many in _CHOICES.items():
        _merge_choice(root, keyword, how_many, notes)
    _merge_condition(root, notes)
    _drop_told(root, notes)
    root["type"] = "object"
    if not isinstance(root.get("properties"), dict):
        root["properties"] = {}
    return _ordered(root), notes


def _ordered(root: JsonObject) -> JsonObject:
    """Type first, as people write it, unless the schema had its own place for it."""
    return root if next(iter(root)) != "properties" else {"type": "object", **root}


def _merge_reference(root: JsonObject, notes: list[str]) -> None:
    # Only a root that refers to itself, or to something with an `$id`, still has one here.
    if root.pop("$ref", None) is not None:
        notes.append("The arguments follow a schema that refers to itself.")


def _merge_all_of(root: JsonObject, notes: list[str]) -> None:
    for branch in _branches(root.pop("allOf", None)):
        inner, inner_notes = merged_root(branch)
        notes.extend(inner_notes)
        _add_properties(root, inner)
        required = [*_names(root.get("required")), *_names(inner.get("required"))]
        if required:
            root["required"] = [*dict.fromkeys(required)]
        for keyword, value in inner.items():
            if keyword not in {"type", "properties", "required"}:
                root.setdefault(keyword, value)


def _merge_choice(root: JsonObject, keyword: str, how_many: str, notes: list[str]) -> None:
    branches = _branches(root.pop(keyword, None))
    if not branches:
        return
    merged = [merged_root(branch)[0] for branch in branches]
    for inner in merged:
        _add_properties(root, inner)
    common = set(_names(merged[0].get("required"))).intersection(
        *(_names(inner.get("required")) for inner in merged)
    )
    required = [*_names(root.get("required")), *(n for n in _names(merged[0].get("required")) if n in common)]
    if required:
        root["required"] = [*dict.fromkeys(required)]
    forms = [_form(inner, common) for inner in merged]
    if any(forms):
        told = "; ".join(form or "any" for form in dict.fromkeys(forms))
        notes.append(f"Arguments must have {how_many} of these forms: {told}."[:_MOST_TEXT])


def _form(inner: JsonObject, common: set[str]) -> str:
    """What marks a form: the names it needs beyond the common ones, and its constants."""
    properties = inner.get("properties")
    constants = [
        f"{name} is {dump_json(part['const'])}"
        for name, part in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(part, dict) and "const" in part
    ]
    told = {text.split(" is ")[0] for text in constants}
    needed = [n for n in _names(inner.get("required")) if n not in common and n not in told]
    return " and ".join([*constants, *needed])


def _merge_condition(root: JsonObject, notes: list[str]) -> None:
    condition, then, otherwise = (root.pop(keyword, None) for keyword in _CONDITION)
    for branch in (condition, then, otherwise):
        if isinstance(branch, dict):
            _add_properties(root, merged_root(branch)[0])
    if isinstance(condition, dict) and (isinstance(then, dict) or isinstance(otherwise, dict)):
        notes.append(_told_condition(condition, then, otherwise))


def _told_condition(condition: JsonObject, then: Json, otherwise: Json) -> str:
    premise = _form(condition, set()) or "one condition holds"
    parts = []
    for word, branch in (("needed", then), ("otherwise needed", otherwise)):
        names = _names(branch.get("required")) if isinstance(branch, dict) else []
        if names:
            parts.append(f"{word}: {', '.join(names)}")
    return f"If {premise}, other rules apply{' (' + '; '.join(parts) + ')' if parts else ''}."[:_MOST_TEXT]


def _drop_told(root: JsonObject, notes: list[str]) -> None:
    refused = root.pop("not", None)
    if isinstance(refused, dict):
        names = _names(refused.get("required"))
        told = f"Do not give {' and '.join(names)} together." if names else "Some combinations are refused."
        notes.append(told[:_MOST_TEXT])
    for keyword in ("enum", "const"):
        if keyword in root:
            notes.append(f"The arguments as a whole must be one of {dump_json(root.pop(keyword))}."[:_MOST_TEXT])


def _add_properties(root: JsonObject, inner: JsonObject) -> None:
    added = inner.get("properties")
    if not isinstance(added, dict) or not added:
        return
    known = root.get("properties")
    properties: JsonObject = {**known} if isinstance(known, dict) else {}
    for name, part in added.items():
        properties[name] = part if name not in properties else _either(properties[name], part)
    root["properties"] = properties


def _either(one: Json, other: Json) -> Json:
    """A schema for a name that two branches describe: what says more wins, two that differ are a choice."""
    if one == other or other is True or other == {}:
        return one
    if one is True or one == {}:
        return other
    known = one.get("anyOf") if isinstance(one, dict) and set(one) == {"anyOf"} else None
    choices = known if isinstance(known, list) else [one]
    return {"anyOf": choices if other in choices else [*choices, other]}


def _branches(value: Json) -> list[JsonObject]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _names(value: Json) -> Sequence[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
