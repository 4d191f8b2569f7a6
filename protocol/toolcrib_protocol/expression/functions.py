"""The functions of the language: a fixed list, each from JSON values to a JSON value.

`default` and `exists` look at their first argument only after it was tried, so the walker does them
itself; here is only that they exist.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.expression.access import value_at
from toolcrib_protocol.expression.arithmetic import combined, finite
from toolcrib_protocol.expression.comparison import comes_before, identity, is_number
from toolcrib_protocol.expression.conversion import as_float, as_integer, as_json_text, as_text
from toolcrib_protocol.expression.faults import cut, fault, kind_of
from toolcrib_protocol.names import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from toolcrib_protocol.expression.limits import Meter
    from toolcrib_protocol.json_value import Json

DEFAULT: Final = "default"
EXISTS: Final = "exists"
_MOST_DIGITS: Final = 400
_METHODS: Final = {
    "get": "default(a.b, null)",
    "items": "keys(a) and a[key]",
    "map": "a comprehension: [x.id for x in list]",
    "filter": "a comprehension: [x for x in list if x.price > 3]",
    "find": "[x for x in list if x.id == 3][0]",
    "includes": "x in list",
    "startswith": "a[:3] == 'abc'",
    "endswith": "a[-3:] == 'abc'",
    "toUpperCase": "upper(a)",
    "toLowerCase": "lower(a)",
}


@dataclass(frozen=True, slots=True)
class Function:
    """A function: how many arguments it takes, how it is written, and what it does.

    `run` is None where the walker does it, because not all arguments are evaluated.
    """

    least: int
    most: int
    usage: str
    run: Callable[[list[Json], Meter], Json] | None = None


def check_call(node: ast.Call) -> None:
    """Refuse a call of anything but a function of the list, with as many arguments as it takes.

    Raises:
        ToolError: `invalid_expression`, with the form that works.
    """
    if isinstance(node.func, ast.Attribute):
        raise fault(_method(node.func))
    if not isinstance(node.func, ast.Name):
        raise fault("only functions can be called")
    function = FUNCTIONS.get(node.func.id)
    if function is None:
        close = nearest(node.func.id, FUNCTIONS, limit=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(FUNCTIONS)}"
        raise fault(f"no function {cut(node.func.id)!r}; {hint}")
    if not function.least <= len(node.args) <= function.most:
        raise fault(f"{len(node.args)} arguments do not fit {function.usage}")


def _method(node: ast.Attribute) -> str:
    if node.attr in FUNCTIONS:
        return f"values have no methods; write {FUNCTIONS[node.attr].usage}"
    if node.attr in _METHODS:
        return f"values have no methods; instead of .{node.attr}() write {_METHODS[node.attr]}"
    return f"values have no methods such as .{cut(node.attr)}(); functions: {', '.join(FUNCTIONS)}"


def is_true(value: Json, where: str) -> bool:
    """`value`, which has to be a boolean: nothing counts as true or false by its look.

    Raises:
        ToolError: `invalid_expression`.
    """
    if isinstance(value, bool):
        return value
    raise fault(f"{where} needs true or false, not {kind_of(value)}; compare, as in x != null")


def _list(value: Json, name: str) -> list[Json]:
    if not isinstance(value, list):
        raise fault(f"{name}() needs a list, not {kind_of(value)}")
    return value


def _text(value: Json, name: str) -> str:
    if not isinstance(value, str):
        raise fault(f"{name}() needs a text, not {kind_of(value)}")
    return value


def _length(given: list[Json], _meter: Meter) -> Json:
    if isinstance(given[0], str | list | dict):
        return len(given[0])
    raise fault(f"len() needs a text, a list or an object, not {kind_of(given[0])}")


def _sum(given: list[Json], meter: Meter) -> Json:
    total: Json = 0
    for item in _list(given[0], "sum"):
        meter.spend()
        total = combined(ast.Add, total, item, meter)
    return total


def _candidates(given: list[Json], name: str) -> list[Json]:
    items = _list(given[0], name) if len(given) == 1 else given
    if not items:
        raise fault(
            f"{name}() of an empty list; write {name}(a + [0]), or ask for len(a) > 0 first"
        )
    return items


def _min(given: list[Json], meter: Meter) -> Json:
    items = _candidates(given, "min")
    least = _comparable(items[0])
    for item in items[1:]:
        meter.spend()
        least = item if comes_before(item, least) else least
    return least


def _max(given: list[Json], meter: Meter) -> Json:
    items = _candidates(given, "max")
    most = _comparable(items[0])
    for item in items[1:]:
        meter.spend()
        most = item if comes_before(most, item) else most
    return most


def _comparable(value: Json) -> Json:
    comes_before(value, value)
    return value


def _sorted(given: list[Json], meter: Meter) -> Json:
    items = _list(given[0], "sorted")
    key = given[1] if len(given) > 1 else None
    meter.spend(len(items))

    def order(left: tuple[Json, Json], right: tuple[Json, Json]) -> int:
        meter.spend()
        if comes_before(left[0], right[0]):
            return -1
        return int(comes_before(right[0], left[0]))

    if key is None:
        pairs = [(item, item) for item in items]
    else:
        pairs = [(value_at(item, _text(key, "sorted"), "an item"), item) for item in items]
    if len(pairs) == 1:
        _comparable(pairs[0][0])
    return [item for _, item in sorted(pairs, key=cmp_to_key(order))]


def _round(given: list[Json], _meter: Meter) -> Json:
    value, digits = given[0], given[1] if len(given) > 1 else None
    if not is_number(value):
        raise fault(f"round() needs a number, not {kind_of(value)}")
    if digits is None:
        return finite(round(value))
    if not isinstance(digits, int) or isinstance(digits, bool) or abs(digits) > _MOST_DIGITS:
        raise fault(f"the digits of round() are an integer up to {_MOST_DIGITS}")
    try:
        return finite(round(finite(value), digits))
    except OverflowError:
        raise fault("the result is too large for a number") from None


def _abs(given: list[Json], _meter: Meter) -> Json:
    value = given[0]
    if is_number(value):
        return abs(value)
    raise fault(f"abs() needs a number, not {kind_of(value)}")


def _bool(given: list[Json], _meter: Meter) -> Json:
    return bool(given[0])


def _lower(given: list[Json], meter: Meter) -> Json:
    return meter.text(meter.scan(_text(given[0], "lower")).lower())


def _upper(given: list[Json], meter: Meter) -> Json:
    return meter.text(meter.scan(_text(given[0], "upper")).upper())


def _split(given: list[Json], meter: Meter) -> Json:
    text = meter.scan(_text(given[0], "split"))
    separator = _text(given[1], "split") if len(given) > 1 else None
    if separator == "":
        raise fault("the separator of split() is not empty")
    pieces: list[Json] = [*text.split(separator)]
    meter.spend(len(pieces))
    return pieces


def _join(given: list[Json], meter: Meter) -> Json:
    separator = _text(given[1], "join") if len(given) > 1 else ""
    pieces: list[str] = []
    length = 0
    for item in _list(given[0], "join"):
        meter.spend()
        pieces.append(as_text(item, meter))
        length += len(pieces[-1]) + len(separator)
        if length > meter.limits.size + len(separator):
            break
    return meter.text(separator.join(pieces))


def _keys(given: list[Json], meter: Meter) -> Json:
    if not isinstance(given[0], dict):
        raise fault(f"keys() needs an object, not {kind_of(given[0])}")
    meter.copied(len(given[0]))
    return [*given[0]]


def _values(given: list[Json], meter: Meter) -> Json:
    if not isinstance(given[0], dict):
        raise fault(f"values() needs an object, not {kind_of(given[0])}")
    meter.copied(len(given[0]))
    return [*given[0].values()]


def _unique(given: list[Json], meter: Meter) -> Json:
    first_seen: dict[Hashable, Json] = {}
    for item in _list(given[0], "unique"):
        first_seen.setdefault(identity(item, meter), item)
    return [*first_seen.values()]


def _any(given: list[Json], meter: Meter) -> Json:
    items = _list(given[0], "any")
    meter.spend(len(items))
    return True in [is_true(item, "any()") for item in items]


def _all(given: list[Json], meter: Meter) -> Json:
    items = _list(given[0], "all")
    meter.spend(len(items))
    return False not in [is_true(item, "all()") for item in items]


def _int(given: list[Json], _meter: Meter) -> Json:
    return as_integer(given[0])


def _float(given: list[Json], _meter: Meter) -> Json:
    return as_float(given[0])


def _str(given: list[Json], meter: Meter) -> Json:
    return as_text(given[0], meter)


def _json(given: list[Json], meter: Meter) -> Json:
    return as_json_text(given[0], meter)


FUNCTIONS: Final = {
    "len": Function(1, 1, "len(list)", _length),
    "sum": Function(1, 1, "sum(list)", _sum),
    "min": Function(1, 64, "min(list) or min(a, b)", _min),
    "max": Function(1, 64, "max(list) or max(a, b)", _max),
    "sorted": Function(1, 2, "sorted(list) or sorted(list, 'key')", _sorted),
    "round": Function(1, 2, "round(number, digits)", _round),
    "abs": Function(1, 1, "abs(number)", _abs),
    "int": Function(1, 1, "int(value)", _int),
    "float": Function(1, 1, "float(value)", _float),
    "str": Function(1, 1, "str(value)", _str),
    "bool": Function(1, 1, "bool(value)", _bool),
    "json": Function(1, 1, "json(value)", _json),
    "lower": Function(1, 1, "lower(text)", _lower),
    "upper": Function(1, 1, "upper(text)", _upper),
    "split": Function(1, 2, "split(text, separator)", _split),
    "join": Function(1, 2, "join(list, separator)", _join),
    "keys": Function(1, 1, "keys(object)", _keys),
    "values": Function(1, 1, "values(object)", _values),
    "unique": Function(1, 1, "unique(list)", _unique),
    DEFAULT: Function(2, 2, "default(value, otherwise)"),
    EXISTS: Function(1, 1, "exists(value)"),
    "any": Function(1, 1, "any(list)", _any),
    "all": Function(1, 1, "all(list)", _all),
}
"""All functions by name."""
