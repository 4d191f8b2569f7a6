"""What a function's docstring tells about it: text, parameters, errors.

Reads the three common styles (Google, NumPy, reST) well enough for contracts; not a documentation
tool. What it does not recognise stays part of the text, so nothing an author wrote is lost. Used by
`function_tool`.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARAMETERS: Final = frozenset({"args", "arguments", "parameters", "params", "other parameters"})
_RAISES: Final = frozenset({"raises", "exceptions"})
_OTHER_SECTIONS: Final = frozenset(
    {
        "returns",
        "return",
        "yields",
        "yield",
        "example",
        "examples",
        "note",
        "notes",
        "warns",
        "warnings",
    }
    | {"see also", "references", "attributes", "todo"}
)
_SECTIONS: Final = _PARAMETERS | _RAISES | _OTHER_SECTIONS
# `name (int, optional): text`, `name: text`; the stars of variadic parameters are not part of the
# name.
_GOOGLE_ENTRY = re.compile(r"\*{0,2}([\w.]+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
# `name : int` or `name`, alone on its line, text indented below.
_NUMPY_ENTRY = re.compile(r"\*{0,2}([\w.]+(?:\s*,\s*[\w.]+)*)\s*(?::.*)?")
_FIELD = re.compile(r":(\w+)\s*([^:]*):\s*(.*)")
_PARAMETER_FIELDS: Final = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_RAISES_FIELDS: Final = frozenset({"raises", "raise", "except", "exception"})


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring, taken apart.

    Attributes:
        text: everything before the first section, paragraphs kept.
        parameters: description by parameter name.
        raises: description by exception name.
    """

    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    raises: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    """The parts of `text` (as `__doc__` has it; None is empty)."""
    lines = inspect.cleandoc(text or "").splitlines()
    free: list[str] = []
    parts = Docstring()
    position = 0
    while position < len(lines):
        title, is_numpy = _section_at(lines, position)
        if title is None and not _FIELD.fullmatch(lines[position]):
            free.append(lines[position])
            position += 1
            continue
        end = _section_end(lines, position + 1)
        block = lines[position:end]
        if title is None:
            _read_fields(block, parts)
        else:
            _read_section(title, block[2 if is_numpy else 1 :], parts, is_numpy=is_numpy)
        position = end
    return Docstring("\n".join(free).strip(), parts.parameters, parts.raises)


def _section_at(lines: list[str], position: int) -> tuple[str | None, bool]:
    """The title of the section that starts here, lower case, or None; and if it is NumPy style."""
    line = lines[position]
    title = line.rstrip(": ").casefold()
    if title not in _SECTIONS:
        return None, False
    below = lines[position + 1].strip() if position + 1 < len(lines) else ""
    if below.startswith("---") and not below.strip("-"):
        return title, True
    return (title, False) if line.rstrip().endswith(":") else (None, False)


def _section_end(lines: list[str], start: int) -> int:
    return next(
        (i for i in range(start, len(lines)) if _section_at(lines, i)[0] is not None), len(lines)
    )


def _read_section(title: str, body: list[str], parts: Docstring, *, is_numpy: bool) -> None:
    target = (
        parts.parameters if title in _PARAMETERS else parts.raises if title in _RAISES else None
    )
    if target is None:
        return
    for head, rest in _entries(body):
        match = (_NUMPY_ENTRY if is_numpy else _GOOGLE_ENTRY).fullmatch(head)
        if match is None:
            continue
        first = "" if is_numpy else match.group(2)
        for name in match.group(1).split(","):
            target[name.strip()] = _joined([first, *rest])


def _entries(body: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each line at the section's own indentation, with the deeper lines that follow it."""
    filled = [line for line in body if line.strip()]
    if not filled:
        return
    margin = len(filled[0]) - len(filled[0].lstrip())
    head, rest = filled[0].strip(), list[str]()
    for line in filled[1:]:
        if len(line) - len(line.lstrip()) > margin:
            rest.append(line)
            continue
        yield head, rest
        head, rest = line.strip(), []
    yield head, rest


def _read_fields(block: list[str], parts: Docstring) -> None:
    for head, rest in _entries(block):
        match = _FIELD.fullmatch(head)
        if match is None:
            continue
        kind, subject, first = match.groups()
        # `:param int name:` may hold the type before the name.
        name = subject.split()[-1].lstrip("*") if subject.strip() else ""
        if name and kind in _PARAMETER_FIELDS:
            parts.parameters[name] = _joined([first, *rest])
        elif name and kind in _RAISES_FIELDS:
            parts.raises[name] = _joined([first, *rest])


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
