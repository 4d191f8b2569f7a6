"""What one value that its schema refuses may have been meant as: another type, another spelling.

Each reading keeps the value's meaning; where two readings are possible there is none. Values that
the schema admits never come here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_registry.repair.loose_json import read_loose_json
from toolcrib_registry.repair.near_names import folded, near_value, same_name
from toolcrib_registry.repair.schema_parts import type_of

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json
    from toolcrib_registry.repair.schema_parts import Place

_NUMBER: Final = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_GROUPED: Final = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_WITH_UNIT: Final = re.compile(r"([+-]?(?:0|[1-9]\d*)(?:\.\d+)?)\s*([^\W\d_]+|[%°])")
_WORDS: Final = re.compile(r"[^\W\d_]+|[%°]")
_MOST_DIGITS: Final = 17
"""A fraction of more digits is not what a double holds."""
_BOOLEANS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "false": False,
    "no": False,
    "off": False,
}
_NOTHING: Final = frozenset({"", "null", "none"})
_UNITS: Final = frozenset(
    {
        "mm", "cm", "m", "km", "mi", "mile", "miles", "ft", "feet", "inch", "inches", "yards",
        "mg", "g", "kg", "lb", "lbs", "oz", "ms", "s", "sec", "second", "seconds", "min",
        "minute", "minutes", "h", "hour", "hours", "day", "days", "week", "weeks", "month",
        "months", "year", "years", "usd", "eur", "gbp", "dollars", "euros", "c", "f", "k",
        "celsius", "fahrenheit", "kelvin", "b", "kb", "mb", "gb", "bytes", "%", "percent",
    }
)  # fmt: skip
"""Units that exclude each other where a description names two of them."""
_SEVERAL: Final = re.compile(r"[,;\n]")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a value was read as, in words, and whether nothing at all was guessed."""

    value: Json
    what: str
    is_certain: bool = True
    is_doubtful: bool = False
    """Whether somewhere in the world it would be read in another way."""


def readings(value: Json, name: str, place: Place) -> list[Reading]:
    """What `value` may have been meant as, best first; each still has to be checked.

    Args:
        value: what was given.
        name: of the property it stands in, or empty.
        place: what its schema says.
    """
    found: list[Reading | None] = []
    types = place.types
    if isinstance(value, str):
        found += [_listed_value(value, place), *_from_text(value, name, place)]
    elif isinstance(value, int | float) and not isinstance(value, bool) and "string" in types:
        found.append(Reading(_as_text(value), "the number as text"))
    if isinstance(value, list) and len(value) == 1 and "array" not in types:
        found.append(Reading(value[0], "the only item of the list", is_certain=False))
    if "array" in types and _is_one_item(value, name, place):
        found.append(Reading([value], "a list of this one item", is_certain=False))
    return [each for each in found if each is not None and _may_stand(each.value, place)]


def could_be(value: Json, name: str, place: Place) -> bool:
    """Whether `value` could stand at a place, as it is or as it may have been meant."""
    types = place.types
    return not types or type_of(value) in types or bool(readings(value, name, place))


def _may_stand(value: Json, place: Place) -> bool:
    types = place.types
    return not types or type_of(value) in types


def _as_text(value: float) -> str:
    return dump_json(value)


def _is_one_item(value: Json, name: str, place: Place) -> bool:
    """Whether `value` can be the one item of a list; a text that names several things is not."""
    if isinstance(value, list):
        return False
    if isinstance(value, str) and (
        _SEVERAL.search(value) is not None or value.strip()[:1] in {"[", "{", ""}
    ):
        return False
    return could_be(value, name, place.item(0))


def _listed_value(value: str, place: Place) -> Reading | None:
    """The listed value that is meant by `value`, which is not one itself."""
    texts = [each for each in place.values if isinstance(each, str)]
    same = same_name(value, texts)
    if same is not None:
        return Reading(same, f"{same!r}, which is spelt a little differently", is_certain=False)
    near = near_value(value, texts) if folded(value) else None
    if near is not None:
        return Reading(near, f"{near!r}, the only value that is spelt alike", is_certain=False)
    return None


def _from_text(text: str, name: str, place: Place) -> list[Reading | None]:
    types, plain = place.types, text.strip()
    found: list[Reading | None] = []
    if "array" in types or "object" in types:
        inner = read_loose_json(plain)
        found.append(None if inner is None else Reading(inner, "the JSON in the text"))
    if "integer" in types:
        found.append(_number(plain, name, place))
    if "boolean" in types and plain.casefold() in _BOOLEANS:
        value = _BOOLEANS[plain.casefold()]
        found.append(Reading(value, f"the boolean {dump_json(value)}"))
    if "null" in types and plain.casefold() in _NOTHING:
        found.append(Reading(None, "null"))
    return found


def _number(text: str, name: str, place: Place) -> Reading | None:
    if _NUMBER.fullmatch(text):
        return _as_number(text, place, "the number in the text")
    if _GROUPED.fullmatch(text):
        found = _as_number(text.replace(",", ""), place, "the number without commas")
        # Where a comma stands before fractions, "1,000" is another number.
        is_doubtful = text.count(",") == 1 and "." not in text and "number" in place.types
        return found and replace(found, is_certain=False, is_doubtful=is_doubtful)
    with_unit = _WITH_UNIT.fullmatch(text)
    if with_unit and _is_its_unit(with_unit[2], name, place):
        what = f"the number, whose unit {with_unit[2]!r} is the one that is asked for"
        return _as_number(with_unit[1], place, what, is_certain=False)
    return None


def _as_number(text: str, place: Place, what: str, *, is_certain: bool = True) -> Reading | None:
    if sum(map(str.isdigit, text)) > _MOST_DIGITS and not text.lstrip("+-").isdigit():
        return None
    try:
        number = parse_json(text.lstrip("+"))
    except ToolError:
        return None
    if isinstance(number, float) and number.is_integer() and "number" not in place.types:
        number = int(number)
    return Reading(number, f"{what}, {dump_json(number)}", is_certain)


def _is_its_unit(unit: str, name: str, place: Place) -> bool:
    """Whether the schema names this unit for the place, and no other one."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ")
    words = {word.casefold() for word in _WORDS.findall(f"{spaced} {place.texts}")}
    wanted = unit.casefold()
    return wanted in words and (words & _UNITS) <= {wanted}
