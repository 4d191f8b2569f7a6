"""What an expression may cost, and the meter that ends one that costs more.

Every walk over a tree or a value spends steps here, so that no expression, however it is nested,
runs for long or makes something large. Used by all parts of the language.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import EXPRESSION_BUDGET, INVALID_EXPRESSION, ToolError

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

MOST_CHARACTERS: Final = 4_096
"""The longest expression."""
MOST_NODES: Final = 500
"""The largest expression: names, values, operations."""
MOST_DEPTH: Final = 32
"""The deepest nesting of an expression."""
DEEPEST_VALUE: Final = 100
"""The deepest nesting of a value that is compared, made or filled in."""
MOST_BITS: Final = 4_096
"""The largest integer that arithmetic makes, in bits: about 1,200 digits."""
_TEXT_A_STEP: Final = 64
_ITEMS_A_STEP: Final = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one evaluation.

    Attributes:
        steps: how many nodes and items may be visited.
        size: how large a text, and the result as a whole, may be (about its characters as JSON).
    """

    steps: int = 200_000
    size: int = 1_048_576


PLAN_LIMITS: Final = Limits()


class Meter:
    """Counts what an evaluation costs."""

    def __init__(self, limits: Limits = PLAN_LIMITS) -> None:
        self.limits = limits
        self._left = limits.steps

    def spend(self, steps: int = 1) -> None:
        """Count `steps`.

        Raises:
            ToolError: `expression_budget` when there are none left.
        """
        self._left -= steps
        if self._left < 0:
            raise ToolError(
                EXPRESSION_BUDGET,
                f"the expression takes more than {self.limits.steps:,} steps; select less: a "
                "slice such as [:100], or one key of the items",
            )

    def text(self, made: str) -> str:
        """`made`, if it is not too long.

        Raises:
            ToolError: `expression_budget`.
        """
        self.spend(len(made) // _TEXT_A_STEP)
        if len(made) > self.limits.size:
            raise self._too_large()
        return made

    def scan(self, text: str) -> str:
        """`text`, which is about to be looked through."""
        self.spend(len(text) // _TEXT_A_STEP)
        return text

    def copied(self, items: int) -> None:
        """Count a copy of a list of so many items.

        Raises:
            ToolError: `expression_budget`.
        """
        self.spend(items // _ITEMS_A_STEP)

    def result(self, value: Json) -> Json:
        """`value`, if it is not too large as a whole; what occurs twice in it counts twice.

        Raises:
            ToolError: `expression_budget`.
        """
        room = self.limits.size
        waiting: list[Json] = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, float) and not math.isfinite(part):
                raise ToolError(INVALID_EXPRESSION, "the result is not a JSON number")
            room -= _own_size(part)
            if isinstance(part, list):
                room -= len(part)
            if room < 0:
                raise self._too_large()
            if isinstance(part, list):
                waiting.extend(part)
            elif isinstance(part, dict):
                waiting.extend(part.values())
        return value

    def _too_large(self) -> ToolError:
        return ToolError(
            EXPRESSION_BUDGET,
            f"the expression makes more than {self.limits.size:,} characters; select less",
        )


def _own_size(part: Json) -> int:
    if isinstance(part, str):
        return len(part) + 2
    if isinstance(part, dict):
        return sum(map(len, part)) + 4 * len(part) + 2
    if isinstance(part, int):
        return 1 + part.bit_length() // 3
    return 4
