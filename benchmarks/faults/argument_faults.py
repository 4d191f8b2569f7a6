"""The ways in which models get arguments wrong: 24 kinds, each applied to right arguments.

These are faults of the caller, so they are applied in front of the gateway. A kind that finds
nothing to damage in the arguments at hand says so with None. Written without looking at any mender.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.faults.dice import Dice
    from benchmarks.faults.toolset import Json, Tool

    Damage = Callable[[Tool, Json, Dice], Any]

_SHORT: Final = 3
_SYNONYMS: Final = {
    "query": "search_words",
    "sku": "article",
    "order_id": "purchase",
    "body_text": "message",
    "recipients": "addressees",
    "people": "attendees",
    "weight_kg": "mass",
    "topic": "subject",
    "room_name": "location",
    "amount": "sum_paid",
    "first_day": "beginning",
    "hours": "duration",
}
_NOISE: Final = ("reasoning", "confidence", "thought", "explanation")


def _open(tool: Tool, given: Json, *types: str, enum: bool = False) -> list[str]:
    """Names of given arguments of those types; the key and the case stay whole."""
    spared = {"case", tool.key_place[1]}
    return [
        name
        for name, schema in tool.properties.items()
        if name in given
        and name not in spared
        and schema["type"] in types
        and ("enum" in schema) is enum
    ]


def _changed(
    tool: Tool, given: Json, dice: Dice, types: tuple[str, ...], change: Callable[[Any], Any]
) -> Json | None:
    names = [n for n in _open(tool, given, *types) if change(given[n]) is not None]
    if not names:
        return None
    name = dice.pick(names)
    return {**given, name: change(given[name])}


def _number_as_string(tool: Tool, given: Json, dice: Dice) -> Json | None:
    return _changed(tool, given, dice, ("integer", "number"), str)


def _grouping_commas(tool: Tool, given: Json, dice: Dice) -> Json | None:
    def grouped(value: Any) -> str | None:
        return f"{value:,}" if value >= 1_000 else None

    return _changed(tool, given, dice, ("integer", "number"), grouped)


def _integer_as_decimal(tool: Tool, given: Json, dice: Dice) -> Json | None:
    return _changed(tool, given, dice, ("integer",), lambda value: f"{value}.0")


def _boolean_as_word(tool: Tool, given: Json, dice: Dice) -> Json | None:
    words = {True: ("yes", "true", "True"), False: ("no", "false", "False")}
    return _changed(tool, given, dice, ("boolean",), lambda value: words[value][dice.number(0, 2)])


def _number_for_string(tool: Tool, given: Json, dice: Dice) -> Json | None:
    """Only where the right value is a string of digits: see `digits_for_a_text`."""
    names = [name for name in _open(tool, given, "string") if given[name].isdigit()]
    if not names:
        return None
    name = dice.pick(names)
    return {**given, name: int(given[name])}


def _scalar_for_list(tool: Tool, given: Json, dice: Dice) -> Json | None:
    return _changed(tool, given, dice, ("array",), lambda v: v[0] if len(v) == 1 else None)


def _list_for_scalar(tool: Tool, given: Json, dice: Dice) -> Json | None:
    types = ("string", "integer", "number", "boolean")
    return _changed(tool, given, dice, types, lambda value: [value])


def _list_as_text(tool: Tool, given: Json, dice: Dice) -> Json | None:
    return _changed(tool, given, dice, ("array",), json.dumps)


def _object_as_text(tool: Tool, given: Json, dice: Dice) -> Json | None:
    return _changed(tool, given, dice, ("object",), json.dumps)


def _renamed(given: Json, name: str, new: str) -> Json | None:
    if new == name or new in given:
        return None
    return {new if key == name else key: value for key, value in given.items()}


def _case_style(tool: Tool, given: Json, dice: Dice) -> Json | None:
    names = [n for n in tool.properties if "_" in n and n in given and n != tool.key_place[1]]
    if not names:
        return None
    name = dice.pick(names)
    words = name.split("_")
    camel = words[0] + "".join(word.title() for word in words[1:])
    styles = (camel, "".join(word.title() for word in words), name.upper(), name.replace("_", "-"))
    return _renamed(given, name, dice.pick(styles))


def _key_typo(tool: Tool, given: Json, dice: Dice) -> Json | None:
    return _misspelt(tool, given, dice, lambda name: len(name) > _SHORT)


def _short_key_typo(tool: Tool, given: Json, dice: Dice) -> Json | None:
    return _misspelt(tool, given, dice, lambda name: 1 < len(name) <= _SHORT)


def _misspelt(tool: Tool, given: Json, dice: Dice, fits: Callable[[str], bool]) -> Json | None:
    names = [n for n in tool.properties if n in given and n != tool.key_place[1] and fits(n)]
    if not names:
        return None
    name = dice.pick(names)
    return _renamed(given, name, _typo(name, dice))


def _typo(word: str, dice: Dice) -> str:
    """One letter lost, doubled, or two exchanged."""
    at = dice.number(0, len(word) - 2)
    kinds = (
        word[:at] + word[at + 1 :],
        word[: at + 1] + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    )
    return dice.pick(kinds)


def _noise_key(_tool: Tool, given: Json, dice: Dice) -> Json:
    return {**given, dice.pick(_NOISE): "the user seems to want this"}


def _enum_spelling(tool: Tool, given: Json, dice: Dice) -> Json | None:
    names = _open(tool, given, "string", enum=True)
    if not names:
        return None
    name = dice.pick(names)
    value: str = given[name]
    styles = (value.upper(), value.title(), value.replace("_", " ").title(), f" {value} ")
    return {**given, name: dice.pick([style for style in styles if style != value])}


def _enum_typo(tool: Tool, given: Json, dice: Dice) -> Json | None:
    names = [n for n in _open(tool, given, "string", enum=True) if len(given[n]) > _SHORT]
    if not names:
        return None
    name = dice.pick(names)
    wrong = _typo(given[name], dice)
    return None if wrong in tool.properties[name]["enum"] else {**given, name: wrong}


def _wrapped(tool: Tool, given: Json, dice: Dice) -> Json:
    return {dice.pick(("arguments", "params", "input")): given}


def _fenced(_tool: Tool, given: Json, dice: Dice) -> str:
    text = json.dumps(given, ensure_ascii=False, indent=dice.pick((None, 2)))
    return f"```{dice.pick(('json', ''))}\n{text}\n```"


def _broken_json(_tool: Tool, given: Json, dice: Dice) -> str:
    text = json.dumps(given, ensure_ascii=False)
    kinds = (text[:-1] + ",}", text[:-1], text.replace('"', "'"))
    return dice.pick(kinds)


def _null_for_optional(tool: Tool, given: Json, dice: Dice) -> Json | None:
    names = [n for n in tool.properties if n not in given and n not in tool.required]
    return {**given, dice.pick(names): None} if names else None


def _missing_with_default(tool: Tool, given: Json, dice: Dice) -> Json | None:
    """A required argument left out that has a default; the right value is just that."""
    names = [n for n in tool.required if given[n] == tool.properties[n].get("default", given)]
    return _without(given, dice.pick(names)) if names else None


def _missing_required(tool: Tool, given: Json, dice: Dice) -> Json | None:
    names = [name for name in tool.required if name != tool.key_place[1]]
    return _without(given, dice.pick(names))


def _without(given: Json, name: str) -> Json:
    return {key: value for key, value in given.items() if key != name}


def _unrelated_word(tool: Tool, given: Json, dice: Dice) -> Json | None:
    names = _open(tool, given, "string", enum=True)
    return {**given, dice.pick(names): dice.pick(("whatever", "zzz", "n/a"))} if names else None


def _synonym_key(tool: Tool, given: Json, dice: Dice) -> Json | None:
    names = [name for name in _SYNONYMS if name in tool.properties and name in given]
    if not names:
        return None
    name = dice.pick(names)
    return _renamed(given, name, _SYNONYMS[name])


def _number_with_unit(tool: Tool, given: Json, dice: Dice) -> Json | None:
    """With its own unit only `weight_kg` may be mended: nothing else says in what it counts."""
    names = _open(tool, given, "integer", "number")
    if not names:
        return None
    name = dice.pick(names)
    unit = "kg" if name == "weight_kg" else dice.pick(("kg", "EUR", "miles"))
    return {**given, name: f"{given[name]} {unit}"}


def digits_for_a_text(tool: Tool, given: Json, dice: Dice) -> Json | None:
    """The right arguments with digits as one of their texts, for `number where a string is wanted`.

    Such a value is 4711, not an address: only texts without a form of their own are taken.
    """
    names = [n for n in _open(tool, given, "string") if n != "first_day"]
    return {**given, dice.pick(names): str(dice.number(100, 99_999))} if names else None


REPAIRABLE: Final[dict[str, Damage]] = {
    "number as string": _number_as_string,
    "number with grouping commas": _grouping_commas,
    "integer as 3.0": _integer_as_decimal,
    "boolean as word": _boolean_as_word,
    "number where a string is wanted": _number_for_string,
    "scalar for list": _scalar_for_list,
    "one-item list for scalar": _list_for_scalar,
    "list as JSON text": _list_as_text,
    "object as JSON text": _object_as_text,
    "key in another case style": _case_style,
    "key typo": _key_typo,
    "short key typo": _short_key_typo,
    "extra noise key": _noise_key,
    "enum in another spelling": _enum_spelling,
    "enum typo": _enum_typo,
    "wrapped": _wrapped,
    "fenced JSON text": _fenced,
    "broken JSON text": _broken_json,
    "null for optional": _null_for_optional,
    "missing, has a default": _missing_with_default,
}
NOT_REPAIRABLE: Final[dict[str, Damage]] = {
    "missing required": _missing_required,
    "unrelated enum word": _unrelated_word,
    "synonym key": _synonym_key,
    "number with unit": _number_with_unit,
}
FIT_FOR_DESTRUCTIVE: Final = frozenset(
    {
        "number as string",
        "integer as 3.0",
        "boolean as word",
        "number where a string is wanted",
        "key in another case style",
        "wrapped",
        "fenced JSON text",
        "broken JSON text",
    }
)
"""What may be mended without asking where something could be destroyed."""


def kinds_that_fit(kinds: dict[str, Damage], tool: Tool) -> Iterator[str]:
    """The kinds that may be mended at this tool."""
    return (kind for kind in kinds if not tool.is_destructive or kind in FIT_FOR_DESTRUCTIVE)
