"""One small valid value for a schema, to teach with.

Deterministic, and checked before it is shown: what cannot be made valid is None, never a wrong
example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.schema.checker import Checker
from toolcrib_protocol.schema.references import Document, references_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

_DEEPEST: Final = 8
_MOST_TRIES: Final = 12
_MOST_STEPS: Final = 2_000
_MOST_ITEMS: Final = 5
_MOST_PADDING: Final = 200
_BY_FORMAT: Final = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:30:00Z",
    "time": "09:30:00Z",
    "email": "ana@example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
}

_SPELLINGS: Final = (
    "1", "10", "1000", "12345678", "A", "ABC", "ABCD", "AB123", "ABC-1", "abc", "abc-def",
    "abc_def", "a/b", "/a/b", "a.b", "a1", "2026-01-31", "2026-01-31T09:30:00Z", "2026-01",
    "2026", "20260131", "09:30", "09:30:00", "1.0", "1.0.0", "v1.0.0", "#00ff00",
    "ana@example.com", "example.com", "https://example.com",
    "123e4567-e89b-12d3-a456-426614174000", "+14155550100", "192.0.2.1",
    "0123456789abcdef0123456789abcdef", "en", "en-US", "true", "1h", "10s", "-1", "0.5",
)  # fmt: skip
"""Texts that patterns of real tools ask for; none is made up to fit, each is tried."""


def sample(schema: JsonObject) -> JsonObject | None:
    """An object that fits `schema` and has little beyond what it must; None if none was found."""
    try:
        checker = Checker.compile(schema)
    except ToolError:
        return None
    for attempt, value in enumerate(_Sampling(schema).objects()):
        if isinstance(value, dict) and not checker.check(value):
            return value
        if attempt == _MOST_TRIES:
            break
    return None


class _Sampling:
    """Guesses at values of one schema, with bounded effort."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._document = Document(root)
        self._steps_left = _MOST_STEPS

    def objects(self) -> Iterator[Json]:
        """Guesses: the plain object, then with each branch of a choice, then with one name more."""
        plain = self._value(self._root, 0)
        yield plain
        for keyword in ("anyOf", "oneOf"):
            branches = self._root.get(keyword)
            for branch in branches if isinstance(branches, list) else ():
                yield _joined(plain, self._value(branch, 0))
        for keyword in ("then", "else"):
            if keyword in self._root:
                yield _joined(plain, self._value(self._root[keyword], 0))
        properties = self._root.get("properties")
        if isinstance(properties, dict):
            for name, part in properties.items():
                yield _joined(plain, {name: self._value(part, 1)})

    def _value(self, schema: Json, depth: int) -> Json:
        self._steps_left -= 1
        if depth > _DEEPEST or self._steps_left < 0:
            return None
        if not isinstance(schema, dict):
            return "text"
        for told in _told(schema):
            return told
        for reference in references_of(schema):
            return _joined(
                self._of_type(schema, depth),
                self._value(self._document.target(reference), depth + 1),
            )
        # Choices at the root are tried one after the other by `objects`.
        for keyword in ("allOf", "anyOf", "oneOf") if depth else ("allOf",):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                return self._chosen(schema, keyword, branches, depth)
        return self._of_type(schema, depth)

    def _chosen(self, schema: JsonObject, keyword: str, branches: list[Json], depth: int) -> Json:
        value = self._of_type(schema, depth)
        for branch in branches if keyword == "allOf" else branches[:1]:
            value = _joined(value, self._value(branch, depth + 1))
        return value

    def _of_type(self, schema: JsonObject, depth: int) -> Json:
        kind = _kind(schema)
        if kind == "object" or (kind is None and ("properties" in schema or not depth)):
            return self._object(schema, depth)
        if kind == "array":
            count = min(_whole(schema.get("minItems"), 0), _MOST_ITEMS)
            return [self._value(part, depth + 1) for part in _positions(schema, count)]
        if kind in {"integer", "number"}:
            return _number(schema)
        if kind == "boolean":
            return True
        return None if kind == "null" else _text(schema)

    def _object(self, schema: JsonObject, depth: int) -> JsonObject:
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        names = required if isinstance(required, list) else []
        return {
            name: self._value(known.get(name, True), depth + 1)
            for name in names
            if isinstance(name, str)
        }


def _joined(one: Json, other: Json) -> Json:
    return {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else other


def _told(schema: JsonObject) -> Iterator[Json]:
    """A value that the schema itself names."""
    for keyword in ("examples", "enum"):
        listed = schema.get(keyword)
        if isinstance(listed, list) and listed:
            yield listed[0]
    for keyword in ("const", "default"):
        if keyword in schema:
            yield schema[keyword]


def _kind(schema: JsonObject) -> Json:
    kind = schema.get("type")
    if isinstance(kind, list):
        return next((k for k in kind if k != "null"), "null")
    return kind


def _positions(schema: JsonObject, count: int) -> list[Json]:
    """The schemas of the first `count` items."""
    for keyword in ("prefixItems", "items"):
        listed = schema.get(keyword)
        if isinstance(listed, list):
            return [*listed, *[True] * count][:count]
    return [schema.get("items", True)] * count


def _number(schema: JsonObject) -> int | float:
    lowest, highest = _limit(schema, "minimum"), _limit(schema, "maximum")
    above, below = _limit(schema, "exclusiveMinimum"), _limit(schema, "exclusiveMaximum")
    step = _limit(schema, "multipleOf")
    if above is not None:
        return above + 1
    if lowest is not None:
        return lowest + 1 if schema.get("exclusiveMinimum") is True else lowest
    if step is not None:
        return step
    if below is not None:
        return min(1, below - 1)
    return 1 if highest is None else min(1, highest)


def _limit(schema: JsonObject, keyword: str) -> int | float | None:
    value = schema.get(keyword)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(schema: JsonObject) -> str:
    text = _BY_FORMAT.get(str(schema.get("format")), "text")
    shortest = min(_whole(schema.get("minLength"), 0), _MOST_PADDING)
    longest = _whole(schema.get("maxLength"), _MOST_PADDING)
    plain = text.ljust(shortest, "x")[: max(longest, 0)]
    return plain if "pattern" not in schema else _like_pattern(schema, plain)


def _like_pattern(schema: JsonObject, plain: str) -> str:
    """The first of some common spellings that fits the rules of a text; `plain` if none does."""
    rules: JsonObject = {
        keyword: schema[keyword]
        for keyword in ("pattern", "minLength", "maxLength")
        if keyword in schema
    }
    checker = Checker.compile(rules)
    return next((text for text in (plain, *_SPELLINGS) if not checker.check(text)), plain)


def _whole(value: Json, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
