"""The faults of expressions, in words that teach the right form.

A missing value has its own class because `default` and `exists` take it for an answer; every other
fault passes through them.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from toolcrib_protocol.errors import INVALID_EXPRESSION, ToolError
from toolcrib_protocol.names import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolcrib_protocol.json_value import Json

Where: TypeAlias = ast.expr | str
"""The value that a fault is about: a part of the expression, or a name for it."""

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_SHOWN: Final = 8
_MOST_COMPARED: Final = 2_000
_LONGEST_SHOWN: Final = 60


class MissingValueError(ToolError):
    """A key, an item or the output of a step that is not there."""

    def __init__(self, message: str) -> None:
        super().__init__(INVALID_EXPRESSION, message, details={"missing": True})


def fault(message: str) -> ToolError:
    """A fault of the expression itself, or of the types it meets."""
    return ToolError(INVALID_EXPRESSION, message)


def cut(text: str) -> str:
    """`text`, short enough for a message."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def written(where: Where) -> str:
    """How the value is written in the expression."""
    return cut(where if isinstance(where, str) else ast.unparse(where))


def kind_of(value: Json) -> str:
    """What a value is, in JSON's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"


def is_word(key: str) -> bool:
    """Whether `key` may be written after a dot."""
    return _WORD.fullmatch(key) is not None


def step_to(key: str) -> str:
    """How `key` is written behind a value: `.key`, or in brackets."""
    return f".{key}" if is_word(key) else f"[{key!r}]"


def no_key(key: str, known: Iterable[str], where: str) -> MissingValueError:
    """There is no such key; says which one was probably meant."""
    keys = [str(each) for _, each in zip(range(_MOST_COMPARED), known, strict=False)]
    close = nearest(key, keys, limit=1)
    text = f"no key {cut(key)!r} in {where}"
    if close:
        return MissingValueError(f"{text}; did you mean {cut(close[0])!r}?")
    if not keys:
        return MissingValueError(f"{text}; it is empty")
    shown = ", ".join(cut(each) for each in keys[:_MOST_SHOWN])
    return MissingValueError(f"{text}; it has {shown}{', ...' if len(keys) > _MOST_SHOWN else ''}")


def unknown_name(name: str, known: Mapping[str, Iterable[str]]) -> ToolError:
    """There is no such name; says which one was probably meant.

    Args:
        name: what was written.
        known: the names that may be used, each with the keys of its value if it is an object.
    """
    for root, keys in known.items():
        if name in keys:
            return fault(f"unknown name {name!r}; write {root}{step_to(name)}")
    close = nearest(name, known, limit=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(known) or 'none'}"
    return fault(f"unknown name {cut(name)!r}; {hint}")
