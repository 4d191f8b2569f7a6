"""Values with `${...}` in them: arguments, outputs and texts of plans.

`${expr}` alone keeps the type of its value; with text around it, it becomes text. Keys of objects
are never templates, and what an expression gave is never looked through again, so a tool's answer
cannot smuggle one in. `$${` writes `${` itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.expression.comparison import check_depth
from toolcrib_protocol.expression.conversion import as_text
from toolcrib_protocol.expression.evaluation import evaluate
from toolcrib_protocol.expression.faults import cut, fault
from toolcrib_protocol.expression.limits import Meter
from toolcrib_protocol.expression.parsing import PLAN_NAMES, Expression, parse_expression
from toolcrib_protocol.expression.reads import reads_of
from toolcrib_protocol.json_pointer import below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.expression.evaluation import Scope
    from toolcrib_protocol.expression.reads import Read
    from toolcrib_protocol.json_value import Json

_OPENING: Final = re.compile(r"\$\$\{|\$\{")
# A text in quotes may hold braces; anything else that opens has to close.
_INSIDE: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}]""", re.DOTALL)
_MUSTACHE: Final = re.compile(r"\{\{\s*([^{}]{1,80}?)\s*\}\}")


@dataclass(frozen=True, slots=True)
class _Text:
    """A text with expressions in it."""

    pieces: tuple[str | Expression, ...]


_Node: TypeAlias = "str | int | float | Expression | _Text | list[_Node] | dict[str, _Node] | None"


@dataclass(frozen=True, slots=True)
class Template:
    """A JSON value whose texts may hold expressions.

    Attributes:
        expressions: all of them, each with the JSON Pointer of its text.
    """

    expressions: tuple[tuple[str, Expression], ...]
    _root: _Node

    @property
    def is_constant(self) -> bool:
        """Whether nothing has to be evaluated."""
        return not self.expressions

    def reads(self) -> tuple[Read, ...]:
        """Everything that the expressions may read."""
        found = [read for _, expression in self.expressions for read in reads_of(expression)]
        return tuple(dict.fromkeys(found))

    def fill(self, scope: Scope, meter: Meter | None = None) -> Json:
        """The value with every expression replaced by what it gives.

        Raises:
            ToolError: as `evaluate`; `invalid_expression` for null, a list or an object inside a
                text.
        """
        meter = meter or Meter()
        return meter.result(_filled(self._root, scope, meter))


def parse_template(value: Json, *, reserved: frozenset[str] = PLAN_NAMES) -> Template:
    """The template that `value` is.

    Raises:
        ToolError: `invalid_expression` with the JSON Pointer of the text in `details.path`,
            `expression_budget`.
    """
    found: list[tuple[str, Expression]] = []
    root = _node(value, "", found, reserved, 0)
    return Template(tuple(found), root)


def parse_field(text: str, *, reserved: frozenset[str] = PLAN_NAMES) -> Expression:
    """The expression of a field that holds nothing else (`when`, `foreach`): bare or in `${...}`.

    Raises:
        ToolError: `invalid_expression`, also for text around an expression; `expression_budget`.
    """
    stripped = text.strip()
    if stripped.startswith("${"):
        pieces = _pieces(stripped, reserved)
        if len(pieces) == 1 and isinstance(pieces[0], Expression):
            return pieces[0]
        raise fault(f"{cut(text)!r} mixes text and expression; write one expression")
    try:
        return parse_expression(stripped, reserved=reserved)
    except ToolError as error:
        if "${" not in stripped:
            raise
        text = f"{cut(text)!r} mixes text and expression; write one expression"
        raise fault(text) from error


def mustaches(value: Json) -> Iterator[tuple[str, str]]:
    """Texts that look like `{{name}}`, which is not our form: JSON Pointer and advice."""
    waiting: list[tuple[str, Json]] = [("", value)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, str):
            found = _MUSTACHE.search(part)
            if found is not None:
                yield place, f"{cut(found.group())!r} stays as it is; write ${{{found[1]}}}"
        elif isinstance(part, list):
            waiting.extend((f"{place}/{index}", item) for index, item in enumerate(part))
        elif isinstance(part, dict):
            waiting.extend((below(place, key), item) for key, item in part.items())


def _node(
    value: Json,
    place: str,
    found: list[tuple[str, Expression]],
    reserved: frozenset[str],
    depth: int,
) -> _Node:
    check_depth(depth)
    if isinstance(value, list):
        return [
            _node(item, f"{place}/{index}", found, reserved, depth + 1)
            for index, item in enumerate(value)
        ]
    if isinstance(value, dict):
        return {
            key: _node(item, below(place, key), found, reserved, depth + 1)
            for key, item in value.items()
        }
    if not isinstance(value, str) or "${" not in value:
        return value
    try:
        pieces = _pieces(value, reserved)
    except ToolError as error:
        details = {**error.details, "path": place}
        raise ToolError(error.code, error.message, error.kind, details) from error
    found.extend((place, piece) for piece in pieces if isinstance(piece, Expression))
    return _leaf(pieces)


def _leaf(pieces: tuple[str | Expression, ...]) -> _Node:
    if len(pieces) == 1:
        return pieces[0]
    return _Text(pieces)


def _pieces(text: str, reserved: frozenset[str]) -> tuple[str | Expression, ...]:
    """Literal text and expressions in turn; neighbouring literals are one."""
    pieces: list[str | Expression] = []
    literal, position = "", 0
    while (opening := _OPENING.search(text, position)) is not None:
        literal += text[position : opening.start()]
        if opening.group() == "$${":
            literal, position = f"{literal}${{", opening.end()
            continue
        end = _end(text, opening.end())
        if literal:
            pieces.append(literal)
        pieces.append(parse_expression(text[opening.end() : end], reserved=reserved))
        literal, position = "", end + 1
    literal += text[position:]
    return (*pieces, literal) if literal or not pieces else tuple(pieces)


def _end(text: str, start: int) -> int:
    """Where the brace stands that closes the expression beginning at `start`."""
    open_braces = 1
    for found in _INSIDE.finditer(text, start):
        open_braces += {"{": 1, "}": -1}.get(found.group(), 0)
        if open_braces == 0:
            return found.start()
    raise fault(f"`${{` is not closed in {cut(text)!r}; write $${{ for the characters themselves")


def _filled(node: _Node, scope: Scope, meter: Meter) -> Json:
    if isinstance(node, Expression):
        return evaluate(node, scope, meter)
    if isinstance(node, _Text):
        return meter.text("".join(_piece(piece, scope, meter) for piece in node.pieces))
    if isinstance(node, list):
        return [_filled(item, scope, meter) for item in node]
    if isinstance(node, dict):
        return {key: _filled(item, scope, meter) for key, item in node.items()}
    return node


def _piece(piece: str | Expression, scope: Scope, meter: Meter) -> str:
    if isinstance(piece, str):
        return piece
    return as_text(evaluate(piece, scope, meter), meter)
