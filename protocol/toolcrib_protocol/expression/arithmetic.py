"""Arithmetic on JSON numbers, and joining texts and lists with `+`.

Integers stay exact at any length up to a bound; a result that JSON cannot write (infinite, not a
number) is a fault, never a value.
"""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import EXPRESSION_BUDGET, ToolError
from toolcrib_protocol.expression.comparison import is_number
from toolcrib_protocol.expression.faults import fault, kind_of
from toolcrib_protocol.expression.limits import MOST_BITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.expression.comparison import Number
    from toolcrib_protocol.expression.limits import Meter
    from toolcrib_protocol.json_value import Json

_OPERATIONS: Final[dict[type[ast.operator], tuple[str, Callable[[Number, Number], Number]]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
}


def combined(kind: type[ast.operator], left: Json, right: Json, meter: Meter) -> Json:
    """What an operator makes of two values.

    Raises:
        ToolError: `invalid_expression` for types that do not go together, a division by zero or
            a result that is not a JSON number; `expression_budget`.
    """
    sign, operation = _OPERATIONS[kind]
    if is_number(left) and is_number(right):
        return _calculated(operation, left, right)
    if kind is ast.Add:
        if isinstance(left, str) and isinstance(right, str):
            return meter.text(left + right)
        if isinstance(left, list) and isinstance(right, list):
            meter.copied(len(left) + len(right))
            return left + right
    raise fault(f"{sign} cannot join {kind_of(left)} and {kind_of(right)}{_advice(left, right)}")


def _advice(left: Json, right: Json) -> str:
    if isinstance(left, str) or isinstance(right, str):
        return "; convert with str(), int() or float()"
    if left is None or right is None:
        return "; use default(a, b) where null may come"
    return ""


def _calculated(
    operation: Callable[[Number, Number], Number], left: Number, right: Number
) -> Number:
    try:
        return finite(operation(checked_integer(left), checked_integer(right)))
    except ZeroDivisionError:
        raise fault("division by zero") from None
    except OverflowError:
        raise fault("the result is too large for a number") from None


def checked_integer(value: Number) -> Number:
    """`value`, unless it is an integer that takes long to calculate with.

    Raises:
        ToolError: `expression_budget`.
    """
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise ToolError(
            EXPRESSION_BUDGET, f"an integer of more than {MOST_BITS:,} bits is not calculated with"
        )
    return value


def finite(value: Number) -> Number:
    """`value`, if JSON can write it.

    Raises:
        ToolError: `invalid_expression` for infinite and undefined ones, `expression_budget`.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise fault("the result is not a JSON number")
    return checked_integer(value)


def negated(value: Json, *, keeps_sign: bool) -> Json:
    """`-value`, or `+value`.

    Raises:
        ToolError: `invalid_expression` if it is not a number.
    """
    if not is_number(value):
        raise fault(f"a sign needs a number, not {kind_of(value)}")
    return value if keeps_sign else -value
