"""A model's tool call, in whatever API's form, and the answer in the same form.

Reads dicts and the objects of the providers' SDKs alike, without importing any of them. Pure; used
by `Crib.dispatch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_client.failures import failure
from toolcrib_protocol.content import IMAGE, TEXT, text_of
from toolcrib_protocol.errors import INVALID_ARGUMENTS
from toolcrib_protocol.json_value import dump_json, parse_json

if TYPE_CHECKING:
    from toolcrib_client.tool_formats import Format
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result

_ANTHROPIC_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """What a model asked for.

    Attributes:
        format: whose form it came in, and the answer goes out in.
        call_id: the API's own id of the call, or None.
        name: the tool's published name, or a meta-tool's.
        arguments: as the model gave them: an object, or its JSON text.
    """

    format: Format
    call_id: str | None
    name: str
    arguments: object

    def parsed_arguments(self) -> JsonObject:
        """The arguments as an object.

        Raises:
            ToolError: `invalid_arguments` (or `invalid_json`) in words for the model.
        """
        given = self.arguments
        if given is None or given == "":
            return {}
        value = parse_json(given) if isinstance(given, str) else given
        if not isinstance(value, Mapping):
            raise failure(
                INVALID_ARGUMENTS,
                f"the arguments of {self.name!r} must be a JSON object, not {str(value)[:80]!r}",
            )
        return {str(key): inner for key, inner in value.items()}

    def answered(self, result: Result) -> JsonObject:
        """The message that brings `result` back to the model."""
        match self.format:
            case "openai":
                return {
                    "role": "tool",
                    "tool_call_id": self.call_id,
                    "content": result_text(result),
                }
            case "openai-responses":
                return {
                    "type": "function_call_output",
                    "call_id": self.call_id,
                    "output": result_text(result),
                }
            case "anthropic":
                return {
                    "type": "tool_result",
                    "tool_use_id": self.call_id,
                    "content": _anthropic_blocks(result),
                    "is_error": result.is_error,
                }
            case "gemini":
                return {"functionResponse": self._gemini(result)}
            case "mcp":
                return result.as_mcp()

    def _gemini(self, result: Result) -> JsonObject:
        told: Json = result.data if result.has_data and not result.is_error else result_text(result)
        response: JsonObject = {"error" if result.is_error else "output": told}
        named: JsonObject = {"name": self.name, "response": response}
        return named if self.call_id is None else {"id": self.call_id, **named}


def read_tool_call(call: object) -> ModelToolCall:
    """The call that `call` writes.

    Args:
        call: an entry of OpenAI's `tool_calls`, a `function_call` item of its responses, an
            Anthropic `tool_use` block, a Gemini `functionCall` (or the part that holds it), or the
            parameters of an MCP `tools/call`; as dict or as object of the SDK.

    Raises:
        ToolError: `invalid_arguments` if it is none of these.
    """
    function = _field(call, "function")
    if function is not None:
        return _made("openai", _field(call, "id"), function, "arguments")
    match _field(call, "type"):
        case "function_call":
            return _made("openai-responses", _field(call, "call_id"), call, "arguments")
        case "tool_use":
            return _made("anthropic", _field(call, "id"), call, "input")
    part = _field(call, "functionCall", "function_call")
    if part is not None:
        return _made("gemini", _field(part, "id"), part, "args")
    params = _field(call, "params")
    if params is not None:
        return _made("mcp", None, params, "arguments")
    if _has(call, "args"):
        return _made("gemini", _field(call, "id"), call, "args")
    return _made("mcp", None, call, "arguments")


def result_text(result: Result) -> str:
    """A result as text for a model; errors say code and kind, which tell what to do."""
    text = result.text
    if result.error is not None:
        return (
            f"Error ({result.error.code}, {result.error.kind.value}): "
            f"{text or result.error.message}"
        )
    if not text and result.has_data:
        return dump_json(result.data)
    return text or "(done; the tool gave no output)"


def _anthropic_blocks(result: Result) -> list[Json]:
    """Text and images; what that API has no block for is named in the text."""
    images = [block for block in result.content if _is_image(block)]
    if result.is_error or not images:
        return [{"type": TEXT, "text": result_text(result)}]
    blocks: list[Json] = []
    for block in result.content:
        if _is_image(block):
            source: JsonObject = {
                "type": "base64",
                "media_type": block["mimeType"],
                "data": block["data"],
            }
            blocks.append({"type": IMAGE, "source": source})
        elif text := text_of([block]):
            # An empty text block is refused.
            blocks.append({"type": TEXT, "text": text})
    return blocks


def _is_image(block: JsonObject) -> bool:
    return (
        block.get("type") == IMAGE
        and block.get("mimeType") in _ANTHROPIC_IMAGES
        and "data" in block
    )


def _made(format_: Format, call_id: object, holder: object, arguments: str) -> ModelToolCall:
    name = _field(holder, "name")
    if not isinstance(name, str) or not name:
        raise failure(
            INVALID_ARGUMENTS,
            f"this is no tool call of a known form: {repr(holder)[:120]}; known are those "
            "of OpenAI (chat and "
            "responses), Anthropic, Gemini and MCP",
        )
    known_id = call_id if isinstance(call_id, str) else None
    return ModelToolCall(format_, known_id, name, _field(holder, arguments))


def _field(holder: object, *names: str) -> object:
    """The first of the fields that is there and not None."""
    for name in names:
        value = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
        if value is not None:
            return value
    return None


def _has(holder: object, name: str) -> bool:
    return name in holder if isinstance(holder, Mapping) else hasattr(holder, name)
