"""How deep and how large a value is, measured without recursion. Used before a value is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json


@dataclass(frozen=True, slots=True)
class Extent:
    """The depth of a value (a plain one: 1) and the number of values in it, itself included."""

    depth: int
    values: int


def extent(value: Json, deepest: int) -> Extent:
    """The extent of `value`; counting stops one level below `deepest`."""
    level = [value]
    depth = values = 0
    while level and depth <= deepest:
        depth += 1
        values += len(level)
        inner: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        level = inner
    return Extent(depth, values)
