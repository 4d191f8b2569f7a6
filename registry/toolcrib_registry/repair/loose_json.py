"""Reads JSON that a model wrote carelessly, where only one value can be meant.

Accepts what `json` accepts, and fences around it, single quotes, trailing commas, Python's `True`,
`False` and `None`, and one missing bracket at the very end. Text that ends inside a string was cut
off, and is refused: nobody knows what was lost. Never evaluates anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.json_value import parse_json

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_FENCE: Final = re.compile(r"\A```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```\Z", re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD: Final = re.compile(r"[A-Za-z]+")
_SPACE: Final = re.compile(r"\s*")
_ESCAPE: Final = re.compile(r"(?:\\u[dD][89abAB]..)?\\u.{4}|\\[^u]")
_PLAIN: Final = {'"': re.compile(r'[^"\\]+'), "'": re.compile(r"[^'\\]+")}
_WORDS: Final[dict[str, Json]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_DEEPEST: Final = 60
_LONGEST: Final = 1_000_000


def read_loose_json(text: str) -> Json | None:
    """The object or list that `text` holds; None if it holds none, or not certainly this one."""
    text = text.strip()
    fenced = _FENCE.match(text)
    if fenced:
        text = fenced[1].strip()
    if not text.startswith(("{", "[")) or len(text) > _LONGEST:
        return None
    try:
        return parse_json(text)
    except ToolError:
        pass
    try:
        return _Reader(text).whole()
    except _NotReadable:
        return None


class _NotReadable(Exception):  # noqa: N818 - it is an answer, not a fault
    """The text is no JSON, or it is not certain which."""


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._is_missing_bracket = False

    def whole(self) -> Json:
        found = self._value(0)
        self._skip()
        if self._at != len(self._text):
            raise _NotReadable
        return found

    def _skip(self) -> str:
        """Pass over white space; the character that comes then, or nothing at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _value(self, depth: int) -> Json:
        if depth > _DEEPEST:
            raise _NotReadable
        match self._skip():
            case "{":
                return self._object(depth)
            case "[":
                return self._list(depth)
            case '"' | "'":
                return self._string()
            case _:
                return self._scalar()

    def _object(self, depth: int) -> JsonObject:
        found: JsonObject = {}
        self._at += 1
        while not self._ends("}"):
            if self._skip() not in {'"', "'"}:
                raise _NotReadable
            key = self._string()
            if self._skip() != ":" or key in found:
                raise _NotReadable
            self._at += 1
            found[key] = self._value(depth + 1)
            self._separate("}")
        return found

    def _list(self, depth: int) -> list[Json]:
        found: list[Json] = []
        self._at += 1
        while not self._ends("]"):
            found.append(self._value(depth + 1))
            self._separate("]")
        return found

    def _ends(self, bracket: str) -> bool:
        """Whether the bracket closes here, or is the one that may be missing at the end."""
        here = self._skip()
        if here == bracket:
            self._at += 1
            return True
        if here:
            return False
        if self._is_missing_bracket:
            raise _NotReadable
        self._is_missing_bracket = True
        return True

    def _separate(self, bracket: str) -> None:
        here = self._skip()
        if here == ",":
            self._at += 1
        elif here and here != bracket:
            raise _NotReadable

    def _string(self) -> str:
        quote = self._text[self._at]
        self._at += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN[quote].match(self._text, self._at)
            if plain:
                parts.append(plain[0])
                self._at = plain.end()
            here = self._text[self._at : self._at + 1]
            if here == quote:
                self._at += 1
                return "".join(parts)
            parts.append(self._escaped())

    def _escaped(self) -> str:
        """What the escape here stands for; the end of the text stands for nothing."""
        found_escape = _ESCAPE.match(self._text, self._at)
        escape = found_escape[0] if found_escape else ""
        self._at += len(escape)
        if escape == "\\'":
            return "'"
        try:
            found = parse_json(f'"{escape}"')
        except ToolError as error:
            raise _NotReadable from error
        if not isinstance(found, str) or not escape:
            raise _NotReadable
        return found

    def _scalar(self) -> Json:
        number = _NUMBER.match(self._text, self._at)
        if number:
            self._at = number.end()
            return parse_json(number[0])
        word = _WORD.match(self._text, self._at)
        if word is None or word[0] not in _WORDS:
            raise _NotReadable
        self._at = word.end()
        return _WORDS[word[0]]
