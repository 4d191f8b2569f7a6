from __future__ import annotations

import pytest

from toolcrib_client import NeedsHuman, OutcomeUnknown, SourceUnavailable, ToolFailed, ToolTimedOut
from toolcrib_client.failures import _CLASSES, class_of, failure, typed
from toolcrib_client.wire_errors import read_error
from toolcrib_protocol import errors
from toolcrib_protocol.errors import ErrorKind, ToolError


@pytest.mark.promise("client-typed-errors")
def test_every_code_of_the_crib_has_its_class() -> None:
    codes = {
        value for name, value in vars(errors).items() if name.isupper() and isinstance(value, str)
    }
    assert codes == set(_CLASSES)


@pytest.mark.parametrize(
    ("code", "kind", "expected"),
    [
        ("tool_timed_out", ErrorKind.RETRYABLE, ToolTimedOut),
        ("source_unavailable", ErrorKind.RETRYABLE, SourceUnavailable),
        ("outcome_unknown", ErrorKind.NEEDS_HUMAN, OutcomeUnknown),
        ("conflict", ErrorKind.FATAL, ToolError),
        ("conflict", ErrorKind.NEEDS_HUMAN, NeedsHuman),
        ("OutOfStock", ErrorKind.FATAL, ToolFailed),
        ("ApprovalMissing", ErrorKind.NEEDS_HUMAN, NeedsHuman),
    ],
)
def test_the_class_follows_code_and_kind(code: str, kind: ErrorKind, expected: type) -> None:
    assert class_of(code, kind) is expected


def test_typing_an_error_keeps_its_facts() -> None:
    error = ToolError("at_capacity", "come back in 3 s", ErrorKind.RETRYABLE, {"seconds": 3})
    assert typed(error).as_json() == error.as_json()


def test_an_error_is_read_from_its_json_and_nothing_else() -> None:
    error = failure("invalid_arguments", "no", details={"pointer": "/a"})
    read = read_error(error.as_json())
    assert read is not None
    assert read.as_json() == error.as_json()
    assert read_error({"code": "x", "message": "m", "kind": "strange"}) is not None
    assert read_error({"code": 1, "message": "m"}) is None
    assert read_error("no") is None
