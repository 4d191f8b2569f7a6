"""How an expression may be spelt: JavaScript's and JSONPath's habits, written as ours.

Models write `&&`, `null` and `===` from habit, so those are read; what cannot be read (`?.`,
`a ? b : c`, `$..x`) is refused with the form that works. The outcome is text for Python's parser,
which never sees a character that was not looked at here: no prefix of a string, no escape and no
odd letter reaches it.
"""

from __future__ import annotations

import keyword
import re
from typing import Final

from toolcrib_protocol.errors import EXPRESSION_BUDGET, ToolError
from toolcrib_protocol.expression.faults import cut, fault
from toolcrib_protocol.expression.limits import MOST_CHARACTERS

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<mark>===|!==|==|!=|<=|>=|&&|\|\||\?\?|\?\.|=>|->|\*\*|//|\.\.|\S)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:u(?P<high>[dD][89abAB]\w\w)\\u(?P<low>[dD][c-fC-F]\w\w)|u(?P<four>\w{4})|x(?P<two>\w\w)"
    r"|(?P<one>.))",
    re.DOTALL | re.ASCII,
)
_SIMPLE_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "\\": "\\",
    "/": "/",
    "'": "'",
    '"': '"',
    "\n": "",
}
_WORDS: Final = {"null": "None", "undefined": "None", "true": "True", "false": "False"}
_GRAMMAR: Final = frozenset(
    ("and", "or", "not", "in", "is", "if", "else", "for", "None", "True", "False")
)
_OTHER_GRAMMAR: Final = frozenset(keyword.kwlist) - _GRAMMAR
_MARKS: Final = {"===": "==", "!==": "!=", "&&": "and", "||": "or", "!": "not"}
_KNOWN_MARKS: Final = frozenset("+-*/%<>()[]{},.:") | {"==", "!=", "<=", ">=", "//"}
_ADVICE: Final = {
    "?.": "there is no `?.`; write default(a.b, null)",
    "??": "there is no `??`; write default(a, b)",
    "?": "there is no `? :`; write `a if condition else b`",
    "=>": "there are no functions in expressions; write a comprehension: [x.id for x in list]",
    "->": "there are no functions in expressions; write a comprehension: [x.id for x in list]",
    "**": "there is no `**`",
    "..": "there is no `..`; write the whole path, or a comprehension over a list",
    "=": "`=` means nothing here; write == to compare",
    "&": "there is no `&`; write `and`",
    "|": "there is no `|`; write `or`, or a comprehension instead of a filter",
    "`": "there are no template texts; write 'a' + str(b)",
    "@": "there is no `@`; name the item: [x for x in list if x.price > 3]",
    "$": "`$` is the whole value and stands at the start, as in $.rows[5]",
}


def python_text(text: str, *, dollar: str = "") -> str:
    """`text` as Python's parser reads it.

    Args:
        text: the expression as it was written.
        dollar: the name that a leading `$` stands for; empty: `$.name` is `name`.

    Raises:
        ToolError: `invalid_expression`, `expression_budget` if it is too long.
    """
    if len(text) > MOST_CHARACTERS:
        raise ToolError(
            EXPRESSION_BUDGET,
            f"an expression of {len(text):,} characters is over the limit of {MOST_CHARACTERS:,}",
        )
    return _Spelling(text, dollar).written()


class _Spelling:
    """Goes through one expression, token by token."""

    def __init__(self, text: str, dollar: str) -> None:
        self._text = text
        self._dollar = dollar
        self._made: list[str] = []
        self._end_of_last = -1
        self._last_kind = ""

    def written(self) -> str:
        for found in _TOKEN.finditer(self._text):
            kind = str(found.lastgroup)
            if kind != "blank":
                self._take(kind, found.group(), found)
                self._last_kind, self._end_of_last = kind, found.end()
        return " ".join(self._made)

    def _take(self, kind: str, token: str, found: re.Match[str]) -> None:
        is_glued = found.start() == self._end_of_last
        if kind == "text":
            if is_glued and self._last_kind == "word":
                raise fault(f"a text has no prefix: {cut(self._made[-1] + token)}")
            self._made.append(repr(_unescaped(token[1:-1])))
        elif kind == "number":
            self._number(token, is_glued=is_glued)
        elif kind == "word":
            self._word(token, is_glued=is_glued)
        else:
            self._mark(token)

    def _number(self, token: str, *, is_glued: bool) -> None:
        if is_glued and self._last_kind == "number":
            raise fault(f"{cut(self._made[-1] + token)!r} is not a number")
        if token.startswith(".") and is_glued and (self._last_kind == "word" or self._closes()):
            raise fault(f"an item of a list is written [{token[1:]}], not {token}")
        self._made.append(token)

    def _closes(self) -> bool:
        return bool(self._made) and self._made[-1] in {"]", ")"}

    def _word(self, token: str, *, is_glued: bool) -> None:
        if is_glued and self._last_kind == "number":
            raise fault(f"{cut(self._made[-1] + token)!r} is not a number")
        is_key = bool(self._made) and self._made[-1] == "."
        if not token.isascii():
            form = f"[{token!r}]" if is_key else "a key in brackets, as in input['größe'],"
            raise fault(f"{cut(token)!r} is not plain ASCII; write {form} instead")
        if is_key and (token in _GRAMMAR or token in _OTHER_GRAMMAR):
            self._made[-1:] = ["[", repr(token), "]"]
        elif is_key:
            self._made.append(token)
        elif token in _OTHER_GRAMMAR:
            raise fault(f"{token!r} means nothing in an expression")
        else:
            self._made.append(_WORDS.get(token, token))

    def _mark(self, mark: str) -> None:
        if mark == "$" and not self._made:
            self._made.append(self._dollar or "$")
        elif self._made == ["$"] and mark == ".":
            self._made.clear()
        elif mark in _MARKS:
            self._made.append(_MARKS[mark])
        elif mark in _KNOWN_MARKS and self._made != ["$"]:
            self._made.append(mark)
        elif mark in {"'", '"'}:
            raise fault(f"a text is not closed: {cut(self._text)}")
        else:
            raise fault(_ADVICE.get(mark, f"{mark!r} means nothing in an expression"))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    try:
        if high := found["high"]:
            return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(found["low"], 16) & 0x3FF))
        if code := found["four"] or found["two"]:
            return _sound(int(code, 16))
    except ValueError:
        raise fault(f"{found.group()!r} is not a character") from None
    if found["one"] not in _SIMPLE_ESCAPES:
        raise fault(f"unknown escape {found.group()!r}; write \\\\ for a backslash")
    return _SIMPLE_ESCAPES[found["one"]]


def _sound(code: int) -> str:
    if 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004 - the surrogates of Unicode
        raise fault(f"\\u{code:04x} is half a character")
    return chr(code)
