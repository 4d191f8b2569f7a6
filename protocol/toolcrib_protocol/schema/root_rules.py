"""The root of a published schema: one object, and the rules of its branches as sentences.

Knows nothing of references and dialects: `publishing.py` has dealt with them before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolcrib_protocol.json_value import Json, JsonObject

_CHOICES: Final = {"anyOf": "at least one", "oneOf": "exactly one"}
_CONDITION: Final = ("if", "then", "else")
_MOST_TEXT: Final = 400


def merged_root(schema: JsonObject) -> tuple[JsonObject, list[str]]:
    """`schema` as a plain object, and what it cannot say any more, in sentences."""
    root = {**schema}
    notes: list[str] = []
    _merge_all_of(root, notes)
    for keyword, how_many in _CHOICES.items():
        _merge_choice(root, keyword, how_many, notes)
    _merge_condition(root, notes)
    _drop_told(root, notes)
    root["type"] = "object"
    # Model APIs refuse a required name that is not described.
    undescribed: JsonObject = {name: {} for name in _names(root.get("required"))}
    described = _properties(root)
    root["properties"] = {
        **described,
        **{n: p for n, p in undescribed.items() if n not in described},
    }
    return _ordered(root), notes


def _ordered(root: JsonObject) -> JsonObject:
    """Type first, as people write it, unless the schema had its own place for it."""
    return root if next(iter(root)) != "properties" else {"type": "object", **root}


def _merge_all_of(root: JsonObject, notes: list[str]) -> None:
    for branch in _branches(root.pop("allOf", None)):
        inner, inner_notes = merged_root(branch)
        notes.extend(inner_notes)
        _add_properties(root, _properties(inner), _both)
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
    choices: JsonObject = {}
    for inner in merged:
        for name, part in _properties(inner).items():
            choices[name] = _either(choices[name], part) if name in choices else part
    _add_properties(root, choices, _first)
    common = set(_names(merged[0].get("required"))).intersection(
        *(_names(inner.get("required")) for inner in merged)
    )
    shared = [name for name in _names(merged[0].get("required")) if name in common]
    required = [*_names(root.get("required")), *shared]
    if required:
        root["required"] = [*dict.fromkeys(required)]
    forms = [_form(inner, {*required}) for inner in merged]
    if any(forms):
        told = "; ".join(form or "any" for form in dict.fromkeys(forms))
        notes.append(_cut(f"Arguments must have {how_many} of these forms: {told}."))


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
            _add_properties(root, _properties(merged_root(branch)[0]), _first)
    if isinstance(condition, dict) and (isinstance(then, dict) or isinstance(otherwise, dict)):
        notes.append(_told_condition(condition, then, otherwise))


def _told_condition(condition: JsonObject, then: Json, otherwise: Json) -> str:
    premise = _form(condition, set()) or "one condition holds"
    parts = []
    for word, branch in (("needed", then), ("otherwise needed", otherwise)):
        names = _names(branch.get("required")) if isinstance(branch, dict) else []
        if names:
            parts.append(f"{word}: {', '.join(names)}")
    rules = f" ({'; '.join(parts)})" if parts else ""
    return _cut(f"If {premise}, other rules apply{rules}.")


def _drop_told(root: JsonObject, notes: list[str]) -> None:
    refused = root.pop("not", None)
    if isinstance(refused, dict):
        names = _names(refused.get("required"))
        told = "Some combinations are refused."
        if names:
            together = " together" if len(names) > 1 else ""
            told = f"Do not give {' and '.join(names)}{together}."
        notes.append(_cut(told))
    for keyword in ("enum", "const"):
        if keyword in root:
            allowed = dump_json(root.pop(keyword))
            notes.append(_cut(f"The arguments as a whole must be one of {allowed}."))


def _add_properties(
    root: JsonObject, added: JsonObject, joined: Callable[[Json, Json], Json]
) -> None:
    if added:
        properties = {**_properties(root)}
        for name, part in added.items():
            properties[name] = joined(properties[name], part) if name in properties else part
        root["properties"] = properties


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _first(one: Json, other: Json) -> Json:
    """What the root says of a name; a branch only narrows it, and the note tells how."""
    return other if _says_nothing(one) else one


def _both(one: Json, other: Json) -> Json:
    """A schema for a name that must fit two descriptions."""
    if one == other or _says_nothing(other):
        return one
    return other if _says_nothing(one) else {"allOf": [one, other]}


def _either(one: Json, other: Json) -> Json:
    """A schema for a name that two forms describe: two that differ are a choice."""
    if one == other or _says_nothing(other):
        return one
    if _says_nothing(one):
        return other
    values = [*_fixed_values(one), *_fixed_values(other)]
    if _fixed_values(one) and _fixed_values(other):
        return {"enum": [value for i, value in enumerate(values) if value not in values[:i]]}
    known = one.get("anyOf") if isinstance(one, dict) and set(one) == {"anyOf"} else None
    choices = known if isinstance(known, list) else [one]
    return {"anyOf": choices if other in choices else [*choices, other]}


def _says_nothing(schema: Json) -> bool:
    return schema is True or schema == {}


def _fixed_values(schema: Json) -> list[Json]:
    """The values a schema lists, if listing them is all it does."""
    if not isinstance(schema, dict) or not set(schema) <= {"const", "enum", "type"}:
        return []
    listed = schema.get("enum")
    if isinstance(listed, list):
        return listed
    return [schema["const"]] if "const" in schema else []


def _branches(value: Json) -> list[JsonObject]:
    listed = value if isinstance(value, list) else []
    return [
        {} if part is True else part for part in listed if part is True or isinstance(part, dict)
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"


def _names(value: Json) -> Sequence[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
