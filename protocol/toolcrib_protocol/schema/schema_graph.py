"""A schema as a graph: which of its nodes are applied together, and which one level deeper.

References are edges like any other, so what a reader of the text sees as a tree is a graph with
shared parts and cycles. Walks without recursion. Used by `workload.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.schema.places import nodes, parts
from toolcrib_protocol.schema.references import Document, embedded_document, references_of

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

_HERE: Final = frozenset(
    {"allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"}
)
_ONE_OF_MANY: Final = frozenset({"properties", "prefixItems"})
_NOT_APPLIED: Final = frozenset({"$defs", "definitions"})


@dataclass(slots=True)
class GraphNode:
    """What is applied with a schema node.

    Attributes:
        here: at the same place of the value.
        each: one level deeper, where all of these may meet at one place.
        one: one level deeper, where a place meets at most one of these.
    """

    here: list[int] = field(default_factory=list)
    each: list[int] = field(default_factory=list)
    one: list[int] = field(default_factory=list)

    @property
    def all(self) -> list[int]:
        """Every node that is applied with this one."""
        return [*self.here, *self.each, *self.one]


class SchemaGraph:
    """The nodes of a schema that can be applied to a value; the root is number 0."""

    __slots__ = ("nodes",)

    def __init__(self, graph_nodes: list[GraphNode]) -> None:
        self.nodes = graph_nodes

    @classmethod
    def of(cls, schema: JsonObject) -> SchemaGraph:
        """The graph of `schema`.

        Raises:
            ToolError: `invalid_contract` if a reference leaves the schema or points at nothing.
        """
        document = Document(schema)
        _check_references(document)
        return _Survey(document).graph()

    def here_first(self) -> list[int] | None:
        """All nodes, each after those applied at the same place; None if those form a cycle."""
        parents: list[list[int]] = [[] for _ in self.nodes]
        waits_for = [len(node.here) for node in self.nodes]
        for number, node in enumerate(self.nodes):
            for child in node.here:
                parents[child].append(number)
        order = [number for number, count in enumerate(waits_for) if not count]
        # The order is also the queue: it grows while it is read.
        for number in order:
            for parent in parents[number]:
                waits_for[parent] -= 1
                if not waits_for[parent]:
                    order.append(parent)
        return order if len(order) == len(self.nodes) else None

    def height(self, here_first: list[int]) -> int:
        """How many nodes are nested at one place of a value, at most."""
        heights = [1] * len(self.nodes)
        for number in here_first:
            below = (heights[child] for child in self.nodes[number].here)
            heights[number] = 1 + max(below, default=0)
        return max(heights)

    def deepest_first(self) -> list[int]:
        """All nodes, each after those it applies, except on the way back in a cycle."""
        order: list[int] = []
        seen: set[int] = set()
        todo = [(0, False)]
        while todo:
            number, is_done = todo.pop()
            if is_done:
                order.append(number)
            elif number not in seen:
                seen.add(number)
                todo.append((number, True))
                todo.extend((child, False) for child in self.nodes[number].all)
        return order


class _Survey:
    """One walk over a document that numbers its nodes."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._schemas: list[JsonObject] = []
        self._numbers: dict[int, int] = {}
        self._nodes: list[GraphNode] = []

    def graph(self) -> SchemaGraph:
        self._number(self._document.root)
        # The list grows while it is read: every node that is found gets its turn.
        for schema, node in zip(self._schemas, self._nodes, strict=False):
            for keyword, part in parts(schema):
                if isinstance(part, dict) and keyword not in _NOT_APPLIED:
                    _edges(node, keyword).append(self._number(part))
            targets = (_target(self._document, made) for made in references_of(schema))
            node.here.extend(self._number(part) for part in targets if isinstance(part, dict))
        return SchemaGraph(self._nodes)

    def _number(self, schema: JsonObject) -> int:
        # The document stays alive for as long as the walk, so each id stays its node's.
        number = self._numbers.setdefault(id(schema), len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(GraphNode())
            self._schemas.append(schema)
        return number


def _edges(node: GraphNode, keyword: str) -> list[int]:
    if keyword in _HERE:
        return node.here
    return node.one if keyword in _ONE_OF_MANY else node.each


def _check_references(document: Document) -> None:
    """Refuse unsound references also where nothing applies them."""
    has_references = False
    for node in nodes(document.root):
        for reference in references_of(node):
            has_references = True
            _target(document, reference)
    embedded = embedded_document(document.root) if has_references else None
    if embedded is not None:
        raise ToolError(
            INVALID_CONTRACT,
            f"a schema inside the schema has an $id of its own, {embedded[:100]!r}, which changes "
            "what references mean; that is not supported",
        )


def _target(document: Document, reference: str) -> JsonObject | bool:
    target = document.target(reference)
    if target is None:
        is_inside = reference.startswith("#")
        fault = "points at nothing" if is_inside else "leaves the schema and is never followed"
        raise ToolError(INVALID_CONTRACT, f"the reference {reference[:200]!r} {fault}")
    return target
