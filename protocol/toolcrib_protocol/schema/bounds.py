"""How large a schema may be. Schemas are hostile input: everything that walks one relies on these bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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


DEFAULT_BOUNDS: Final = SchemaBounds()


def bounds_problem(schema: Json, bounds: SchemaBounds = DEFAULT_BOUNDS) -> str | None:
    """Which bound `schema` passes, in a sentence, or None. Walks without recursion."""
    nodes = characters = 0
    waiting: list[tuple[Json, int]] = [(schema, 1)]
    while waiting:
        value, depth = waiting.pop()
        nodes += 1
        characters += _own_size(value)
        if depth > bounds.depth:
            return f"the schema is nested more than {bounds.depth} levels deep"
        if nodes > bounds.nodes:
            return f"the schema has more than {bounds.nodes:,} values"
        if characters > bounds.characters:
            return f"the schema is longer than {bounds.characters:,} characters"
        if isinstance(value, dict):
            waiting.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, list):
            waiting.extend((item, depth + 1) for item in value)
    return None


def _own_size(value: Json) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(len, value))
    return 4
