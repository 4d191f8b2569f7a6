"""A value that fits one schema and not another, looked for among a few likely ones.

What the rules could not decide is often decided by trying. Finding none proves nothing.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.schema.sample import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.schema.checker import Checker

_LONGEST: Final = 200
_MOST: Final = 60
_LIKELY: Final[tuple[Json, ...]] = (
    None, True, False, 0, 1, -1, 0.5, 1_000_000, "", "a", "a" * 300, [], ["a"], ["a", "a"], {},
    {"a": 1},
)  # fmt: skip


def witness(schema: JsonObject, fits: Checker, refuses: Checker) -> str | None:
    """A value of `schema` that the other checker refuses, as short JSON text."""
    for value in islice(_candidates(schema), _MOST):
        if not fits.check(value) and refuses.check(value):
            text = dump_json(value)
            return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return None


def _candidates(schema: JsonObject) -> Iterator[JsonObject]:
    """The smallest value, and the same with likely values of each property."""
    small = sample(schema)
    if small is None:
        return
    yield small
    properties = schema.get("properties")
    named = properties if isinstance(properties, dict) else {}
    for name, part in named.items():
        if name not in small and isinstance(part, dict):
            inner = sample({**schema, "required": [*small, name]})
            if inner is not None:
                yield inner
    for name in named:
        yield from ({**small, name: value} for value in _LIKELY)
