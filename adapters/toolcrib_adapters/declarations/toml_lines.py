"""Where a key stands in a TOML text.

The parser of the standard library tells no positions. The text is known to be valid here, so it is
cut into statements (a table heading, or a key with its value) by trying how many lines one takes;
done only when there is something to say about a key.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Path = tuple[str | int, ...]

_MOST_LINES: Final = 400
"""A value of more lines is not looked into: what follows is found again at the next heading."""


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line of the key at `path`, or of the nearest table around it; None if there is none."""
    lines = _places(text)
    for length in range(len(path), 0, -1):
        found = lines.get(tuple(path[:length]))
        if found is not None:
            return found
    return None


def _places(text: str) -> dict[Path, int]:
    places: dict[Path, int] = {}
    table: Path = ()
    counts: dict[Path, int] = {}
    for number, statement in _statements(text.splitlines()):
        parsed = tomllib.loads(statement)
        paths = list(_paths(parsed))
        if statement.lstrip().startswith("[["):
            name = _heading(parsed)
            counts[name] = counts.get(name, -1) + 1
            table = (*name, counts[name])
        elif statement.lstrip().startswith("["):
            table = _heading(parsed)
        else:
            for path in paths:
                places.setdefault((*table, *path), number)
            continue
        for length in range(1, len(table) + 1):
            places.setdefault(table[:length], number)
    return places


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each statement with the number of its first line."""
    start = 0
    while start < len(lines):
        if not lines[start].strip() or lines[start].lstrip().startswith("#"):
            start += 1
            continue
        end = _end(lines, start)
        if end is not None:
            yield start + 1, "\n".join(lines[start:end])
        start = end or start + 1


def _end(lines: Sequence[str], start: int) -> int | None:
    for end in range(start + 1, min(start + _MOST_LINES, len(lines)) + 1):
        try:
            tomllib.loads("\n".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return None


def _heading(parsed: object) -> Path:
    """The name in a heading: the only path in it."""
    path: list[str | int] = []
    while isinstance(parsed, dict | list) and parsed:
        if isinstance(parsed, list):
            parsed = parsed[0]
            continue
        key, parsed = next(iter(parsed.items()))
        path.append(key)
    return tuple(path)


def _paths(value: object, path: Path = ()) -> Iterator[Path]:
    """Every path inside a value, itself included."""
    if path:
        yield path
    items: Iterator[tuple[str | int, object]] = iter(())
    if isinstance(value, dict):
        items = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    for key, inner in items:
        yield from _paths(inner, (*path, key))
