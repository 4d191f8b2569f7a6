"""Handles in the arguments of a call: `{"$handle": "h_...", "path": "rows[0].id"}`.

An object whose keys are `$handle` and, if wanted, `path` or `filter`, wherever a value may stand.
No tool has a parameter that looks like this, so nothing else is ever taken for a handle. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolcrib_protocol.json_value import Json

MARK: Final = "$handle"
PATH: Final = "path"
FILTER: Final = "filter"
_KEYS: Final = frozenset({MARK, PATH, FILTER})
_DEEPEST: Final = 50


@dataclass(frozen=True, slots=True)
class HandleReference:
    """A handle in an argument, and what of it is meant."""

    handle: str
    path: str | None = None
    filter: str | None = None


def references_in(value: Json) -> list[HandleReference]:
    """The handles that occur in `value`, each once, in order."""
    return list(dict.fromkeys(_found(value, 0)))


def _found(value: Json, depth: int) -> Iterator[HandleReference]:
    reference = reference_of(value) if isinstance(value, dict) and MARK in value else None
    if reference is not None:
        yield reference
    elif depth < _DEEPEST and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, dict | list):
                yield from _found(item, depth + 1)


def reference_of(value: dict[str, Json]) -> HandleReference | None:
    """The handle that an object is, or None if it is an object of the tool's own."""
    handle, path, chosen = value.get(MARK), value.get(PATH), value.get(FILTER)
    if not isinstance(handle, str) or not value.keys() <= _KEYS:
        return None
    if not isinstance(path, str | None) or not isinstance(chosen, str | None):
        return None
    return HandleReference(handle, path, chosen)


def replaced(value: Json, values: Callable[[HandleReference], Json], depth: int = 0) -> Json:
    """`value` with each handle replaced by what it stands for."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        reference = reference_of(value) if MARK in value else None
        if reference is not None:
            return values(reference)
        return {key: replaced(item, values, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, values, depth + 1) for item in value]
    return value
