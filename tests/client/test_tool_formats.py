"""Tools in the form of each model API."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from tests.client.small_crib import NOW
from toolcrib_client import Crib, InvalidArguments, UnknownTool
from toolcrib_client.tool_formats import ToolDefinition, defined

TEXT = (
    "The time in a city.\nUse when: The user asks what time it is.\n"
    "Do not use when: Time differences.\nBefore: The city has a time zone."
)


@pytest.mark.promise("client-tool-formats")
async def test_tools_are_defined_as_openai_wants_them(crib: Crib) -> None:
    assert await crib.tools("time", "openai") == [
        {
            "type": "function",
            "function": {
                "name": "time__now",
                "description": TEXT,
                "parameters": NOW["input_schema"],
            },
        }
    ]


@pytest.mark.promise("client-tool-formats")
async def test_tools_are_defined_as_openai_responses_want_them(crib: Crib) -> None:
    assert await crib.tools(["mail__send"], format="openai-responses") == snapshot(
        [
            {
                "type": "function",
                "name": "mail__send",
                "description": "Sends.",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
        ]
    )


@pytest.mark.promise("client-tool-formats")
async def test_tools_are_defined_as_anthropic_wants_them(crib: Crib) -> None:
    assert await crib.tools(["time__now"], format="anthropic") == [
        {"name": "time__now", "description": TEXT, "input_schema": NOW["input_schema"]}
    ]


@pytest.mark.promise("client-tool-formats")
async def test_tools_are_defined_as_gemini_wants_them(crib: Crib) -> None:
    assert await crib.tools(["time__now", "mail__send"], format="gemini") == snapshot(
        [
            {
                "functionDeclarations": [
                    {
                        "name": "time__now",
                        "description": """\
The time in a city.
Use when: The user asks what time it is.
Do not use when: Time differences.
Before: The city has a time zone.\
""",
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {
                                "city": {"type": "STRING", "description": "An IANA name"}
                            },
                            "required": ["city"],
                        },
                    },
                    {"name": "mail__send", "description": "Sends."},
                ]
            }
        ]
    )


@pytest.mark.promise("client-tool-formats")
async def test_tools_are_defined_as_mcp_wants_them(crib: Crib) -> None:
    assert await crib.tools(["time__now"], format="mcp") == [
        {
            "name": "time__now",
            "title": "Now",
            "description": TEXT,
            "inputSchema": NOW["input_schema"],
            "outputSchema": NOW["output_schema"],
        }
    ]


async def test_a_search_that_finds_nothing_gives_no_tools(crib: Crib) -> None:
    assert await crib.tools("nonsense") == []
    assert await crib.tools("nonsense", "gemini") == []


async def test_unknown_names_and_formats_are_errors(crib: Crib) -> None:
    with pytest.raises(UnknownTool):
        await crib.tools(["nope"])
    with pytest.raises(InvalidArguments, match="openai-responses, anthropic"):
        await crib.tools(["time__now"], "cohere")  # type: ignore[arg-type]


async def test_meta_tools_are_offered_in_any_form(crib: Crib) -> None:
    names = [tool["name"] for tool in await crib.meta_tools("anthropic")]
    assert names == ["search_tools", "describe_tools", "call_tool"]


def test_descriptions_too_long_for_openai_are_cut_for_openai_only() -> None:
    tool = ToolDefinition("a", "x" * 2000, {"type": "object"})
    (cut,) = defined([tool], "openai-responses")
    (whole,) = defined([tool], "anthropic")
    assert len(str(cut["description"])) == 1024
    assert len(str(whole["description"])) == 2000


def test_a_listed_tool_without_a_schema_takes_nothing() -> None:
    assert ToolDefinition.from_mcp({"name": "a"}).input_schema == {"type": "object"}
