"""Which references of a schema are written out when it is published.

All of them, as long as the result stays of bounded size and depth; never those that are part of a
cycle. Used by `publishing.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.schema.places import nodes, parts
from toolcrib_protocol.schema.references import references_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_protocol.json_value import Json
    from toolcrib_protocol.schema.references import Document

_MOST_GROWTH: Final = 3
_SMALL: Final = 500
"""What stays below so many schema nodes may grow by any factor."""
_DEEPEST: Final = 60
"""The most schemas inside schemas that written-out references may lead to."""


@dataclass(frozen=True, slots=True)
class _Size:
    """The schema nodes of a written-out schema, and how deep they are nested."""

    nodes: int
    depth: int


def inlined_references(document: Document) -> frozenset[str]:
    """The references to write out."""
    inside: dict[str, list[str]] = {}
    own: dict[str, _Size] = {}
    waiting = _references_in(document.root)
    while waiting:
        reference = waiting.pop()
        if reference not in inside:
            target = document.target(reference)
            inside[reference] = _references_in(target)
            own[reference] = _own_size(target)
            waiting.extend(inside[reference])
    order = _inner_first(inside)
    root = _own_size(document.root)
    total = _written_size(order, inside, own, _references_in(document.root), root)
    is_small = total.nodes <= max(_SMALL, _MOST_GROWTH * root.nodes)
    return frozenset(order) if is_small and total.depth <= _DEEPEST else frozenset()


def _references_in(schema: Json) -> list[str]:
    return [reference for node in nodes(schema) for reference in references_of(node)]


def _own_size(schema: Json) -> _Size:
    count = depth = 0
    level: list[Json] = [schema]
    while level:
        depth += 1
        count += len(level)
        level = [part for node in level if isinstance(node, dict) for _, part in parts(node)]
    return _Size(count, depth)


def _inner_first(inside: dict[str, list[str]]) -> list[str]:
    """References that are part of no cycle, each after those inside its target."""
    outside: dict[str, list[str]] = {reference: [] for reference in inside}
    for reference, inner in inside.items():
        for other in set(inner):
            outside[other].append(reference)
    leading_nowhere = _peeled(inside, outside)
    # What only leads into a cycle is not part of it.
    unreached = _peeled(outside, inside)
    late = [reference for reference in reversed(unreached) if reference not in leading_nowhere]
    return [*leading_nowhere, *late]


def _peeled(ahead: dict[str, list[str]], behind: dict[str, list[str]]) -> dict[str, None]:
    """What has nothing ahead of it, then what has only such ahead, and so on, in that order."""
    left = {reference: len(set(others)) for reference, others in ahead.items()}
    peeled = dict.fromkeys(reference for reference, count in left.items() if not count)
    waiting = list(peeled)
    while waiting:
        for reference in set(behind[waiting.pop()]):
            left[reference] -= 1
            if not left[reference]:
                peeled[reference] = None
                waiting.append(reference)
    return peeled


def _written_size(
    order: Iterable[str],
    inside: dict[str, list[str]],
    own: dict[str, _Size],
    root_references: list[str],
    root: _Size,
) -> _Size:
    written: dict[str, _Size] = {}

    def total(size: _Size, inner: list[str]) -> _Size:
        sizes = [written.get(reference, _Size(1, 1)) for reference in inner]
        deepest = max((inner_size.depth for inner_size in sizes), default=0)
        return _Size(size.nodes + sum(s.nodes for s in sizes), size.depth + deepest)

    for reference in order:
        written[reference] = total(own[reference], inside[reference])
    return total(root, root_references)
