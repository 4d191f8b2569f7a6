"""Pairs of schemas, an old one and what an edit made of it, with values that lie near their edges.

All from a seed. The values are drawn from what both schemas say, so that a bound that moved by one
is met on both sides; which of them fit is for the checker to say.
"""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any, Final

from toolcrib_protocol.schema.places import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Node = dict[str, Any]
    Edit = Callable[["SchemaPairs", Node], None]

OTHER: Final = "zz"
"""A name that no schema describes."""
WORDS: Final = ("", "x", "xy", "abc", "abcd", "2026-01-31", "1", "A")
PATTERNS: Final = ("^a", "^[a-z]*$", "c$")
FORMATS: Final = ("date", "email")
NUMBERS: Final = (-2, -1, 0, 1, 2, 3, 5, 10, 1.5, 2.5)
_DEEPEST: Final = 3


class SchemaPairs:
    """A source of pairs."""

    def __init__(self, seed: str) -> None:
        self.dice = random.Random(seed)
        self._names: list[str] = []

    def pair(self) -> tuple[Node, Node]:
        """An object schema and the same with one to three edits."""
        self._names = []
        old = self.object_node(0)
        new = copy.deepcopy(old)
        edits = self.dice.choice((1, 1, 1, 2, 3))
        while edits or new == old:
            inside: list[Node] = [each for each in nodes(new) if each]
            node = self.dice.choice(inside or [{"type": "object"}])
            self.dice.choice(EDITS)(self, node)
            edits = max(0, edits - 1)
        if self.dice.random() < 0.3:
            old, new = new, old
        return {**old, "type": "object"}, {**new, "type": "object"}

    def node(self, depth: int) -> Any:
        """Any schema."""
        makers: list[Callable[[int], Any]] = [self.text, self.number, self.flag, self.listed]
        if depth < _DEEPEST:
            makers += [self.list_node, self.object_node, self.choice_node, self.typed]
        if self.dice.random() < 0.05:
            return self.dice.choice(({}, True))
        return self.dice.choice(makers)(depth)

    def text(self, _: int) -> Node:
        node: Node = {"type": "string"}
        self._maybe(node, "minLength", lambda: self.dice.randint(0, 3))
        self._maybe(node, "maxLength", lambda: self.dice.randint(2, 5))
        self._maybe(node, "pattern", lambda: self.dice.choice(PATTERNS), 0.15)
        self._maybe(node, "format", lambda: self.dice.choice(FORMATS), 0.1)
        return node

    def number(self, _: int) -> Node:
        node: Node = {"type": self.dice.choice(("integer", "number"))}
        self._maybe(node, "minimum", lambda: self.dice.choice((-1, 0, 1)))
        self._maybe(node, "maximum", lambda: self.dice.choice((2, 5, 10)))
        self._maybe(node, "exclusiveMinimum", lambda: self.dice.choice((-2, 0)), 0.1)
        self._maybe(node, "exclusiveMaximum", lambda: self.dice.choice((5, 11)), 0.1)
        self._maybe(node, "multipleOf", lambda: self.dice.choice((1, 0.5, 2)), 0.3)
        return node

    def flag(self, _: int) -> Node:
        return {"type": self.dice.choice(("boolean", "null"))}

    def listed(self, _: int) -> Node:
        if self.dice.random() < 0.25:
            return {"const": self.dice.choice((1, 1.0, "x", None, True))}
        return {"enum": self.dice.sample(("x", "xy", "abc", 1, 2, None, True, "A"), 3)}

    def typed(self, _: int) -> Node:
        return {"type": self.dice.sample(("string", "integer", "null", "boolean", "array"), 2)}

    def list_node(self, depth: int) -> Node:
        node: Node = {"type": "array"}
        self._maybe(node, "items", lambda: self.node(depth + 1), 0.8)
        self._maybe(node, "prefixItems", lambda: [self.node(depth + 1)], 0.15)
        self._maybe(node, "minItems", lambda: self.dice.randint(0, 2))
        self._maybe(node, "maxItems", lambda: self.dice.randint(1, 3))
        self._maybe(node, "uniqueItems", lambda: True, 0.3)
        self._maybe(node, "contains", lambda: self.node(depth + 2), 0.1)
        return node

    def object_node(self, depth: int) -> Node:
        names = [self.name() for _ in range(self.dice.randint(1, 3))]
        node: Node = {"type": "object", "properties": {n: self.node(depth + 1) for n in names}}
        self._maybe(node, "required", lambda: self.dice.sample(names, 1))
        self._maybe(node, "additionalProperties", lambda: self._rest(depth), 0.4)
        self._maybe(node, "minProperties", lambda: self.dice.randint(0, 2), 0.1)
        self._maybe(node, "maxProperties", lambda: self.dice.randint(1, 3), 0.1)
        self._maybe(node, "propertyNames", lambda: {"maxLength": 1}, 0.05)
        self._maybe(node, "patternProperties", lambda: {"^z": self.node(depth + 2)}, 0.05)
        self._maybe(node, "dependentRequired", lambda: {names[0]: [names[-1]]}, 0.05)
        if self.dice.random() < 0.08:
            node |= {"if": self.needs(), "then": self.needs(), "else": self.needs()}
        if self.dice.random() < 0.06:
            node["not"] = self.needs()
        if self.dice.random() < 0.08:
            node["allOf"] = [self.needs(), {"properties": {self.name(): self.node(depth + 2)}}]
        return node

    def needs(self) -> Node:
        return {"required": [self.dice.choice(self._names)]}

    def name(self) -> str:
        """A property's name; no two properties of a pair have the same."""
        self._names.append(f"p{len(self._names)}")
        return self._names[-1]

    def known_name(self) -> str:
        return self.dice.choice(self._names)

    def _rest(self, depth: int) -> Any:
        return self.dice.choice((False, True, {}, self.node(depth + 2)))

    def choice_node(self, depth: int) -> Node:
        keyword = self.dice.choice(("anyOf", "oneOf"))
        return {keyword: [self.node(depth + 1) for _ in range(2)]}

    def _maybe(self, node: Node, key: str, make: Callable[[], Any], share: float = 0.4) -> None:
        if self.dice.random() < share:
            node[key] = make()


def _drop_keyword(pairs: SchemaPairs, node: Node) -> None:
    node.pop(pairs.dice.choice(sorted(node)))


def _swap_node(pairs: SchemaPairs, node: Node) -> None:
    fresh = pairs.node(1)
    if isinstance(fresh, dict):
        node.clear()
        node.update(fresh)


def _add_property(pairs: SchemaPairs, node: Node) -> None:
    if isinstance(node.get("properties"), dict):
        node["properties"][pairs.name()] = pairs.node(2)


def _drop_property(pairs: SchemaPairs, node: Node) -> None:
    if node.get("properties"):
        node["properties"].pop(pairs.dice.choice(sorted(node["properties"])))


def _flip_required(pairs: SchemaPairs, node: Node) -> None:
    if "properties" in node:
        name = pairs.dice.choice([*node["properties"], pairs.known_name()])
        listed = set(node.get("required") or ())
        node["required"] = sorted(listed ^ {name})


def _set_keyword(pairs: SchemaPairs, node: Node) -> None:
    same_kind = [each for each in (pairs.text(0), pairs.number(0), pairs.list_node(2)) if each]
    same_kind.append(pairs.object_node(2))
    donors = [each for each in same_kind if each.get("type") == node.get("type")]
    if donors:
        key = pairs.dice.choice(sorted(donors[0]))
        node[key] = donors[0][key]


def _move_number(pairs: SchemaPairs, node: Node) -> None:
    keys = [k for k, v in node.items() if isinstance(v, int | float) and not isinstance(v, bool)]
    keys = [key for key in keys if key not in {"const", "multipleOf"}]
    if keys:
        key = pairs.dice.choice(sorted(keys))
        moved = node[key] + pairs.dice.choice((-1, 1))
        is_size = key.startswith(("minL", "maxL", "minI", "maxI", "minP", "maxP"))
        node[key] = max(0, moved) if is_size else moved


def _change_listed(pairs: SchemaPairs, node: Node) -> None:
    if isinstance(node.get("enum"), list):
        extra = pairs.dice.choice(("new", 7, None))
        listed = [v for v in node["enum"] if pairs.dice.random() < 0.7]
        node["enum"] = [*listed, extra] if extra not in listed else (listed or [extra])


def _add_option(pairs: SchemaPairs, node: Node) -> None:
    for key in ("anyOf", "oneOf"):
        if isinstance(node.get(key), list):
            if pairs.dice.random() < 0.5 and len(node[key]) > 1:
                node[key].pop()
            else:
                node[key].append(pairs.node(2))


def _make_nullable(_: SchemaPairs, node: Node) -> None:
    if isinstance(node.get("type"), str) and node["type"] != "null":
        node["type"] = [node["type"], "null"]


EDITS: Final[tuple[Edit, ...]] = (
    _drop_keyword,
    _swap_node,
    _add_property,
    _drop_property,
    _flip_required,
    _set_keyword,
    _set_keyword,
    _move_number,
    _change_listed,
    _add_option,
    _make_nullable,
)


def names_in(value: Any) -> set[str]:
    """All names of properties in a value."""
    if isinstance(value, dict):
        return {*value, *(name for inner in value.values() for name in names_in(inner))}
    if isinstance(value, list):
        return {name for inner in value for name in names_in(inner)}
    return set()


def names_described(schema: Any) -> set[str]:
    """All names of properties that a schema describes."""
    found: list[Node] = list(nodes(schema))
    return {name for node in found for name in node.get("properties") or ()}


class Values:
    """Values near the edges of a schema."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def of(self, schema: Any, count: int) -> Iterator[Any]:
        """So many values that may fit `schema`."""
        for _ in range(count):
            yield self._value(schema, 0)

    def _value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > 6 or self._dice.random() < 0.04:
            return self._dice.choice((None, True, 0, 1.5, "x", [], {}, ["x"], {OTHER: 1}))
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._dice.choice(schema["enum"])
        for key in ("anyOf", "oneOf", "allOf"):
            if schema.get(key) and "properties" not in schema:
                return self._value(self._dice.choice(schema[key]), depth + 1)
        named = schema.get("type") or "object"
        kind = self._dice.choice(named) if isinstance(named, list) else named
        return _VALUES[kind](self, schema, depth)

    def _text(self, schema: Any, _: int) -> str:
        edge = schema.get(self._dice.choice(("minLength", "maxLength")))
        if isinstance(edge, int) and self._dice.random() < 0.6:
            return "a" * max(0, edge + self._dice.choice((-1, 0, 1)))
        return self._dice.choice(WORDS)

    def _number(self, schema: Any, _: int) -> Any:
        keys = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
        edges = [schema[key] for key in keys if key in schema]
        if edges and self._dice.random() < 0.7:
            return self._dice.choice(edges) + self._dice.choice((-1, -0.5, 0, 0, 0.5, 1))
        return self._dice.choice(NUMBERS)

    def _items(self, schema: Any, depth: int) -> list[Any]:
        edge = schema.get(self._dice.choice(("minItems", "maxItems")), 1)
        size = max(0, edge + self._dice.choice((-1, 0, 0, 1)))
        first = schema.get("prefixItems") or []
        parts = [*first, *[schema.get("items", {})] * 4][:size]
        made = [self._value(part, depth + 1) for part in parts]
        if made and self._dice.random() < 0.2:
            made[-1] = made[0]
        return made

    def _object(self, schema: Any, depth: int) -> dict[str, Any]:
        parts = schema.get("properties") or {}
        made = {n: self._value(p, depth + 1) for n, p in parts.items() if self._dice.random() < 0.7}
        for part in schema.get("allOf") or ():
            made |= self._object(part, depth + 1)
        for name in schema.get("required") or ():
            if name not in made and self._dice.random() < 0.9:
                made[name] = self._value(parts.get(name), depth + 1)
        if self._dice.random() < 0.25:
            made[OTHER] = self._value(schema.get("additionalProperties"), depth + 1)
        return made


_VALUES: Final[dict[str, Any]] = {
    "string": Values._text,
    "integer": Values._number,
    "number": Values._number,
    "boolean": lambda values, *_: values._dice.random() < 0.5,
    "null": lambda *_: None,
    "array": Values._items,
    "object": Values._object,
}
