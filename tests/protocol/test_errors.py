"""Errors have a stable code, a message that teaches, and a kind."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise

from toolcrib_protocol import errors
from toolcrib_protocol.errors import AT_CAPACITY, UNKNOWN_TOOL, ErrorKind, ToolError


def test_an_error_is_an_exception_whose_text_is_its_message() -> None:
    error = ToolError(UNKNOWN_TOOL, "no tool is called 'x'")
    assert str(error) == "no tool is called 'x'"
    assert error.kind is ErrorKind.FATAL
    assert repr(error) == "ToolError('unknown_tool', \"no tool is called 'x'\", 'fatal')"


def test_an_error_is_written_as_json_with_details_only_if_it_has_some() -> None:
    bare = ToolError(UNKNOWN_TOOL, "no")
    full = ToolError(AT_CAPACITY, "full", ErrorKind.RETRYABLE, {"retry_after_seconds": 1})
    assert bare.as_json() == {"code": "unknown_tool", "message": "no", "kind": "fatal"}
    assert full.as_json() == {
        "code": "at_capacity",
        "message": "full",
        "kind": "retryable",
        "details": {"retry_after_seconds": 1},
    }


def test_every_code_is_unique_and_has_a_line_of_documentation() -> None:
    body = ast.parse(inspect.getsource(errors)).body
    codes: dict[str, str] = {}
    for statement, following in pairwise(body):
        if not isinstance(statement, ast.AnnAssign):
            continue
        assert isinstance(statement.target, ast.Name)
        assert isinstance(statement.value, ast.Constant)
        assert isinstance(following, ast.Expr), statement.target.id
        codes[statement.target.id] = str(statement.value.value)
    assert len(codes) > 20
    assert [name for name, code in codes.items() if name.lower() != code] == []
