"""Results that break their output schema: delivered, flagged, counted, never repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.registry.cribs import desk, raw_tool
from toolcrib_protocol.interim import InputRequired, StartedTask
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.result import Result
from toolcrib_registry.call import Call

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.ports import CallContext

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"v": {"type": "integer"}},
    "required": ["v"],
}
TEXT: JsonObject = {"type": "text", "text": "done", "_meta": {"k": 1}}
FLAG = "io.toolcrib/output_schema"


async def called(
    answer: JsonObject | Result, schema: JsonObject | None = SCHEMA
) -> tuple[Result, int, int]:
    """What a tool with that output schema brings back, how often it ran, how often it broke it."""
    more: JsonObject = {} if schema is None else {"outputSchema": schema}
    calls, provider, _ = await desk(raw_tool("measure", more=more))

    async def run(_arguments: JsonObject, _context: CallContext) -> Result:
        return answer if isinstance(answer, Result) else Result.from_mcp(answer)

    provider.tools["measure"] = run
    result = await calls.call(Call("desk__measure"))
    return result, len(provider.called), calls.misshapen[ToolId("desk", "measure")]


@pytest.mark.promise("field-o13-shape")
async def test_a_failure_of_the_tool_is_neither_checked_nor_touched() -> None:
    quota: JsonObject = {"type": "text", "text": "quota used up"}
    result, _, broken = await called({"isError": True, "content": [quota]})
    assert result.is_error
    assert result.content == (quota,)
    assert FLAG not in result.meta
    assert broken == 0


@pytest.mark.promise("field-o13-shape")
async def test_a_success_without_structured_content_is_delivered_with_a_flag() -> None:
    result, runs, broken = await called({"content": [TEXT]})
    assert not result.is_error
    assert result.content == (TEXT,)
    assert fault(result) == "the tool declares an output schema and sent no structured content"
    assert (runs, broken) == (1, 1)


@pytest.mark.promise("field-o13-shape")
@pytest.mark.parametrize("content", [[], [TEXT]])
async def test_a_success_of_the_wrong_shape_keeps_its_words_and_loses_its_structure(
    content: list[Json],
) -> None:
    answer: JsonObject = {"content": content, "structuredContent": {"v": "7"}, "_meta": {"k": 1}}
    result, runs, broken = await called(answer)
    assert not result.is_error
    assert not result.has_data
    assert "structuredContent" not in result.as_mcp()
    # Without blocks of its own the structure would be lost.
    assert result.content == (tuple(content) or ({"type": "text", "text": '{"v":"7"}'},))
    assert "at /v: expected type integer" in fault(result)
    assert result.meta["k"] == 1
    assert (runs, broken) == (1, 1)


@pytest.mark.promise("field-o13-shape")
async def test_what_fits_or_promises_nothing_passes() -> None:
    for answer, schema in (
        ({"content": [], "structuredContent": {"v": 7}}, SCHEMA),
        ({"content": [], "structuredContent": [1]}, None),
        ({"content": []}, None),
        ({"content": [], "structuredContent": None}, {"type": "null"}),
    ):
        result, _, broken = await called(answer, schema)  # type: ignore[arg-type]
        assert result.has_data == ("structuredContent" in answer)
        assert FLAG not in result.meta
        assert broken == 0


async def test_an_answer_that_is_not_the_end_is_not_checked() -> None:
    asks = InputRequired({"q": {"method": "roots/list"}}, "s")
    for interim in (Result.asking("measure", asks), Result.started(StartedTask({"taskId": "t"}))):
        result, _, broken = await called(interim)
        assert result.interim == interim.interim
        assert broken == 0


def fault(result: Result) -> Any:
    flag = result.meta[FLAG]
    assert isinstance(flag, dict)
    assert flag["fits"] is False
    return flag["fault"]


WRAPPED: JsonObject = {
    "type": "object",
    "properties": {"result": {"type": ["array", "string"]}},
    "required": ["result"],
}


def answer(text: str | None = None, *more: JsonObject, **structured: Json) -> JsonObject:
    """An answer with one text, more blocks, and structured content (`data`)."""
    blocks: list[Json] = [] if text is None else [{"type": "text", "text": text}]
    made: JsonObject = {"content": [*blocks, *more]}
    return {**made, "structuredContent": structured["data"]} if structured else made


@pytest.mark.promise("healing-shape")
@pytest.mark.parametrize(
    ("given", "schema", "data", "how"),
    [
        (answer('{"v": 7}'), SCHEMA, {"v": 7}, "JSON text"),
        (answer('{"result": {"v": 7}}'), SCHEMA, {"v": 7}, "JSON text, a lone 'result' taken off"),
        (answer("[1, 2]"), WRAPPED, {"result": [1, 2]}, "JSON text, put into 'result'"),
        (answer("plain words"), WRAPPED, {"result": "plain words"}, "text put into 'result'"),
        (answer("x", data={"result": {"v": 7}}), SCHEMA, {"v": 7}, "a lone 'result' taken off"),
        (answer("x", data=[1]), WRAPPED, {"result": [1]}, "put into 'result'"),
        (answer("x", data='{"v": 7}'), SCHEMA, {"v": 7}, "JSON text"),
        (answer("x", data="words"), WRAPPED, {"result": "words"}, "put into 'result'"),
    ],
)
async def test_a_result_that_only_has_another_wrapping_is_brought_into_shape(
    given: JsonObject, schema: JsonObject, data: Json, how: str
) -> None:
    result, runs, broken = await called(given, schema)
    assert result.data == data
    assert [*result.content] == given["content"]
    assert result.meta[FLAG] == {"fits": True, "normalised": how}
    assert (runs, broken) == (1, 1)


@pytest.mark.promise("healing-shape")
@pytest.mark.parametrize(
    ("given", "schema"),
    [
        (answer("plain words"), SCHEMA),
        (answer('{"v": "7"}'), SCHEMA),
        (answer('{"v": 7}', TEXT), SCHEMA),
        (answer("words"), {"type": "object"}),
        (answer(None, {"type": "image", "data": "", "mimeType": "image/png"}), SCHEMA),
        (answer("x", data="7"), SCHEMA),
        (answer("x", data={"result": 7}), SCHEMA),
        ({"content": [{"type": "text", "text": 7}]}, SCHEMA),
    ],
)
async def test_what_would_lose_something_or_means_something_else_stays_flagged(
    given: JsonObject, schema: JsonObject
) -> None:
    result, runs, _ = await called(given, schema)
    assert not result.has_data
    assert fault(result)
    assert runs == 1
