"""The model-safe form of a schema: what is published, while the exact schema keeps checking.

Model APIs refuse a whole request for one tool with a combinator at the root, a dangling reference
or an old dialect. So the published form is an object at the root with properties merged from all
branches and the rule retold in a sentence; references are written out except where they form a
cycle; older dialects are told in the words of 2020-12. Publishing a published form changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.schema.checker import Checker
from toolcrib_protocol.schema.dialects import Dialect, modern_node
from toolcrib_protocol.schema.inlining import inlined_references
from toolcrib_protocol.schema.places import nodes, with_parts
from toolcrib_protocol.schema.references import REFERENCES, Document, references_of
from toolcrib_protocol.schema.root_rules import merged_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

_NOT_PUBLISHED: Final = frozenset(
    {
        "$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema",
        "$vocabulary", "definitions", "x-mcp-header", *REFERENCES,
    }
)  # fmt: skip
_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
_SIBLINGS_COUNT: Final = frozenset({Dialect.D2019_09, Dialect.D2020_12})
"""Dialects in which keywords beside a reference say something."""
_HERE: Final = "#/$defs/"
_AT_ROOT: Final = ("allOf", "anyOf", "oneOf", "if", "then", "else", "not")
_MOST_AT_ROOT: Final = 300
"""How many references at the root are written out even where they are part of a cycle."""


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


def publish(schema: JsonObject, dialect: Dialect | None = None) -> PublishedSchema:
    """The model-safe form of an input schema.

    Args:
        schema: the exact schema.
        dialect: what it is written in (`Checker.dialect`), if it has been compiled before; without
            one it is compiled here.

    Raises:
        ToolError: `invalid_contract` if the schema cannot be compiled.
    """
    expansion = _Expansion(Document(schema), dialect or Checker.compile(schema).dialect)
    merged, notes = merged_root(expansion.root())
    definitions = expansion.definitions(merged)
    if definitions:
        merged["$defs"] = definitions
    is_rewritten = merged != {k: v for k, v in schema.items() if k != "$schema"}
    return PublishedSchema(merged, tuple(notes), is_rewritten)


class _Expansion:
    """One pass over a schema that writes references out."""

    def __init__(self, document: Document, dialect: Dialect) -> None:
        self._document = document
        self._dialect = dialect
        self._inlined = inlined_references(document)
        self._left_at_root = _MOST_AT_ROOT
        self._names: dict[str, str] = {}
        self._references: dict[str, str] = {}

    def root(self) -> JsonObject:
        expanded = self._at_root(self._document.root)
        return expanded if isinstance(expanded, dict) else {}

    def definitions(self, merged: JsonObject) -> JsonObject:
        """The targets of references that were not written out, and of those inside them."""
        done: JsonObject = {}
        waiting: list[Json] = [merged]
        while waiting:
            part = waiting.pop()
            # Only what is still referred to: merging the root may have dropped the rest.
            for name in [
                made.removeprefix(_HERE) for n in nodes(part) for made in references_of(n)
            ]:
                if name not in done:
                    done[name] = self._definition(name, merged)
                    waiting.append(done[name])
        return done

    def _definition(self, name: str, merged: JsonObject) -> Json:
        reference = self._references[name]
        # A cycle through the root refers to the merged form: the same names, one object.
        return {**merged} if reference == "#" else self._expand(self._document.target(reference))

    def _at_root(self, node: Json) -> Json:
        """A schema that applies to the arguments as a whole: its properties must be seen."""
        if not isinstance(node, dict):
            return node
        own = self._expand({k: v for k, v in node.items() if k not in {*_AT_ROOT, *REFERENCES}})
        expanded: JsonObject = own if isinstance(own, dict) else {}
        if references_of(node) and self._dialect not in _SIBLINGS_COUNT:
            expanded = {k: v for k, v in expanded.items() if k in _ANNOTATIONS or k == "type"}
        else:
            branches = {k: v for k, v in node.items() if k in _AT_ROOT}
            expanded |= with_parts(branches, self._at_root)
        targets = [t for r in references_of(node) if (t := self._target_at_root(r)) is not None]
        if targets:
            more = expanded.get("allOf")
            expanded["allOf"] = [*targets, *(more if isinstance(more, list) else [])]
        return expanded

    def _target_at_root(self, reference: str) -> Json:
        self._left_at_root -= 1
        if self._left_at_root < 0:
            return None
        return self._at_root(self._document.target(reference))

    def _expand(self, node: Json) -> Json:
        if not isinstance(node, dict):
            return node
        for reference in references_of(node):
            return self._written_out(node, reference)
        modern = modern_node(node, self._dialect)
        return with_parts(_publishable(modern), self._expand)

    def _written_out(self, node: JsonObject, reference: str) -> Json:
        """What stands for a node that refers to another."""
        beside = _publishable(modern_node(node, self._dialect))
        if self._dialect not in _SIBLINGS_COUNT:
            # There, keywords beside a reference say nothing; descriptions are kept for the reader.
            beside = {k: v for k, v in beside.items() if k in _ANNOTATIONS}
        others = with_parts(beside, self._expand)
        if reference not in self._inlined:
            return {**others, "$ref": f"{_HERE}{self._name(reference)}"}
        expanded = self._expand(self._document.target(reference))
        if not others:
            return expanded
        if isinstance(expanded, dict) and set(others) <= _ANNOTATIONS:
            return {**expanded, **others}
        more = others.get("allOf")
        return {**others, "allOf": [expanded, *(more if isinstance(more, list) else [])]}

    def _name(self, reference: str) -> str:
        known = self._names.get(reference)
        if known is not None:
            return known
        last = reference.rsplit("/", 1)[-1]
        plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in last)[:40].strip("_")
        name = next(n for n in _numbered(plain or "root") if n not in self._references)
        self._names[reference] = name
        self._references[name] = reference
        return name


def _publishable(node: JsonObject) -> JsonObject:
    return {keyword: value for keyword, value in node.items() if keyword not in _NOT_PUBLISHED}


def _numbered(name: str) -> Iterator[str]:
    return chain([name], (f"{name}_{number}" for number in count(2)))
