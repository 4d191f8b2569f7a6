"""A document of tools is understood in every common form, each entry judged alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.contract_file import read_contracts
from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.tool import Contract
from toolcrib_protocol.version import Version

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
MCP: JsonObject = {
    "name": "forecast",
    "description": "Weather of a city.",
    "inputSchema": SCHEMA,
    "annotations": {"readOnlyHint": True},
}
PLAIN: JsonObject = {
    "name": "forecast",
    "description": "Weather of a city.",
    "inputSchema": SCHEMA,
}
OURS: JsonObject = {"name": "forecast", "version": "1.2.0", "input_schema": SCHEMA}


def entries(document: Json) -> tuple[Json | Contract, ...]:
    read = read_contracts(document, "weather")
    assert read.unreadable == ()
    return read.entries


@pytest.mark.promise("snapshot-forms")
@pytest.mark.parametrize(
    "document",
    [
        [MCP],
        {"tools": [MCP]},
        {"tools": [MCP], "nextCursor": "2"},
        {"result": {"tools": [MCP]}},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP]}},
        {"result": [MCP], "tools": [MCP]},
        [{"tools": [MCP]}],
        [{"result": {"tools": [MCP]}}],
        MCP,
    ],
)
def test_a_stored_tools_list_passes_entry_for_entry_however_it_is_wrapped(document: Json) -> None:
    assert entries(document) == (MCP,)


def test_pages_are_joined_in_their_order() -> None:
    other: JsonObject = {"name": "alerts", "inputSchema": {}}
    assert entries([{"tools": [MCP]}, {"tools": []}, {"result": {"tools": [other]}}]) == (
        MCP,
        other,
    )


@pytest.mark.promise("snapshot-forms")
@pytest.mark.parametrize(
    "entry",
    [
        {
            "type": "function",
            "function": {
                "name": "forecast",
                "description": "Weather of a city.",
                "parameters": SCHEMA,
                "strict": True,
            },
        },
        {
            "type": "function",
            "name": "forecast",
            "description": "Weather of a city.",
            "parameters": SCHEMA,
            "strict": None,
        },
        {"name": "forecast", "description": "Weather of a city.", "parameters": SCHEMA},
        {
            "name": "forecast",
            "description": "Weather of a city.",
            "input_schema": SCHEMA,
            "cache_control": {"type": "ephemeral"},
        },
        {
            "functionDeclarations": [
                {
                    "name": "forecast",
                    "description": "Weather of a city.",
                    "parametersJsonSchema": SCHEMA,
                }
            ]
        },
        {
            "function_declarations": [
                {
                    "name": "forecast",
                    "description": "Weather of a city.",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {"city": {"type": "STRING"}},
                        "required": ["city"],
                    },
                }
            ]
        },
    ],
    ids=["openai-chat", "openai-responses", "smallest", "anthropic", "gemini", "gemini-openapi"],
)
def test_the_function_forms_of_model_apis_become_the_same_tool(entry: JsonObject) -> None:
    assert entries(entry) == entries([entry]) == entries({"tools": [entry]}) == (PLAIN,)


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "function", "function": {"name": "now"}},
        {"type": "function", "name": "now", "parameters": None},
        {"functionDeclarations": [{"name": "now"}]},
    ],
)
def test_a_function_without_parameters_takes_none(entry: JsonObject) -> None:
    assert entries([entry]) == (
        {"name": "now", "inputSchema": {"type": "object", "properties": {}}},
    )


def test_gemini_types_are_translated_at_every_depth() -> None:
    declared: JsonObject = {
        "name": "f",
        "parameters": {
            "type": "OBJECT",
            "properties": {
                "type": {"type": "STRING", "nullable": True, "enum": ["STRING"]},
                "rows": {"type": "ARRAY", "items": {"type": "INTEGER", "nullable": False}},
                "either": {"anyOf": [{"type": "NUMBER"}, True]},
            },
        },
    }
    (tool,) = entries({"functionDeclarations": [declared]})
    assert isinstance(tool, dict)
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {
            "type": {"type": ["string", "null"], "enum": ["STRING"]},
            "rows": {"type": "array", "items": {"type": "integer"}},
            "either": {"anyOf": [{"type": "number"}, True]},
        },
    }


@pytest.mark.parametrize(
    "document", [OURS, [OURS], {"contracts": [OURS]}, {"tools": [OURS]}, {"functions": [OURS]}]
)
def test_our_own_form_is_read_as_a_contract(document: Json) -> None:
    (contract,) = entries(document)
    assert isinstance(contract, Contract)
    assert contract.group == "weather"
    assert contract.version == Version(1, 2, 0)
    assert contract.declares_version


@pytest.mark.promise("snapshot-forms")
def test_parameters_and_returns_name_the_schemas_of_our_own_form_too() -> None:
    (contract,) = entries(
        {"name": "f", "group": "sky", "parameters": SCHEMA, "returns": {"type": "object"}}
    )
    assert isinstance(contract, Contract)
    assert contract.group == "sky"
    assert contract.input_schema == SCHEMA
    assert contract.output_schema == {"type": "object"}
    assert not contract.declares_version


def test_a_contract_that_was_written_by_us_is_read_back_the_same() -> None:
    contract = Contract(group="sky", name="forecast", description="x", input_schema=SCHEMA)
    assert entries([contract.as_json()]) == (contract,)


def test_a_tool_that_lacks_its_schema_is_left_to_the_judge_of_listings() -> None:
    assert entries([{"name": "bare"}]) == ({"name": "bare"},)


def test_an_empty_list_describes_no_tools() -> None:
    assert entries([]) == entries({"tools": []}) == ()


def test_a_broken_entry_is_set_aside_alone_with_the_place_of_its_fault() -> None:
    typing_error: JsonObject = {**OURS, "name": "b", "behaviour": {"readonly": True}}
    read = read_contracts([OURS, 3, typing_error, {"version": "1.0.0"}, MCP], "weather")
    assert len(read.entries) == 2
    assert [(u.position, u.name, u.pointer) for u in read.unreadable] == [
        (1, None, ""),
        (2, "b", "/behaviour/readonly"),
        (3, None, "/name"),
    ]
    assert read.unreadable[0].reason == "an entry must be an object, not int"
    assert read.unreadable[1].raw == typing_error


def test_a_broken_gemini_declaration_is_set_aside_alone() -> None:
    read = read_contracts({"functionDeclarations": ["x", {"name": "f"}]}, "weather")
    assert len(read.entries) == 1
    assert [u.position for u in read.unreadable] == [0]


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (None, "NoneType"),
        ("text", "str"),
        ({}, "nothing"),
        ({"error": {"code": -32601}, "id": 1}, "error, id"),
        ({"tools": "none"}, "tools"),
    ],
)
def test_a_document_of_another_kind_is_refused_with_the_forms_to_write(
    document: Json, found: str
) -> None:
    with pytest.raises(ToolError, match="no list of tools") as caught:
        read_contracts(document, "weather")
    assert caught.value.code == INVALID_CONTRACT
    assert f"(found: {found})" in caught.value.message
