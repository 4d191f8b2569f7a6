"""Four tools of a small stock room. Offer them with

toolcrib add stock-room --python examples/tools/stock_room.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import anyio
from pydantic import Field

from toolcrib_client import tool

Unit = Literal["mm", "cm", "m", "in", "ft"]
METRES = {"mm": 0.001, "cm": 0.01, "m": 1.0, "in": 0.0254, "ft": 0.3048}


@dataclass
class Part:
    """One kind of part."""

    number: str
    name: str
    in_stock: int


PARTS = (
    Part("M4-20", "hex screw M4 x 20 mm", 310),
    Part("M6-40", "hex screw M6 x 40 mm", 85),
    Part("BB-608", "ball bearing 608", 12),
)


@tool(read_only=True, tags=["stock"])
def find_parts(text: str, limit: Annotated[int, Field(ge=1, le=50)] = 10) -> list[Part]:
    """Find parts in the stock room by number or name.

    Args:
        text: a word of the name, or the start of a part number.
        limit: how many parts to return at most.
    """
    wanted = text.casefold()
    found = [part for part in PARTS if wanted in f"{part.number} {part.name}".casefold()]
    return found[:limit]


@tool(
    version="1.1.0",
    read_only=True,
    when_not_to_use="for prices; the stock room does not know them",
    examples=[
        {
            "request": "do we have enough bearings for 20 wheels?",
            "arguments": {"number": "BB-608", "count": 20},
        }
    ],
)
def check_stock(number: str, count: int = 1) -> bool:
    """Say whether enough of a part is in stock.

    Args:
        number: the part number, exactly.
        count: how many are needed.

    Raises:
        LookupError: there is no such part; find_parts lists the numbers.
    """
    part = next((part for part in PARTS if part.number == number), None)
    if part is None:
        raise LookupError(f"there is no part {number!r}")
    return part.in_stock >= count


@tool(read_only=True)
def convert_length(value: float, unit: Unit, to: Unit) -> float:
    """Convert a length between millimetres, centimetres, metres, inches and feet.

    Args:
        value: the length.
        unit: the unit it is in.
        to: the unit to answer in.
    """
    return float(f"{value * METRES[unit] / METRES[to]:.12g}")


@tool(read_only=True, timeout_seconds=120)
async def remind_me(text: str, seconds: Annotated[float, Field(ge=0, le=60)]) -> str:
    """Wait, then say something.

    Args:
        text: what to say.
        seconds: how long to wait first.
    """
    await anyio.sleep(seconds)
    return f"Reminder: {text}"
