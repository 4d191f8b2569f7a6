"""From one type of JSON value to another, where that is possible without guessing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import EXPRESSION_BUDGET, ToolError
from toolcrib_protocol.expression.arithmetic import checked_integer, finite
from toolcrib_protocol.expression.faults import cut, fault, kind_of

if TYPE_CHECKING:
    from toolcrib_protocol.expression.limits import Meter
    from toolcrib_protocol.json_value import Json

_INTEGER: Final = re.compile(r"\s*([+-]?\d{1,1000})\s*", re.ASCII)
_NUMBER: Final = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*", re.ASCII)
_LONGEST_NUMBER: Final = 1_100


def as_integer(value: Json) -> int:
    """`value` as an integer: a number without its fraction, or the number a text writes.

    Raises:
        ToolError: `invalid_expression`, `expression_budget`.
    """
    if isinstance(value, bool | int | float):
        return int(finite(value))
    found = _INTEGER.fullmatch(_short(value, "int"))
    if found is None:
        raise fault(f"int() cannot read {cut(repr(value))}")
    return int(found[1])


def as_float(value: Json) -> float:
    """`value` as a floating-point number.

    Raises:
        ToolError: `invalid_expression`.
    """
    try:
        if isinstance(value, bool | int | float):
            return float(finite(value))
        found = _NUMBER.fullmatch(_short(value, "float"))
        if found is None:
            raise fault(f"float() cannot read {cut(repr(value))}")
        return float(finite(float(found[1])))
    except OverflowError:
        raise fault("the integer is too large for float()") from None


def _short(value: Json, name: str) -> str:
    if not isinstance(value, str):
        raise fault(f"{name}() needs a number or a text, not {kind_of(value)}")
    if len(value) > _LONGEST_NUMBER:
        raise fault(f"{name}() cannot read a text of {len(value):,} characters")
    return value


def as_text(value: Json, meter: Meter) -> str:
    """`value` inside a text: texts as they are, numbers and booleans as JSON writes them.

    Raises:
        ToolError: `invalid_expression` for null, lists and objects; `expression_budget`.
    """
    if isinstance(value, str):
        return meter.text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json.dumps(checked_integer(value))
    if value is None:
        raise fault("null has no text; write default(value, '')")
    raise fault(f"{kind_of(value)} has no text; write json(value), or join(list, ', ')")


def as_json_text(value: Json, meter: Meter) -> str:
    """`value` as JSON text.

    Raises:
        ToolError: `expression_budget`.
    """
    meter.result(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise ToolError(EXPRESSION_BUDGET, f"json() cannot write the value: {error}") from error
    return meter.text(text)
