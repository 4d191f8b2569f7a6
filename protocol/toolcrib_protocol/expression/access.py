"""Reading inside values: keys of objects, items and slices of lists, parts of texts.

Dots and brackets read JSON only; no attribute of a Python object is ever looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_protocol.expression.faults import (
    MissingValueError,
    cut,
    fault,
    kind_of,
    no_key,
    step_to,
    written,
)

if TYPE_CHECKING:
    from toolcrib_protocol.expression.faults import Where
    from toolcrib_protocol.expression.limits import Meter
    from toolcrib_protocol.json_value import Json


def value_at(value: Json, key: str, where: Where) -> Json:
    """The value of a key of an object.

    Raises:
        ToolError: `invalid_expression`; a `MissingValueError` if the key is not there or `value` is
            null.
    """
    if isinstance(value, dict):
        if key in value:
            return value[key]
        raise no_key(key, value, written(where))
    if value is None:
        raise MissingValueError(f"{written(where)} is null and has no {cut(key)!r}")
    if key == "length" and isinstance(value, str | list):
        raise fault(f"write len({written(where)})")
    if isinstance(value, list):
        raise fault(
            f"{written(where)} is a list; use [0]{step_to(key)} or a comprehension: "
            f"[x{step_to(key)} for x in {written(where)}]"
        )
    raise fault(f"{written(where)} is {kind_of(value)} and has no {cut(key)!r}")


def item_at(value: Json, index: Json, where: Where) -> Json:
    """What `value[index]` is.

    Raises:
        ToolError: `invalid_expression`; a `MissingValueError` if it is not there.
    """
    if isinstance(index, str):
        return value_at(value, index, where)
    if not isinstance(index, int) or isinstance(index, bool):
        raise fault(f"an index is an integer or a key, not {kind_of(index)}")
    if value is None:
        raise MissingValueError(f"{written(where)} is null and has no item {index}")
    if not isinstance(value, list | str):
        raise fault(f"{written(where)} is {kind_of(value)}; its keys are texts, not numbers")
    if not -len(value) <= index < len(value):
        raise MissingValueError(f"no item {index} in {written(where)}; it has {len(value)}")
    return value[index]


def part_of(value: Json, bounds: tuple[Json, Json, Json], where: Where, meter: Meter) -> Json:
    """What `value[start:stop:step]` is.

    Raises:
        ToolError: `invalid_expression`, `expression_budget`.
    """
    if value is None:
        raise MissingValueError(f"{written(where)} is null and has no items")
    start, stop, step = (_bound(each) for each in bounds)
    if step == 0:
        raise fault("the step of a slice is not zero")
    if isinstance(value, str):
        return meter.text(value[start:stop:step])
    if not isinstance(value, list):
        raise fault(f"{written(where)} is {kind_of(value)} and has no slices")
    taken = value[start:stop:step]
    meter.copied(len(taken))
    return taken


def _bound(value: Json) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise fault(f"the bounds of a slice are integers, not {kind_of(value)}")
