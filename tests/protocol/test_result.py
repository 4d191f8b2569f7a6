"""A result travels over MCP without losing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import (
    AT_CAPACITY,
    TOOL_FAILED,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import ERROR_META, Result, Status

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


@pytest.mark.promise("contract-content-survives")
def test_an_answer_passes_block_for_block_with_fields_nobody_knows() -> None:
    answer: JsonObject = {
        "content": [
            {"type": "text", "text": "a", "annotations": {"audience": ["user"]}, "future": 1},
            {"type": "image", "data": "aGk=", "mimeType": "image/png", "_meta": {"k": [1, None]}},
        ],
        "structuredContent": {"id": 9007199254740993},
        "_meta": {"vendor/x": True},
    }
    result = Result.from_mcp(answer)
    assert result.status is Status.SUCCESS
    assert not result.is_error
    assert result.as_mcp() == answer


@pytest.mark.parametrize("content", ["text", {"type": "text"}, ["text"], [None]])
def test_an_answer_without_a_list_of_blocks_is_refused(content: object) -> None:
    with pytest.raises(ToolError, match="content blocks") as caught:
        Result.from_mcp({"content": content})  # type: ignore[dict-item]
    assert caught.value.code == UPSTREAM_PROTOCOL


def test_an_answer_without_content_is_an_empty_result() -> None:
    assert Result.from_mcp({}).as_mcp() == {"content": []}


def test_a_structured_null_is_not_the_same_as_no_structure() -> None:
    null = Result.from_mcp({"content": [], "structuredContent": None})
    assert null.has_data
    assert null.unwrap() is None
    assert null.as_mcp() == {"content": [], "structuredContent": None}
    assert not Result.from_mcp({"content": []}).has_data


def test_unwrap_gives_data_else_text_else_raises() -> None:
    assert Result(data={"a": 1}, has_data=True, content=(text_block("x"),)).unwrap() == {"a": 1}
    assert Result(content=(text_block("x"), text_block("y"))).unwrap() == "x\ny"
    error = ToolError(AT_CAPACITY, "full", ErrorKind.RETRYABLE)
    with pytest.raises(ToolError) as caught:
        Result.failed(error).unwrap()
    assert caught.value is error


@pytest.mark.promise("contract-errors-travel")
@pytest.mark.parametrize("kind", list(ErrorKind))
@pytest.mark.parametrize("code", [AT_CAPACITY, TOOL_FAILED, "out_of_stock"])
@pytest.mark.parametrize("details", [{}, {"retry_after_seconds": 3}])
def test_an_error_keeps_code_kind_and_details_over_the_wire(
    kind: ErrorKind, code: str, details: JsonObject
) -> None:
    sent = Result.failed(ToolError(code, "what failed", kind, details), meta={"vendor/x": 1})
    received = Result.from_mcp(sent.as_mcp())
    assert received.error is not None
    assert received.error.as_json() == ToolError(code, "what failed", kind, details).as_json()
    assert received.status is sent.status
    assert received.text == "what failed"
    assert received.meta["vendor/x"] == 1


@pytest.mark.promise("contract-errors-travel")
def test_a_plain_failure_adds_nothing_to_what_the_tool_said() -> None:
    answer: JsonObject = {"content": [text_block("boom")], "isError": True}
    result = Result.from_mcp(answer)
    assert result.status is Status.FATAL_ERROR
    assert result.error is not None
    assert (result.error.code, result.error.message) == (TOOL_FAILED, "boom")
    assert result.as_mcp() == answer


def test_a_failure_without_words_says_so() -> None:
    result = Result.from_mcp({"content": [], "isError": True})
    assert result.error is not None
    assert result.error.message == "the tool reported an error without text"


@pytest.mark.parametrize(
    ("facts", "kind", "message"),
    [
        ({"code": "x", "kind": "retryable", "message": "m"}, ErrorKind.RETRYABLE, "m"),
        ({"code": "x", "kind": "certainly", "details": 3}, ErrorKind.FATAL, "boom"),
        ({"code": "x", "kind": ["fatal"]}, ErrorKind.FATAL, "boom"),
        ({"code": "x"}, ErrorKind.FATAL, "boom"),
    ],
)
def test_an_error_of_another_crib_is_read_as_far_as_it_can_be(
    facts: JsonObject, kind: ErrorKind, message: str
) -> None:
    result = Result.from_mcp(
        {"content": [text_block("boom")], "isError": True, "_meta": {ERROR_META: facts}}
    )
    assert result.error is not None
    assert (result.error.code, result.error.kind, result.error.message) == ("x", kind, message)
    assert result.error.details == {}


@pytest.mark.parametrize("facts", ["x", {"code": 3}, {}])
def test_error_facts_that_cannot_be_read_leave_the_tools_own_words(facts: object) -> None:
    answer = {"content": [text_block("boom")], "isError": True, "_meta": {ERROR_META: facts}}
    result = Result.from_mcp(answer)  # type: ignore[arg-type]
    assert result.error is not None
    assert result.error.code == TOOL_FAILED


def test_odd_blocks_are_named_and_kept() -> None:
    result = Result.from_mcp({"content": [{"type": "hologram"}, text_block("x")]})
    assert result.odd_blocks() == ["unknown block type 'hologram'"]
    assert len(result.content) == 2
