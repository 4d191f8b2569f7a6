"""Valid arguments for a tool, drawn from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from benchmarks.faults.dice import Dice
    from benchmarks.faults.toolset import Json, Tool

_OFTEN: Final = 0.75
"""How often an optional argument is given."""
_WORDS: Final = ("spindle", "brass fitting", "left-hand thread", "M6 bolt", "Zürich", "歯車", "a,b")
_IDS: Final = ("BB-608", "PX-0042", "QR-77", "K-1009")
_DAYS: Final = ("2026-12-01", "2027-01-31", "2026-02-28")
_PEOPLE: Final = ("ana@example.org", "björn@example.org", "chen@example.org", "dee@example.org")


def gold_arguments(tool: Tool, case: str, dice: Dice) -> Json:
    """Arguments that the tool takes as they are."""
    key_name = tool.key_place[1]
    given: Json = {"case": case}
    for name, schema in tool.properties.items():
        if name == key_name:
            given[name] = f"key-{case}"
        elif name in tool.required or dice.chance(_OFTEN):
            given[name] = _value(name, schema, dice)
    return given


def _value(name: str, schema: Json, dice: Dice) -> Any:
    if "enum" in schema:
        return dice.pick(schema["enum"])
    return _MAKERS[schema["type"]](name, schema, dice)


def _text(name: str, _schema: Json, dice: Dice) -> str:
    if name in {"sku", "order_id"}:
        return dice.pick(_IDS)
    if name == "first_day":
        return dice.pick(_DAYS)
    return f"{dice.pick(_WORDS)} {dice.number(1, 99)}"


def _list(name: str, schema: Json, dice: Dice) -> list[Any]:
    if schema["items"]["type"] == "integer":
        return [dice.number(1, 40) for _ in range(dice.number(1, 3))]
    of = _PEOPLE if name in {"recipients", "people"} else _WORDS
    return dice.some(of, dice.number(1, 3))


def _object(_name: str, schema: Json, dice: Dice) -> Json:
    parts = schema["properties"].items()
    return {name: _value(name, part, dice) for name, part in parts if dice.chance(_OFTEN)}


_MAKERS: Final = {
    "string": _text,
    "integer": lambda _name, _schema, dice: dice.number(1, 12_000),
    "number": lambda _name, _schema, dice: dice.number(1, 900_000) / 100,
    "boolean": lambda _name, _schema, dice: dice.chance(0.5),
    "array": _list,
    "object": _object,
}
