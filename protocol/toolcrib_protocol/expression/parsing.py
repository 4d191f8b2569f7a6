"""From text to a checked tree: what may occur in an expression at all.

Python's grammar is parsed, never compiled or run; every node is looked at here, so that the walker
meets only what it knows. Also where an expression's size is bounded.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import EXPRESSION_BUDGET, ToolError
from toolcrib_protocol.expression.faults import cut, fault
from toolcrib_protocol.expression.functions import FUNCTIONS, check_call
from toolcrib_protocol.expression.limits import MOST_DEPTH, MOST_NODES
from toolcrib_protocol.expression.spelling import python_text

if TYPE_CHECKING:
    from collections.abc import Callable

PLAN_NAMES: Final = frozenset(
    ("input", "steps", "status", "item", "index", "result", "attempt", "previous", "error", "run")
)
"""Names that plans give a meaning; the variable of a comprehension may not hide them."""

# Operators are part of their operation; one that is not here is refused like any other node.
_SILENT: Final = (
    *(ast.Load, ast.comprehension, ast.And, ast.Or, ast.Not, ast.USub, ast.UAdd),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot),
)
_PLAIN: Final = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.List,
    ast.Tuple,
    ast.BoolOp,
    ast.IfExp,
    ast.BinOp,
    ast.UnaryOp,
    ast.Dict,
)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that is sound: it can be evaluated, and asked what it reads.

    Attributes:
        text: as it was written.
        tree: the checked tree.
    """

    text: str
    tree: ast.expr

    @property
    def written(self) -> str:
        """The expression as a plan writes it."""
        return f"${{{self.text}}}"


def parse_expression(
    text: str, *, reserved: frozenset[str] = PLAN_NAMES, dollar: str = ""
) -> Expression:
    """The expression that `text` writes.

    Args:
        text: the expression, without `${` and `}`.
        reserved: names that comprehensions may not use for their items.
        dollar: the name that a leading `$` stands for; empty: `$.name` is `name`.

    Raises:
        ToolError: `invalid_expression` with the form that works, `expression_budget`.
    """
    if not text.strip():
        raise fault("the expression is empty")
    tree = _tree(python_text(text, dollar=dollar), text)
    _check_size(tree)
    _Check(reserved).node(tree)
    return Expression(text.strip(), tree)


def _tree(python: str, text: str) -> ast.expr:
    try:
        return ast.parse(python, mode="eval").body
    except SyntaxError as error:
        near = python[max(0, (error.offset or 1) - 11) : (error.offset or 1) + 9].strip()
        raise fault(f"{cut(text)!r} is not an expression: {error.msg}, near {near!r}") from error
    except (ValueError, MemoryError, RecursionError) as error:
        raise fault(f"{cut(text)!r} is not an expression: it cannot be read") from error


def _check_size(tree: ast.expr) -> None:
    nodes, level = 0, [ast.iter_child_nodes(tree)]
    while level:
        child = next(level[-1], None)
        if child is None:
            level.pop()
            continue
        if isinstance(
            child, ast.expr_context | ast.boolop | ast.operator | ast.unaryop | ast.cmpop
        ):
            continue
        nodes += 1
        level.append(ast.iter_child_nodes(child))
        if nodes > MOST_NODES or len(level) > MOST_DEPTH:
            raise ToolError(
                EXPRESSION_BUDGET,
                f"the expression is too large: at most {MOST_NODES} parts, nested at most "
                f"{MOST_DEPTH} deep",
            )


class _Check:
    """Looks at every node of one tree."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self._taken = reserved
        self._special: dict[type[ast.AST], Callable[..., None]] = {
            ast.Constant: _check_constant,
            ast.Compare: _check_compare,
            ast.Call: self._call,
            ast.ListComp: self._comprehension,
            ast.DictComp: self._comprehension,
        }

    def node(self, node: ast.AST) -> None:
        if isinstance(node, _SILENT):
            return
        special = self._special.get(type(node))
        if special is None and not isinstance(node, _PLAIN):
            raise fault(_refusal(node))
        if special is not None:
            special(node)
        if not isinstance(node, ast.Call | ast.ListComp | ast.DictComp):
            for child in ast.iter_child_nodes(node):
                self.node(child)

    def _call(self, node: ast.Call) -> None:
        check_call(node)
        for argument in node.args:
            if isinstance(argument, ast.GeneratorExp):
                self._comprehension(argument)
            else:
                self.node(argument)

    def _comprehension(self, node: ast.ListComp | ast.DictComp | ast.GeneratorExp) -> None:
        if len(node.generators) > 1:
            raise fault("a comprehension has one `for`; put another into its own brackets")
        loop = node.generators[0]
        if not isinstance(loop.target, ast.Name):
            raise fault("the variable of a comprehension is one name: [x.id for x in list]")
        name = loop.target.id
        if name in self._taken:
            raise fault(f"{name!r} has a meaning here; give the items another name")
        self.node(loop.iter)
        inner = _Check(self._taken | {name})
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in (*parts, *loop.ifs):
            inner.node(part)


def _check_constant(node: ast.Constant) -> None:
    # Constants are null, booleans, numbers and texts: the spelling lets no other through.
    if isinstance(node.value, float) and not math.isfinite(node.value):
        raise fault("the number is too large")


def _check_compare(node: ast.Compare) -> None:
    for operator, right in zip(node.ops, node.comparators, strict=True):
        is_null = isinstance(right, ast.Constant) and right.value is None
        if isinstance(operator, ast.Is | ast.IsNot) and not is_null:
            raise fault("`is` compares with null only; write ==")


def _refusal(node: ast.AST) -> str:
    if isinstance(node, ast.Set):
        return "a set is not JSON: write [a, b] for a list, and ${x} instead of ${{ x }}"
    if isinstance(node, ast.GeneratorExp):
        return "put a comprehension into brackets: [x.id for x in list]"
    if isinstance(node, ast.Starred):
        return "lists cannot be spread; join them with +"
    written = {ast.Lambda: "a function", ast.SetComp: "a set", ast.NamedExpr: "an assignment"}
    what = written.get(type(node), type(node).__name__)
    return f"{what} means nothing in an expression; functions are {', '.join(FUNCTIONS)}"
