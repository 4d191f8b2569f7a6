"""How large a schema may be, and what it may hold.

Schemas are hostile input: everything that walks one relies on these bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_protocol.json_value import Json


@dataclass(frozen=True, slots=True)
class SchemaBounds:
    """The largest schema that is accepted.

    The largest of 3,800 schemas of public servers has 100,000 characters, 4,000 nodes and a depth
    of 40; the defaults leave room above that and stop well below Python's recursion limit.
    """

    characters: int = 1_000_000
    depth: int = 120
    nodes: int = 50_000
    patterns: int = 200
    """Each regular expression may take 4 ms and 1 MB to compile."""


DEFAULT_BOUNDS: Final = SchemaBounds()


def bounds_problem(
    schema: Json, bounds: SchemaBounds = DEFAULT_BOUNDS, what: str = "the schema"
) -> str | None:
    """Which bound `schema` passes, in a sentence about `what`, or None. Walks without recursion."""
    nodes = characters = patterns = 0
    waiting: list[tuple[Json, int]] = [(schema, 1)]
    while waiting:
        value, depth = waiting.pop()
        nodes += 1
        characters += _own_size(value)
        patterns += _own_patterns(value)
        if depth > bounds.depth:
            return f"{what} is nested more than {bounds.depth} levels deep"
        if isinstance(value, float) and not math.isfinite(value):
            return f"{what} holds {value}, which is not JSON"
        waiting.extend((item, depth + 1) for item in _inside(value))
        # What waits counts too, so that one wide list is refused at once.
        if nodes + len(waiting) > bounds.nodes:
            return f"{what} has more than {bounds.nodes:,} values"
        if characters > bounds.characters:
            return f"{what} is longer than {bounds.characters:,} characters"
        if patterns > bounds.patterns:
            return f"{what} has more than {bounds.patterns} regular expressions"
    return None


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _own_size(value: Json) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(len, value)) if isinstance(value, dict) else 4


def _own_patterns(value: Json) -> int:
    if not isinstance(value, dict):
        return 0
    named = value.get("patternProperties")
    return isinstance(value.get("pattern"), str) + (len(named) if isinstance(named, dict) else 0)
