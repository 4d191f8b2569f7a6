"""One member of a JSON document with comments, set or taken out without touching the rest.

A client's settings belong to the user: comments, order, line ends and indentation stay. Pure; knows
nothing of clients.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

_SPACE: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR: Final = re.compile(r'"(?:\\.|[^"\\])*"|[^\s,\]\}\[\{:"/]+', re.DOTALL)
_REMARK: Final = re.compile(r"[ \t]*(?:/\*[^\n]*?\*/[ \t]*)*(?://[^\r\n]*)?(?=\r?\n)")
_DEEPEST: Final = 100


@dataclass(slots=True)
class _Member:
    """A key with its value, by their places in the text."""

    name: str
    start: int
    value: _Value


@dataclass(slots=True)
class _Value:
    """A value by its place; the members of an object."""

    start: int
    end: int
    is_object: bool = False
    members: list[_Member] = field(default_factory=list)

    def member(self, name: str) -> _Member | None:
        """The last member of that name: the one that counts."""
        return next((m for m in reversed(self.members) if m.name == name), None)


class _Reader:
    """Finds where the values of a document are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> _Value:
        self._skip()
        value = self._value(0)
        self._skip()
        if self._at != len(self._text):
            raise self._odd("there is something after its end")
        return value

    def _value(self, depth: int) -> _Value:
        if depth > _DEEPEST:
            raise self._odd("it is nested too deeply")
        start = self._at
        match self._peek():
            case "{":
                members = self._object(depth)
                return _Value(start, self._at, is_object=True, members=members)
            case "[":
                self._list(depth)
            case _:
                self._scalar()
        return _Value(start, self._at)

    def _object(self, depth: int) -> list[_Member]:
        members = []
        self._take("{")
        while self._peek() != "}":
            start = self._at
            name = json.loads(self._scalar())
            self._skip()
            self._take(":")
            self._skip()
            members.append(_Member(str(name), start, self._value(depth + 1)))
            self._comma("}")
        self._take("}")
        return members

    def _list(self, depth: int) -> None:
        self._take("[")
        while self._peek() != "]":
            self._value(depth + 1)
            self._comma("]")
        self._take("]")

    def _comma(self, end: str) -> None:
        self._skip()
        if self._peek() != end:
            self._take(",")
            self._skip()

    def _scalar(self) -> str:
        match = _SCALAR.match(self._text, self._at)
        if match is None:
            raise self._odd("a value is missing")
        self._at = match.end()
        return match.group()

    def _take(self, mark: str) -> None:
        if self._peek() != mark:
            raise self._odd(f"{mark!r} is missing")
        self._at += 1
        if mark in "{[":
            self._skip()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _odd(self, text: str) -> ToolError:
        line = self._text.count("\n", 0, self._at) + 1
        return ToolError(INVALID_SETTINGS, f"line {line}: {text}")


def text_of_member(text: str, path: tuple[str, ...]) -> str | None:
    """How the value at `path` is written; None if there is none.

    Raises:
        ToolError: `invalid_settings`: it is no JSON.
    """
    value = _Reader(text).document()
    for name in path:
        member = value.member(name)
        if member is None:
            return None
        value = member.value
    return text[value.start : value.end]


def with_member(text: str, path: tuple[str, ...], value: Json | str, *, raw: bool = False) -> str:
    """`text` with the value at `path`, and the objects above it, if they are not there yet.

    Args:
        text: the document; empty is an empty object.
        path: the keys from the top.
        value: what to put there.
        raw: `value` is text as it stood in a file before.

    Raises:
        ToolError: `invalid_settings`: it is no JSON, or something on the way is no object.
    """
    if not text.strip("\ufeff \t\r\n"):
        text = text.strip(" \t\r\n") + "{}\n"
    parent = _Reader(text).document()
    for depth, name in enumerate(path):
        if not parent.is_object:
            where = ".".join(path[:depth]) or "the top"
            raise ToolError(INVALID_SETTINGS, f"{where} is no object, so {name!r} cannot be in it")
        member = parent.member(name)
        rest = path[depth + 1 :]
        if member is None:
            return _inserted(text, parent, name, _written(value, rest, raw=raw), raw=raw)
        if not rest:
            indent = _indent_at(text, member.start)
            new = _written(value, (), raw=raw)
            new = new if raw else _indented(new, indent, text)
            return text[: member.value.start] + new + text[member.value.end :]
        parent = member.value
    raise ValueError("a path has at least one key")


def without_member(text: str, path: tuple[str, ...]) -> str:
    """`text` without the member at `path`; as it is if there is none.

    Raises:
        ToolError: `invalid_settings`: it is no JSON.
    """
    parent = _Reader(text).document()
    for name in path[:-1]:
        member = parent.member(name)
        if member is None:
            return text
        parent = member.value
    member = parent.member(path[-1])
    if member is None:
        return text
    return _cut(text, parent, member)


def _cut(text: str, parent: _Value, member: _Member) -> str:
    number = parent.members.index(member)
    end = member.value.end
    comma = _SPACE.match(text, end)
    after = comma.end() if comma else end
    if text[after : after + 1] == ",":
        return _without_blank(text, member.start, after + 1)
    if number == 0:
        return _without_blank(text, member.start, end)
    # The last one: the comma before it goes, too, what stands between them stays.
    before = parent.members[number - 1].value.end
    gap = _SPACE.match(text, before)
    at = gap.end() if gap else before
    shortened = text[:at] + text[at + 1 :]
    return _without_blank(shortened, member.start - 1, end - 1)


def _without_blank(text: str, start: int, end: int) -> str:
    """Cut, with the line if nothing else is on it."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if line_end >= 0 and not text[line_start:start].strip() and not text[end:line_end].strip():
        return text[:line_start] + text[line_end + 1 :]
    return text[:start] + text[end:].lstrip(" ")


def _written(value: Json | str, rest: tuple[str, ...], *, raw: bool) -> str:
    """The value inside the objects that are missing above it."""
    text = str(value) if raw else json.dumps(value, indent=2, ensure_ascii=False)
    for name in reversed(rest):
        inner = text if raw else text.replace("\n", "\n  ")
        text = "{\n  " + json.dumps(name, ensure_ascii=False) + ": " + inner + "\n}"
    return text


def _inserted(text: str, parent: _Value, name: str, written: str, *, raw: bool) -> str:
    key = json.dumps(name, ensure_ascii=False) + ": "
    newline = _newline(text)
    if not parent.members:
        outer = _indent_at(text, parent.start)
        indent = outer + _unit(text)
        inside = text[parent.start + 1 : parent.end - 1].rstrip()
        shaped = written if raw else _indented(written, indent, text)
        new = "{" + inside + newline + indent + key + shaped
        return text[: parent.start] + new + newline + outer + "}" + text[parent.end :]
    last = parent.members[-1]
    indent = _indent_at(text, last.start)
    new = key + (written if raw else _indented(written, indent, text))
    at = last.value.end
    gap = _SPACE.match(text, at)
    comma = gap.end() if gap else at
    # What is remarked on the same line belongs to the member that was there.
    if text[comma : comma + 1] == ",":
        rest = _line_rest(text, comma + 1)
        return text[:rest] + newline + indent + new + "," + text[rest:]
    rest = _line_rest(text, at)
    return text[:at] + "," + text[at:rest] + newline + indent + new + text[rest:]


def _line_rest(text: str, at: int) -> int:
    """Where the line ends if there is nothing but a remark on it any more; else `at`."""
    match = _REMARK.match(text, at)
    return match.end() if match else at


def _indented(written: str, indent: str, text: str) -> str:
    """A value as the file writes them: its indentation, its unit, its line ends."""
    unit, newline = _unit(text), _newline(text)
    lines = written.replace("\r\n", "\n").split("\n")
    shaped = [lines[0]]
    for line in lines[1:]:
        bare = line.lstrip(" ")
        depth = (len(line) - len(bare)) // 2
        shaped.append(indent + unit * depth + bare)
    return newline.join(shaped)


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))].lstrip("\ufeff")


def _unit(text: str) -> str:
    match = re.search(r"\n([ \t]+)\S", text)
    found = match.group(1) if match else "  "
    return "\t" if found.startswith("\t") else found[:8]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
