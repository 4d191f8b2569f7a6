"""Tools as the model APIs want them defined: OpenAI (both), Anthropic, Gemini, MCP.

Works on the published, model-safe schemas, so there is nothing left to make safe but Gemini's
dialect and OpenAI's limit on descriptions. Pure; used by `Crib.tools` and `Crib.meta_tools`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from toolcrib_client.failures import failure
from toolcrib_client.gemini_schema import gemini_schema
from toolcrib_protocol.errors import INVALID_ARGUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolcrib_client.hits import ToolDescription
    from toolcrib_protocol.json_value import Json, JsonObject

Format = Literal["openai", "openai-responses", "anthropic", "gemini", "mcp"]
"""`openai` is the chat completions form that most other providers and local servers take, too."""

LONGEST_OPENAI_DESCRIPTION: Final = 1024
"""In characters; one longer description makes OpenAI refuse the whole request."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What a model has to know to call a tool."""

    name: str
    description: str
    input_schema: JsonObject
    title: str | None = None
    output_schema: JsonObject | None = None

    @classmethod
    def of(cls, tool: ToolDescription) -> ToolDefinition:
        """The definition of a described tool, with all that guides its use in the text."""
        sentences = [
            tool.description,
            f"Use when: {tool.when_to_use}" if tool.when_to_use else "",
            f"Do not use when: {tool.when_not_to_use}" if tool.when_not_to_use else "",
            f"Before: {'; '.join(tool.preconditions)}" if tool.preconditions else "",
        ]
        text = "\n".join(sentence for sentence in sentences if sentence)
        return cls(tool.name, text, tool.input_schema, tool.title, tool.output_schema)

    @classmethod
    def from_mcp(cls, listed: JsonObject) -> ToolDefinition:
        """The definition of an entry of `tools/list`."""
        schema = listed.get("inputSchema")
        return cls(
            str(listed.get("name", "")),
            str(listed.get("description", "")),
            schema if isinstance(schema, dict) else {"type": "object"},
        )


def defined(tools: Sequence[ToolDefinition], format_: Format) -> list[JsonObject]:
    """The definitions as they go into the `tools` of a request.

    Raises:
        ToolError: `invalid_arguments` for a format there is none of.
    """
    if format_ == "gemini":
        # Gemini takes one tool that holds all the functions.
        return [{"functionDeclarations": [_gemini(tool) for tool in tools]}] if tools else []
    write = _WRITERS.get(format_)
    if write is None:
        known = ", ".join([*_WRITERS, "gemini"])
        raise failure(INVALID_ARGUMENTS, f"there is no tool format {format_!r}; there are {known}")
    return [write(tool) for tool in tools]


def _openai(tool: ToolDefinition) -> JsonObject:
    function: JsonObject = {
        "name": tool.name,
        "description": _cut(tool.description),
        "parameters": _with_properties(tool.input_schema),
    }
    return {"type": "function", "function": function}


def _openai_responses(tool: ToolDefinition) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": _cut(tool.description),
        "parameters": _with_properties(tool.input_schema),
        # The default of this API is strict, which refuses optional arguments.
        "strict": False,
    }


def _anthropic(tool: ToolDefinition) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}


def _gemini(tool: ToolDefinition) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description}
    schema = gemini_schema(tool.input_schema)
    # An object without properties is refused; a function without parameters is not.
    return {**function, "parameters": schema} if schema.get("properties") else function


def _mcp(tool: ToolDefinition) -> JsonObject:
    definition: JsonObject = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    }
    return {key: value for key, value in definition.items() if value is not None}


_WRITERS: Final[dict[str, Callable[[ToolDefinition], JsonObject]]] = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "mcp": _mcp,
}


def _cut(text: str) -> str:
    if len(text) <= LONGEST_OPENAI_DESCRIPTION:
        return text
    return text[: LONGEST_OPENAI_DESCRIPTION - 1] + "…"


def _with_properties(schema: JsonObject) -> JsonObject:
    """OpenAI refuses an object schema without `properties`."""
    missing: dict[str, Json] = {} if "properties" in schema else {"properties": {}}
    return {**schema, **missing}
