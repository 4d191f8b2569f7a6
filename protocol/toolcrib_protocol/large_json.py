"""JSON that is too large to be read or written at one go.

Python's reader and writer hold the interpreter until they are done: a second for a hundred
megabytes, in which a server answers nobody, even from a thread. Here the outer levels are taken
apart in Python, so that other threads get their turn between the items. Used where results are kept
and read again.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import MOST_BYTES, dump_json, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolcrib_protocol.json_value import Json

LARGE: Final = 1_000_000
"""From how many characters on it is worth the trouble."""
_OPENED_LEVELS: Final = 2
_PIECE: Final = 65_536
_FEW: Final = 100
"""So many items are written at one go, unless one of them is a container of more than that."""
_BLANK: Final = re.compile(r"[ \t\n\r]*")


def json_pieces(value: Json) -> Iterator[str]:
    """The compact JSON text of `value`, in pieces of bounded work.

    Raises:
        ToolError: `invalid_json` if the value cannot be written.
    """
    gathered: list[str] = []
    room = _PIECE
    for piece in _pieces(value, 0):
        gathered.append(piece)
        room -= len(piece)
        if room < 0:
            yield "".join(gathered)
            gathered, room = [], _PIECE
    if gathered:
        yield "".join(gathered)


def _pieces(value: Json, level: int) -> Iterator[str]:
    if level <= _OPENED_LEVELS and isinstance(value, list) and _is_long(value):
        yield from _joined(_list_pieces(value, level), "[]")
    elif level <= _OPENED_LEVELS and isinstance(value, dict) and _is_long([*value.values()]):
        yield from _joined(_object_pieces(value, level), "{}")
    else:
        yield dump_json(value)


def _is_long(items: list[Json]) -> bool:
    """Whether a container is opened; one that holds a long one may itself be short."""
    return len(items) > _FEW or any(map(_is_container, items))


def _is_container(value: Json) -> bool:
    return isinstance(value, list | dict) and len(value) > _FEW


def _joined(groups: Iterable[Iterator[str]], marks: str) -> Iterator[str]:
    """Groups of items with a comma between them, in brackets or braces."""
    before = marks[0]
    for group in groups:
        yield before
        yield from group
        before = ","
    yield marks[1]


def _list_pieces(value: list[Json], level: int) -> Iterator[Iterator[str]]:
    for start in range(0, len(value), _FEW):
        items = value[start : start + _FEW]
        if any(map(_is_container, items)):
            yield from (_pieces(item, level + 1) for item in items)
        else:
            yield iter((dump_json(items)[1:-1],))


def _object_pieces(value: dict[str, Json], level: int) -> Iterator[Iterator[str]]:
    waiting = iter(value.items())
    while some := dict(islice(waiting, _FEW)):
        if any(map(_is_container, some.values())):
            yield from (_member(key, item, level) for key, item in some.items())
        else:
            yield iter((dump_json(some)[1:-1],))


def _member(key: str, item: Json, level: int) -> Iterator[str]:
    yield f"{dump_json(key)}:"
    yield from _pieces(item, level + 1)


def regrouped(pieces: Iterable[str], length: int) -> Iterator[str]:
    """The same text in pieces of exactly `length` characters; the last one may be shorter."""
    gathered: list[str] = []
    have = 0
    for piece in pieces:
        start = 0
        while have + len(piece) - start >= length:
            end = start + length - have
            yield "".join((*gathered, piece[start:end]))
            gathered, have, start = [], 0, end
        gathered.append(piece[start:])
        have += len(piece) - start
    if have:
        yield "".join(gathered)


def parse_large_json(text: str) -> Json:
    """The value that `text` writes; to be run in a thread.

    Raises:
        ToolError: `invalid_json`.
    """
    if len(text) < LARGE or len(text) > MOST_BYTES:
        return parse_json(text)
    try:
        value, end = _Reader(text).value(_skipped(text, 0), 0)
    except (ValueError, IndexError, RecursionError):
        return parse_json(text)
    return value if _skipped(text, end) == len(text) else parse_json(text)


def _skipped(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _refused(constant: str) -> float:
    raise ValueError(constant)


_DECODER: Final = json.JSONDecoder(parse_constant=_refused)


class _Reader:
    """Takes the outer levels of one text apart; anything unusual is a `ValueError`."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int, level: int) -> tuple[Json, int]:
        mark = self._text[at]
        if level < _OPENED_LEVELS and mark == "[":
            return self._list(_skipped(self._text, at + 1), level)
        if level < _OPENED_LEVELS and mark == "{":
            return self._object(_skipped(self._text, at + 1), level)
        value: Json
        value, end = _DECODER.raw_decode(self._text, at)
        return value, end

    def _list(self, at: int, level: int) -> tuple[Json, int]:
        items: list[Json] = []
        if self._text[at] == "]":
            return items, at + 1
        while True:
            item, at = self.value(at, level + 1)
            items.append(item)
            at, is_last = self._after(at, "]")
            if is_last:
                return items, at

    def _object(self, at: int, level: int) -> tuple[Json, int]:
        found: dict[str, Json] = {}
        if self._text[at] == "}":
            return found, at + 1
        while True:
            key, at = _DECODER.raw_decode(self._text, at)
            at = _skipped(self._text, at)
            if not isinstance(key, str) or self._text[at] != ":":
                raise ValueError("not a key")
            found[key], at = self.value(_skipped(self._text, at + 1), level + 1)
            at, is_last = self._after(at, "}")
            if is_last:
                return found, at

    def _after(self, at: int, closing: str) -> tuple[int, bool]:
        """Where it goes on after an item, and whether that was the last one."""
        at = _skipped(self._text, at)
        if self._text[at] == closing:
            return at + 1, True
        if self._text[at] != ",":
            raise ValueError("neither a comma nor the end")
        return _skipped(self._text, at + 1), False
