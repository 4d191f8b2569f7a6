"""A scope that the tests of expressions share, and how they evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.expression import Scope, evaluate, parse_expression

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

ROWS: Final[list[Json]] = [
    {"name": "nut", "price": 3, "from": "Ulm", "size": None},
    {"name": "bolt", "price": 5.5, "from": "Bonn", "size": {"mm": 8}},
]
SCOPE: Final = Scope(
    {
        "steps": {"search": {"items": ROWS, "total": 2, "my-key": 1}},
        "input": {"q": "hi", "big": 9007199254740993, "odd key": True, "größe": 4, "none": None},
    },
    {("steps", "b"): "the step 'b' was skipped"},
)


def value_of(text: str, scope: Scope = SCOPE) -> Json:
    """What the expression gives."""
    return evaluate(parse_expression(text), scope)
