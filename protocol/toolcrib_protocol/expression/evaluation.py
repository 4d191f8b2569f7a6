"""Walks a checked expression over the values that its names have.

Synchronous and pure: the same expression and values always give the same value or the same
`ToolError`, and never more steps than the meter allows.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolcrib_protocol.expression.access import item_at, part_of, value_at
from toolcrib_protocol.expression.arithmetic import combined, negated
from toolcrib_protocol.expression.comparison import comes_before, same
from toolcrib_protocol.expression.faults import MissingValueError, fault, kind_of, unknown_name
from toolcrib_protocol.expression.functions import EXISTS, FUNCTIONS, is_true
from toolcrib_protocol.expression.limits import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolcrib_protocol.expression.parsing import Expression
    from toolcrib_protocol.json_value import Json

_Loop: TypeAlias = ast.ListComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names of an expression mean.

    Attributes:
        names: the value of each name.
        absent: paths that have no value, each with the reason (`("steps", "b")`: "step 'b' was
            skipped"); reading one is a `MissingValueError` that says so.
    """

    names: Mapping[str, Json]
    absent: Mapping[tuple[str, str], str] = field(default_factory=dict)


def evaluate(expression: Expression, scope: Scope, meter: Meter | None = None) -> Json:
    """The value of `expression`.

    Args:
        expression: what to evaluate.
        scope: what its names mean.
        meter: what it may cost; one meter may be shared by several expressions.

    Raises:
        ToolError: `invalid_expression` for a name, key or item that is not there (then it is a
            `MissingValueError`, unless the name itself is unknown) and for types that do not fit;
            `expression_budget`.
    """
    meter = meter or Meter()
    return meter.result(_Walker(scope, meter, {}).value(expression.tree))


def select(path: Expression, scope: Scope, meter: Meter | None = None) -> Json:
    """What a path picks out of a value that is there already, however large it is.

    Args:
        path: an expression whose `plain_path` is not None.
        scope: what its names mean.
        meter: what it may cost.

    Raises:
        ToolError: as `evaluate`.
    """
    return _Walker(scope, meter or Meter(), {}).value(path.tree)


class _Walker:
    """One walk; `local` are the variables of the comprehensions around."""

    def __init__(self, scope: Scope, meter: Meter, local: Mapping[str, Json]) -> None:
        self._scope = scope
        self._meter = meter
        self._local = local

    def value(self, node: ast.expr) -> Json:
        self._meter.spend()
        return _WALKS[type(node)](self, node)

    def constant(self, node: ast.Constant) -> Json:
        value = node.value
        # Only JSON's constants pass the spelling; Python's parser could name others.
        return value if isinstance(value, str | int | float) else None

    def name(self, node: ast.Name) -> Json:
        if node.id in self._local:
            return self._local[node.id]
        names = self._scope.names
        if node.id in names:
            return names[node.id]
        keys = {name: value if isinstance(value, dict) else () for name, value in names.items()}
        raise unknown_name(node.id, {**keys, **dict.fromkeys(self._local, ())})

    def attribute(self, node: ast.Attribute) -> Json:
        self._check_present(node)
        return value_at(self.value(node.value), node.attr, node.value)

    def subscript(self, node: ast.Subscript) -> Json:
        self._check_present(node)
        whole, where = self.value(node.value), node.value
        if not isinstance(node.slice, ast.Slice):
            return item_at(whole, self.value(node.slice), where)
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        start, stop, step = (None if each is None else self.value(each) for each in bounds)
        return part_of(whole, (start, stop, step), where, self._meter)

    def _check_present(self, node: ast.Attribute | ast.Subscript) -> None:
        if not self._scope.absent or not isinstance(node.value, ast.Name):
            return
        if isinstance(node, ast.Attribute):
            key: Json = node.attr
        else:
            key = None if isinstance(node.slice, ast.Slice) else self.value(node.slice)
        root = node.value.id
        if isinstance(key, str) and root not in self._local:
            reason = self._scope.absent.get((root, key))
            if reason is not None:
                raise MissingValueError(reason)

    def items(self, node: ast.List | ast.Tuple) -> Json:
        return [self.value(item) for item in node.elts]

    def object(self, node: ast.Dict) -> Json:
        # A key is missing only where an object is spread, which the spelling does not let through.
        keys = [key for key in node.keys if key is not None]
        pairs = zip(keys, node.values, strict=True)
        return {self.key_of(key): self.value(value) for key, value in pairs}

    def key_of(self, node: ast.expr) -> str:
        key = self.value(node)
        if not isinstance(key, str):
            raise fault(f"the keys of an object are texts, not {kind_of(key)}; write str(key)")
        return key

    def either(self, node: ast.BoolOp) -> Json:
        word, ends_at = ("or", True) if isinstance(node.op, ast.Or) else ("and", False)
        for operand in node.values:
            if is_true(self.value(operand), f"`{word}`") is ends_at:
                return ends_at
        return not ends_at

    def choice(self, node: ast.IfExp) -> Json:
        chosen = node.body if is_true(self.value(node.test), "`if`") else node.orelse
        return self.value(chosen)

    def binary(self, node: ast.BinOp) -> Json:
        left, right = self.value(node.left), self.value(node.right)
        return combined(type(node.op), left, right, self._meter)

    def unary(self, node: ast.UnaryOp) -> Json:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return not is_true(value, "`not`")
        return negated(value, keeps_sign=isinstance(node.op, ast.UAdd))

    def compare(self, node: ast.Compare) -> Json:
        left = self.value(node.left)
        for operator, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand)
            if not self._holds(operator, left, right):
                return False
            left = right
        return True

    def _holds(self, operator: ast.cmpop, left: Json, right: Json) -> bool:
        if isinstance(operator, ast.Eq | ast.Is):
            return same(left, right, self._meter)
        if isinstance(operator, ast.NotEq | ast.IsNot):
            return not same(left, right, self._meter)
        if isinstance(operator, ast.In | ast.NotIn):
            return self._contains(right, left) is isinstance(operator, ast.In)
        for text in (left, right):
            if isinstance(text, str):
                self._meter.scan(text)
        if isinstance(operator, ast.Lt | ast.GtE):
            return comes_before(left, right) is isinstance(operator, ast.Lt)
        return comes_before(right, left) is isinstance(operator, ast.Gt)

    def _contains(self, container: Json, wanted: Json) -> bool:
        if isinstance(container, list):
            return any(same(item, wanted, self._meter) for item in container)
        if isinstance(wanted, str) and isinstance(container, str):
            return wanted in self._meter.scan(container)
        if isinstance(wanted, str) and isinstance(container, dict):
            return wanted in container
        raise fault(f"`in` cannot look for {kind_of(wanted)} in {kind_of(container)}")

    def call(self, node: ast.Call) -> Json:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        run = FUNCTIONS[name].run
        if run is not None:
            return run([self.value(each) for each in node.args], self._meter)
        if name == EXISTS:
            return self._attempt(node.args[0], null_counts=True) is not None
        found = self._attempt(node.args[0])
        return self.value(node.args[1]) if found is None else found[0]

    def _attempt(self, node: ast.expr, *, null_counts: bool = False) -> tuple[Json] | None:
        """The value in a tuple, or None if there is none."""
        try:
            value = self.value(node)
        except MissingValueError:
            return None
        return None if value is None and not null_counts else (value,)

    def comprehension(self, node: _Loop) -> Json:
        if isinstance(node, ast.DictComp):
            pairs = [
                (walker.key_of(node.key), walker.value(node.value)) for walker in self._each(node)
            ]
            return dict(pairs)
        return [walker.value(node.elt) for walker in self._each(node)]

    def _each(self, node: _Loop) -> Iterator[_Walker]:
        """A walker for each item that the comprehension takes."""
        loop = node.generators[0]
        items = self.value(loop.iter)
        if not isinstance(items, list):
            hint = "; write keys(a) or values(a)" if isinstance(items, dict) else ""
            raise fault(f"`for` needs a list, not {kind_of(items)}{hint}")
        name = loop.target.id if isinstance(loop.target, ast.Name) else ""
        if name in self._scope.names:
            raise fault(f"{name!r} has a meaning here; give the items another name")
        for item in items:
            self._meter.spend()
            walker = _Walker(self._scope, self._meter, {**self._local, name: item})
            if all(is_true(walker.value(test), "`if`") for test in loop.ifs):
                yield walker


_WALKS: Final[dict[type[ast.expr], Callable[[_Walker, Any], Json]]] = {
    ast.Constant: _Walker.constant,
    ast.Name: _Walker.name,
    ast.Attribute: _Walker.attribute,
    ast.Subscript: _Walker.subscript,
    ast.List: _Walker.items,
    ast.Tuple: _Walker.items,
    ast.Dict: _Walker.object,
    ast.BoolOp: _Walker.either,
    ast.IfExp: _Walker.choice,
    ast.BinOp: _Walker.binary,
    ast.UnaryOp: _Walker.unary,
    ast.Compare: _Walker.compare,
    ast.Call: _Walker.call,
    ast.ListComp: _Walker.comprehension,
    ast.DictComp: _Walker.comprehension,
    ast.GeneratorExp: _Walker.comprehension,
}
