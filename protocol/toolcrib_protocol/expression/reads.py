"""What an expression reads, told from its text alone.

Dependencies of steps and checks against schemas come from here: which names, and which paths inside
them, an evaluation may look at. All branches count, because which one is taken is known only at run
time.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from toolcrib_protocol.expression.functions import DEFAULT, EXISTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_protocol.expression.parsing import Expression

PathStep: TypeAlias = str | int | None
"""A key, an index, or None: any item of a list."""
Path: TypeAlias = tuple[PathStep, ...]
"""The name, then the steps behind it."""


@dataclass(frozen=True, slots=True)
class Read:
    """One place that an expression looks at.

    Attributes:
        path: the name, and the steps behind it.
        is_guarded: whether `default` or `exists` take it for granted that it may be missing.
        is_computed: whether it goes on with a key or an index that only the run tells.
    """

    path: Path
    is_guarded: bool = False
    is_computed: bool = False


def reads_of(expression: Expression) -> tuple[Read, ...]:
    """Everything that `expression` may read, each once, in the order of its text."""
    found = _Reads()
    found.visit(expression.tree, {}, is_guarded=False)
    return tuple(dict.fromkeys(found.reads))


def plain_path(expression: Expression) -> Path | None:
    """The path, if the expression is nothing but one: a name, keys, indexes, slices."""
    node: ast.AST = expression.tree
    found = _Reads()
    path = found.path(node, {}, is_guarded=False)
    return path if path is not None and not found.reads else None


_Aliases: TypeAlias = "Mapping[str, Path | None]"


class _Reads:
    """Collects the reads of one tree."""

    def __init__(self) -> None:
        self.reads: list[Read] = []

    def visit(self, node: ast.AST, aliases: _Aliases, *, is_guarded: bool) -> Path | None:
        """Record what `node` reads; the path if it is one."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            path = self.path(node, aliases, is_guarded=is_guarded)
            if path is not None:
                self.reads.append(Read(path, is_guarded))
            return path
        if isinstance(node, ast.ListComp | ast.DictComp | ast.GeneratorExp):
            self._comprehension(node, aliases, is_guarded=is_guarded)
        elif isinstance(node, ast.Call):
            self._call(node, aliases, is_guarded=is_guarded)
        else:
            for child in ast.iter_child_nodes(node):
                self.visit(child, aliases, is_guarded=is_guarded)
        return None

    def path(self, node: ast.AST, aliases: _Aliases, *, is_guarded: bool) -> Path | None:
        """The path that `node` is, or None; what its parts read besides is recorded."""
        if isinstance(node, ast.Name):
            return aliases.get(node.id, (node.id,))
        if isinstance(node, ast.Attribute):
            before = self.path(node.value, aliases, is_guarded=is_guarded)
            return None if before is None else (*before, node.attr)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, aliases, is_guarded=is_guarded)
        self.visit(node, aliases, is_guarded=is_guarded)
        return None

    def _subscript(
        self, node: ast.Subscript, aliases: _Aliases, *, is_guarded: bool
    ) -> Path | None:
        before = self.path(node.value, aliases, is_guarded=is_guarded)
        if isinstance(node.slice, ast.Slice):
            for bound in ast.iter_child_nodes(node.slice):
                if _constant(bound) is None:
                    self.visit(bound, aliases, is_guarded=is_guarded)
            return before
        key = _constant(node.slice)
        if key is not None:
            return None if before is None else (*before, key)
        if before is not None:
            self.reads.append(Read(before, is_guarded, is_computed=True))
        self.visit(node.slice, aliases, is_guarded=is_guarded)
        return None

    def _call(self, node: ast.Call, aliases: _Aliases, *, is_guarded: bool) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        for position, argument in enumerate(node.args):
            guards = position == 0 and name in {DEFAULT, EXISTS}
            self.visit(argument, aliases, is_guarded=is_guarded or guards)

    def _comprehension(
        self,
        node: ast.ListComp | ast.DictComp | ast.GeneratorExp,
        aliases: _Aliases,
        *,
        is_guarded: bool,
    ) -> None:
        loop = node.generators[0]
        whole = self.visit(loop.iter, aliases, is_guarded=is_guarded)
        name = loop.target.id if isinstance(loop.target, ast.Name) else ""
        inner = {**aliases, name: None if whole is None else (*whole, None)}
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in (*parts, *loop.ifs):
            self.visit(part, inner, is_guarded=is_guarded)


def _constant(node: ast.AST) -> str | int | None:
    """The key or index that `node` writes, or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _constant(node.operand)
        return -inner if isinstance(inner, int) else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int):
        return None if isinstance(node.value, bool) else node.value
    return None
