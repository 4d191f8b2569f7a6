"""JSON Pointers (RFC 6901): how everything here says where in a value something is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def below(place: str, step: str | int) -> str:
    """The pointer to what is at `step` inside of what `place` points at."""
    return f"{place}/{str(step).replace('~', '~0').replace('/', '~1')}"


def pointer(path: Iterable[str | int]) -> str:
    """The pointer of a path."""
    place = ""
    for step in path:
        place = below(place, step)
    return place


def steps(place: str) -> list[str]:
    """The names (and positions, as text) on the way; none for the whole."""
    return [part.replace("~1", "/").replace("~0", "~") for part in place.split("/")[1:]]
