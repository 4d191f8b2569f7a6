"""The model-safe form of a schema: what is published, while the exact schema keeps checking.

Model APIs refuse a whole request for one tool with a combinator at the root, a dangling reference or an old dialect. So
the published form is an object at the root with properties merged from all branches and the rule retold in a sentence;
references are written out except where they form a cycle; older dialects are told in the words of 2020-12.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.schema.dialects import Dialect, modern_node
from toolcrib_protocol.schema.places import at_pointer, with_parts
from toolcrib_protocol.schema.root_rules import merged_root

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_NOT_PUBLISHED: Final = frozenset(
    {"$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment", "$defs", "definitions"}
)  # fmt: skip
_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
_MOST_NODES: Final = 20_000
"""How many nodes may be written out; beyond it references stay references (an inlined DAG grows exponentially)."""


@dataclass(frozen=True, slots=True)
class PublishedSchema:
    """A schema as models see it.

    Attributes:
        schema: object at the root, dialect 2020-12, no reference except inside `#/$defs`.
        notes: rules that the form cannot carry, in sentences for the description.
        is_rewritten: whether it says anything else than the exact schema.
    """

    schema: JsonObject
    notes: tuple[str, ...]
    is_rewritten: bool


def publish(schema: JsonObject, dialect: Dialect = Dialect.D2020_12) -> PublishedSchema:
    """The model-safe form of an input schema that has been compiled before (so it is bounded and sound)."""
    expansion = _Expansion(schema, dialect)
    expanded = expansion.root()
    merged, notes = merged_root(expanded)
    definitions = expansion.definitions(merged)
    if definitions:
        merged["$defs"] = definitions
    is_rewritten = merged != {k: v for k, v in schema.items() if k != "$schema"}
    return PublishedSchema(merged, tuple(notes), is_rewritten)


class _Expansion:
    """One pass over a schema that writes references out."""

    def __init__(self, schema: JsonObject, dialect: Dialect) -> None:
        self._schema = schema
        self._dialect = dialect
        self._left = _MOST_NODES
        self._names: dict[str, str] = {}

    def root(self) -> JsonObject:
        expanded = self._expand(self._schema, ("#",))
        return expanded if isinstance(expanded, dict) else {}

    def definitions(self, merged: JsonObject) -> JsonObject:
        """The targets of references that could not be written out, and of those inside them."""
        done: JsonObject = {}
        while pending := [(p, n) for p, n in self._names.items() if n not in done]:
            for reference, name in pending:
                target = at_pointer(self._schema, reference)
                done[name] = self._expand(target, (reference,))
        # A cycle through the root refers to the merged form: the same names, one object.
        if "#" in self._names:
            done[self._names["#"]] = {k: v for k, v in merged.items() if k != "$defs"}
        return done

    def _expand(self, node: Json, path: tuple[str, ...]) -> Json:
        self._left -= 1
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str) and (written := self._written_out(node, reference, path)) is not None:
            return written
        modern = modern_node(node, self._dialect)
        kept = {key: value for key, value in modern.items() if key not in _NOT_PUBLISHED}
        return with_parts(kept, lambda part: self._expand(part, path))

    def _written_out(self, node: JsonObject, reference: str, path: tuple[str, ...]) -> Json | None:
        """What stands for a reference here, or None to leave the node as it is."""
        target = at_pointer(self._schema, reference)
        if target is None:
            return None
        beside = {k: v for k, v in node.items() if k != "$ref" and k not in _NOT_PUBLISHED}
        if self._dialect in {Dialect.D4, Dialect.D6, Dialect.D7}:
            # There, keywords beside a reference say nothing; descriptions are kept for the reader.
            beside = {k: v for k, v in beside.items() if k in _ANNOTATIONS}
        if reference in path or self._left <= 0:
            return {**beside, "$ref": f"#/$defs/{self._name(reference)}"}
        expanded = self._expand(target, (*path, reference))
        others = with_parts(beside, lambda part: self._expand(part, path))
        if not others:
            return expanded
        if isinstance(expanded, dict) and set(others) <= _ANNOTATIONS:
            return {**expanded, **others}
        return {**others, "allOf": [expanded, *_listed(others.get("allOf"))]}

    def _name(self, reference: str) -> str:
        if reference not in self._names:
            last = "".join(c if c.isalnum() else "_" for c in reference.rsplit("/", 1)[-1]) or "root"
            taken = set(self._names.values())
            plain = last[:40]
            self._names[reference] = next(
                name for name in _numbered(plain, len(taken)) if name not in taken
            )
        return self._names[reference]


def _numbered(name: str, most: int) -> list[str]:
    return [name, *(f"{name}_{number}" for number in range(2, most + 3))]


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
