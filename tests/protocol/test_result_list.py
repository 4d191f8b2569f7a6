"""Many results in one answer, there and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import TOOL_FAILED, ErrorKind, ToolError
from toolcrib_protocol.result import Result
from toolcrib_protocol.result_list import results_as_mcp, results_from_mcp

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

IMAGE: JsonObject = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
WITH_DATA = Result(data={"n": 2**60}, has_data=True, content=(text_block("n"),), meta={"k": None})
WITH_NULL = Result(data=None, has_data=True)
WITH_BLOCKS = Result(content=(text_block("a"), IMAGE, text_block("b")))
FAILED = Result.failed(ToolError("busy", "come back", ErrorKind.RETRYABLE, {"after": 3}))


def same(one: Result, other: Result) -> bool:
    facts = ("status", "data", "content", "meta", "has_data")
    errors = [result.error.as_json() if result.error else None for result in (one, other)]
    return errors[0] == errors[1] and all(getattr(one, f) == getattr(other, f) for f in facts)


def test_results_come_back_as_they_were_in_their_order() -> None:
    results = [WITH_DATA, WITH_NULL, WITH_BLOCKS, FAILED]
    returned = results_from_mcp(results_as_mcp(["a", "b", "c", "d"], results))
    assert len(returned) == len(results)
    assert all(map(same, results, returned))


def test_the_blocks_tell_every_result_in_order_each_under_its_name() -> None:
    answer = results_as_mcp(["a__b", "c__d"], [WITH_BLOCKS, FAILED])
    assert answer["content"] == [
        text_block("[1/2] a__b: success"),
        text_block("a"),
        IMAGE,
        text_block("b"),
        text_block("[2/2] c__d: retryable_error"),
        text_block("come back"),
    ]


def test_the_structured_form_repeats_no_payload() -> None:
    answer = results_as_mcp(["a", "b"], [WITH_DATA, WITH_BLOCKS])
    structured = answer["structuredContent"]
    assert isinstance(structured, dict)
    results = structured["results"]
    assert isinstance(results, list)
    contents = [result["content"] for result in results if isinstance(result, dict)]
    assert contents == [[{"block": 1}], [text_block("a"), {"block": 4}, text_block("b")]]


@pytest.mark.parametrize(
    ("results", "is_error"), [([FAILED, FAILED], True), ([FAILED, WITH_NULL], None)]
)
def test_the_whole_is_an_error_only_if_all_failed(
    results: list[Result], is_error: bool | None
) -> None:
    assert results_as_mcp(["a", "b"], results).get("isError") is is_error


def test_an_error_of_an_unknown_kind_is_fatal() -> None:
    entry: JsonObject = {
        "status": "fatal_error",
        "error": {"code": TOOL_FAILED, "message": "m", "kind": "odd"},
    }
    (result,) = results_from_mcp({"content": [], "structuredContent": {"results": [entry]}})
    assert result.error is not None
    assert result.error.kind is ErrorKind.FATAL
    assert result.content == ()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"content": [], "structuredContent": {}},
        {"content": None, "structuredContent": {"results": []}},
        {"content": [], "structuredContent": {"results": [7]}},
        {"content": [], "structuredContent": {"results": [{"status": "odd"}]}},
        {
            "content": [],
            "structuredContent": {"results": [{"status": "success", "content": [{"block": 0}]}]},
        },
        {
            "content": [7],
            "structuredContent": {"results": [{"status": "success", "content": [{"block": 0}]}]},
        },
        {"content": [], "structuredContent": {"results": [{"status": "success", "content": [7]}]}},
    ],
)
def test_an_answer_of_another_shape_is_refused(answer: JsonObject) -> None:
    with pytest.raises(ToolError) as refusal:
        results_from_mcp(answer)
    assert refusal.value.code == "upstream_protocol"
