"""Where a key stands in a TOML text.

The parser of the standard library tells no positions. The text is known to be valid here, so it is
cut into statements (a table heading, or a key with its value), and each is parsed alone; done only
when there is something to say about a key.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Path = tuple[str | int, ...]

# A string, a comment, or a sign that opens or closes something.
_TOKEN: Final = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*|[\[\]{}]')
_CLOSING: Final = {'"""': re.compile(r'\\.|"""'), "'''": re.compile("'''")}


class Lines:
    """The lines of the keys of one text; it is looked through at the first question."""

    def __init__(self, text: str) -> None:
        self._text = text

    def of(self, path: Sequence[str | int]) -> int | None:
        """The line of the key at `path`, or of the nearest table around it, if there is one."""
        for length in range(len(path), 0, -1):
            found = self._places.get(tuple(path[:length]))
            if found is not None:
                return found
        return None

    @cached_property
    def _places(self) -> dict[Path, int]:
        return _places(self._text)


def _places(text: str) -> dict[Path, int]:
    places: dict[Path, int] = {}
    table: Path = ()
    counts: dict[Path, int] = {}
    # Not `splitlines`: a line of TOML ends nowhere else, whatever stands in a string.
    lines = text.replace("\r\n", "\n").split("\n")
    for number, parsed, statement in _statements(lines):
        if not statement.startswith("["):
            for path in _paths(parsed):
                places.setdefault((*table, *path), number)
            continue
        table = _heading(parsed)
        if statement.startswith("[["):
            counts[table] = counts.get(table, -1) + 1
            table = (*table, counts[table])
        for length in range(1, len(table) + 1):
            places.setdefault(table[:length], number)
    return places


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, dict[str, object], str]]:
    """Each statement with the number of its first line, and parsed."""
    start = 0
    while start < len(lines):
        end = _end(lines, start)
        statement = "\n".join(lines[start:end])
        # What the scanner cuts wrongly is left out: then the line of its table is told.
        with suppress(tomllib.TOMLDecodeError):
            parsed = tomllib.loads(statement)
            if parsed:
                yield start + 1, parsed, statement.lstrip()
        start = end


def _end(lines: Sequence[str], start: int) -> int:
    """The line after a statement: the first where no bracket and no long string is open."""
    depth, quote = 0, ""
    for number in range(start, len(lines)):
        depth, quote = _scanned(lines[number], depth, quote)
        if depth <= 0 and not quote:
            return number + 1
    return len(lines)


def _scanned(line: str, depth: int, quote: str) -> tuple[int, str]:
    """How deep inside brackets, and in which long string, the end of a line is."""
    at = 0
    while found := (_CLOSING[quote] if quote else _TOKEN).search(line, at):
        at, token = found.end(), found.group()
        if quote:
            quote = "" if token == quote else quote
        elif token in _CLOSING:
            quote = token
        elif token in {"[", "{"}:
            depth += 1
        elif token in {"]", "}"}:
            depth -= 1
    return depth, quote


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
