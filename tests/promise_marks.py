"""Which test carries which promise, read from the sources of the tests.

Read from the syntax, not from a pytest run: a run may be a selection, and a platform may skip
tests. Used by `test_requirements.py`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Mark:
    """A `pytest.mark.promise(...)`.

    Attributes:
        id: the promise; None if it is not written out as one string.
        place: file and line.
        is_on_a_test: whether a test carries it.
    """

    id: str | None
    place: str
    is_on_a_test: bool


def marks_of_all_tests() -> tuple[Mark, ...]:
    """The marks in every test file, in the order of the files."""
    return tuple(
        mark
        for path in sorted(TESTS.rglob("test_*.py"))
        for mark in marks_in(path.read_text(encoding="utf-8"), str(path.relative_to(TESTS.parent)))
    )


def marks_in(source: str, file: str) -> Iterator[Mark]:
    """The marks in the text of one test file."""
    tree = ast.parse(source, filename=file)
    carried = {id(call) for call in _carried_calls(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_promise_mark(node.func):
            yield Mark(_literal(node), f"{file}:{node.lineno}", id(node) in carried)


def _carried_calls(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name.startswith("test_"):
                yield from node.decorator_list
            case ast.ClassDef() if node.name.startswith("Test"):
                yield from node.decorator_list
            case ast.Assign(targets=[ast.Name(id="pytestmark")]):
                yield from ast.walk(node.value)
            case ast.Call(func=ast.Attribute(attr="param")):
                yield from (part for word in node.keywords for part in ast.walk(word.value))
            case _:
                pass


def _is_promise_mark(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(attr="promise", value=ast.Attribute(attr="mark")):
            return True
        case _:
            return False


def _literal(call: ast.Call) -> str | None:
    match call:
        case ast.Call(args=[ast.Constant(value=str() as written)], keywords=[]):
            return written
        case _:
            return None
