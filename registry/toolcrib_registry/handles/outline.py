"""What a large value looks like: its shape in one line, and a small piece of it.

For whoever has to decide what to read on. Pure.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import dump_json
from toolcrib_registry.handles.sizes import is_value_larger

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

_LONGEST_SHAPE: Final = 600
_MOST_KEYS: Final = 20
_DEEPEST: Final = 4
# From generous to meagre: items of a list, characters of a text, keys of an object, depth.
_CUTS: Final = ((10, 400, 40, 6), (3, 160, 30, 5), (2, 60, 15, 4), (1, 20, 8, 3), (0, 10, 4, 2))


def shape_of(value: Json) -> str:
    """Types, keys and lengths: `{rows: [10,000 x {id: number, name: text(12)}], total: number}`."""
    text = _shape(value, 0)
    return text if len(text) <= _LONGEST_SHAPE else f"{text[: _LONGEST_SHAPE - 3]}..."


def _shape(value: Json, depth: int) -> str:
    if isinstance(value, str):
        return f"text({len(value):,})"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if value is None:
        return "null"
    if isinstance(value, list):
        if not value:
            return "[]"
        inner = _shape(value[0], depth + 1) if depth < _DEEPEST else "..."
        return f"[{len(value):,} x {inner}]"
    if depth >= _DEEPEST:
        return f"{{{len(value):,} keys}}"
    shown = [f"{key}: {_shape(item, depth + 1)}" for key, item in islice(value.items(), _MOST_KEYS)]
    more = [f"... {len(value):,} keys"] if len(value) > _MOST_KEYS else []
    return f"{{{', '.join([*shown, *more])}}}"


def excerpt_of(value: Json, most: int) -> Json:
    """A part of `value` of at most about `most` bytes, of the same form; lists are cut behind."""
    for items, characters, keys, depth in _CUTS:
        small = _cut(value, items, characters, keys, depth)
        if not is_value_larger(small, most):
            return small
    return None


def _cut(value: Json, items: int, characters: int, keys: int, depth: int) -> Json:
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[:characters]}..."
    if isinstance(value, list):
        if depth <= 0:
            return []
        return [_cut(item, items, characters, keys, depth - 1) for item in value[:items]]
    if isinstance(value, dict):
        kept = islice(value.items(), keys if depth > 0 else 0)
        return {key: _cut(item, items, characters, keys, depth - 1) for key, item in kept}
    return value


def shown(value: Json) -> str:
    """`value` as a model reads it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else dump_json(value)


def cut_to_bytes(text: str, most: int) -> str:
    """The beginning of `text` that takes at most `most` bytes of UTF-8."""
    start = text[:most]
    encoded = start.encode("utf-8", "surrogatepass")
    if len(encoded) <= most:
        return start
    return encoded[:most].decode("utf-8", "ignore")
