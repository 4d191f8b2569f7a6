"""Tool calls of every model API in, answers in the same form out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from openai.types.chat import ChatCompletionMessageFunctionToolCall
from openai.types.chat.chat_completion_message_function_tool_call import Function
from openai.types.responses import ResponseFunctionToolCall

from tests.client.small_crib import ODD_BLOCKS, SmallCrib
from toolcrib_client import Crib, InvalidArguments


@pytest.mark.promise("client-dispatch")
async def test_an_openai_tool_call_is_answered_with_a_tool_message(crib: Crib) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "echo__back", "arguments": '{"a":1}'},
    }
    expected = {"role": "tool", "tool_call_id": "c1", "content": '{"a":1}'}
    assert await crib.dispatch(call) == expected
    of_sdk = ChatCompletionMessageFunctionToolCall(
        id="c1", type="function", function=Function(name="echo__back", arguments='{"a":1}')
    )
    assert await crib.dispatch(of_sdk) == expected


@pytest.mark.promise("client-dispatch")
async def test_a_function_call_of_openai_responses_is_answered_with_its_output(crib: Crib) -> None:
    call = ResponseFunctionToolCall(
        type="function_call", call_id="c2", name="echo__back", arguments=""
    )
    expected = {"type": "function_call_output", "call_id": "c2", "output": "{}"}
    assert await crib.dispatch(call) == expected
    assert await crib.dispatch(call.model_dump()) == expected


@pytest.mark.promise("client-dispatch")
async def test_an_anthropic_tool_use_is_answered_with_a_tool_result(crib: Crib) -> None:
    call = {"type": "tool_use", "id": "c3", "name": "echo__back", "input": {"a": 1}}
    expected = {
        "type": "tool_result",
        "tool_use_id": "c3",
        "content": [{"type": "text", "text": '{"a":1}'}],
        "is_error": False,
    }
    assert await crib.dispatch(call) == expected
    assert await crib.dispatch(SimpleNamespace(**call)) == expected


async def test_images_reach_anthropic_as_images(crib: Crib) -> None:
    answer = await crib.dispatch(
        {"type": "tool_use", "id": "c", "name": "odd__answer", "input": {}}
    )
    assert answer["content"] == [
        {"type": "text", "text": "first"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
        },
        {"type": "text", "text": "[resource_link a]"},
    ]


@pytest.mark.promise("client-dispatch")
async def test_a_gemini_function_call_is_answered_with_a_function_response(crib: Crib) -> None:
    call = {"name": "echo__back", "args": {"a": 1}}
    expected = {"functionResponse": {"name": "echo__back", "response": {"output": {"a": 1}}}}
    assert await crib.dispatch({"functionCall": call}) == expected
    assert await crib.dispatch(SimpleNamespace(**call, id=None)) == expected
    part = SimpleNamespace(function_call=SimpleNamespace(**call, id="c4"), text=None)
    assert await crib.dispatch(part) == {
        "functionResponse": {"id": "c4", "name": "echo__back", "response": {"output": {"a": 1}}}
    }


async def test_a_gemini_failure_is_an_error_response(crib: Crib) -> None:
    answer = await crib.dispatch({"name": "fail__plainly", "args": None})
    assert answer == {
        "functionResponse": {
            "name": "fail__plainly",
            "response": {"error": "Error (tool_failed, fatal): disk full"},
        }
    }


@pytest.mark.promise("client-dispatch")
async def test_an_mcp_call_is_answered_as_mcp_answers(crib: Crib) -> None:
    params = {"name": "odd__answer", "arguments": {}}
    answer = await crib.dispatch({"method": "tools/call", "params": params})
    assert answer["content"] == ODD_BLOCKS
    assert await crib.dispatch(params) == answer


@pytest.mark.promise("client-dispatch")
@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("fail__plainly", "{}", "Error (tool_failed, fatal): disk full"),
        ("echo__back", "{", "Error (invalid_json, fatal): not valid JSON at line 1, column 2"),
        ("echo__back", "[1]", "Error (invalid_arguments, fatal): the arguments of 'echo__back'"),
        (
            "fail__as",
            '{"code": "at_capacity", "kind": "retryable"}',
            "Error (at_capacity, retryable",
        ),
        ("search_tools", '{"queries": ["refuse"]}', "Error (upstream_protocol, fatal)"),
        ("count__up", "{}", "counted"),
    ],
)
async def test_failures_become_answers_that_a_model_can_read(
    crib: Crib, name: str, arguments: str, text: str
) -> None:
    call = {"id": "c", "function": {"name": name, "arguments": arguments}}
    assert str((await crib.dispatch(call))["content"]).startswith(text)


async def test_a_result_without_text_is_told_as_its_data(crib: Crib) -> None:
    call = {"id": "c", "function": {"name": "describe_tools", "arguments": '{"names": ["odd"]}'}}
    assert (await crib.dispatch(call))["content"] == "{}"


async def test_a_model_uses_the_meta_tools_by_itself(crib: Crib, small: SmallCrib) -> None:
    search = {"id": "1", "function": {"name": "search_tools", "arguments": '{"queries": ["time"]}'}}
    wish = '{"name": "echo__back", "arguments": {"a": 1}}'
    call = {"id": "2", "function": {"name": "call_tool", "arguments": wish}}
    assert (await crib.dispatch(search))["content"] == "..."
    assert (await crib.dispatch(call))["content"] == '{"a":1}'
    assert small.calls["call_tool"] == 1


@pytest.mark.parametrize("call", [{}, {"type": "text", "text": "hi"}, 7, {"function": {}}])
async def test_what_is_no_tool_call_is_an_error(crib: Crib, call: object) -> None:
    with pytest.raises(InvalidArguments, match="no tool call of a known form"):
        await crib.dispatch(call)
