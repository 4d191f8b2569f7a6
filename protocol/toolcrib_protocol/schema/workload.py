"""How much work a schema can make of checking a value.

A small schema can ask for endless work: two references to the next definition, thirty definitions
long, are a billion checks. So the work is estimated before anything runs: what no value could be
checked against is refused when it is compiled; what one value would make too much of is not
checked, and that is said. Estimates are upper bounds in visited schema nodes. Used by `checker.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.schema.schema_graph import SchemaGraph

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

MOST_WORK: Final = 200_000
"""The most schema nodes that may be visited along one path into a value."""
_HIGHEST: Final = 100
"""How many schema nodes may be nested at one place of a value. The checking library recurses: some
40,000 nested nodes overflow a thread's stack and end the process, and a value may be 128 deep."""
_MOST_STEPS: Final = 20_000
"""How many steps the estimate for a recursive schema may take itself."""


class Workload:
    """The estimate for one schema whose references are all sound."""

    __slots__ = ("_graph", "_here_first", "most")

    def __init__(self, graph: SchemaGraph, here_first: list[int]) -> None:
        self._graph = graph
        self._here_first = here_first
        # The checking library remembers what it knows of a recursive reference at a place, so that
        # recursion adds nothing to a plain check: the way back counts as one step.
        totals: dict[int, int] = {}
        _add_up(graph, graph.deepest_first(), totals, totals)
        self.most = totals[0]

    @classmethod
    def of(cls, schema: JsonObject) -> Workload:
        """The workload of `schema`, which is within its bounds (`bounds.py`).

        Raises:
            ToolError: `invalid_contract` if a reference is unsound or no value could be checked
                safely.
        """
        graph = SchemaGraph.of(schema)
        here_first = graph.here_first()
        if here_first is None:
            raise _refused("refers to itself without going deeper into the value")
        if graph.height(here_first) > _HIGHEST:
            raise _refused(f"nests more than {_HIGHEST} rules at one place of a value")
        work = cls(graph, here_first)
        if work.most >= MOST_WORK:
            raise _refused(f"multiplies: checking one value could take over {MOST_WORK:,} steps")
        return work

    def of_all_faults(self, depth: int) -> int:
        """The work of telling every fault of a value `depth` deep: there, nothing is remembered."""
        totals: dict[int, int] = {}
        for step in range(depth + 1):
            deeper, totals = totals, {}
            _add_up(self._graph, self._here_first, totals, deeper)
            is_settled = totals == deeper
            if is_settled or totals[0] >= MOST_WORK:
                break
            if (step + 1) * len(self._here_first) > _MOST_STEPS:
                return MOST_WORK
        return totals[0]


def _refused(what: str) -> ToolError:
    return ToolError(INVALID_CONTRACT, f"the schema {what}")


def _add_up(
    graph: SchemaGraph, order: list[int], totals: dict[int, int], deeper: dict[int, int]
) -> None:
    """Put the work of each node into `totals`, given the work of nodes one level deeper."""
    for number in order:
        node = graph.nodes[number]
        work = 1 + sum(totals.get(child, 1) for child in node.here)
        work += sum(deeper.get(child, 1) for child in node.each)
        work += max((deeper.get(child, 1) for child in node.one), default=0)
        totals[number] = min(work, MOST_WORK)
