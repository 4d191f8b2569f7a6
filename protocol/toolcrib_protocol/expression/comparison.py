"""Equality and order of JSON values.

Equality never fails and knows that `true` is not 1; order is defined between two numbers and
between two texts only, because a silent order of different types hides mistakes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from toolcrib_protocol.errors import EXPRESSION_BUDGET, ToolError
from toolcrib_protocol.expression.faults import fault, kind_of
from toolcrib_protocol.expression.limits import DEEPEST_VALUE

if TYPE_CHECKING:
    from collections.abc import Hashable

    from typing_extensions import TypeIs

    from toolcrib_protocol.expression.limits import Meter
    from toolcrib_protocol.json_value import Json

Number: TypeAlias = int | float


def is_number(value: Json) -> TypeIs[Number]:
    """Whether `value` is a JSON number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(left: Json, right: Json, meter: Meter, depth: int = 0) -> bool:
    """Whether two values are the same JSON.

    Raises:
        ToolError: `expression_budget`.
    """
    meter.spend()
    check_depth(depth)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            same(a, b, meter, depth + 1) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            same(value, right[key], meter, depth + 1) for key, value in left.items()
        )
    if isinstance(left, str) and isinstance(right, str):
        return meter.scan(left) == right
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def identity(value: Json, meter: Meter, depth: int = 0) -> Hashable:
    """A key that two values share exactly if they are the same JSON.

    Raises:
        ToolError: `expression_budget`.
    """
    meter.spend()
    check_depth(depth)
    if isinstance(value, list):
        return ("list", *(identity(item, meter, depth + 1) for item in value))
    if isinstance(value, dict):
        return frozenset((key, identity(item, meter, depth + 1)) for key, item in value.items())
    if isinstance(value, str):
        return meter.scan(value)
    return (type(value) is bool, value)


def check_depth(depth: int) -> None:
    """Refuse to go deeper than values may be nested.

    Raises:
        ToolError: `expression_budget`.
    """
    if depth > DEEPEST_VALUE:
        raise ToolError(
            EXPRESSION_BUDGET, f"the value is nested deeper than {DEEPEST_VALUE} levels"
        )


def comes_before(left: Json, right: Json) -> bool:
    """Whether `left` is less than `right`.

    Raises:
        ToolError: `invalid_expression` unless both are numbers or both are texts.
    """
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    if is_number(left) and is_number(right):
        return left < right
    raise fault(
        f"{kind_of(left)} and {kind_of(right)} have no order; convert one with "
        "int(), float() or str()"
    )
