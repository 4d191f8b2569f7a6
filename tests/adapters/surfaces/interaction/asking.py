"""A client of 2026-07-28 that sends exactly what a test tells it to, and can be asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2

from tests.adapters.surfaces.doors import post, raw_request

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

ABLE: JsonObject = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
ANSWER: JsonObject = {"action": "accept", "content": {"name": "Ada"}}
ASK: JsonObject = {"name": "desk__ask", "arguments": {"questions": ["form"]}}
THROUGH: JsonObject = {"name": "call_tool", "arguments": {**ASK}}


async def told(url: str, params: JsonObject, meta: JsonObject | None = None) -> Any:
    """The JSON-RPC message that answers a `tools/call` of a client that can be asked."""
    async with httpx2.AsyncClient(timeout=60) as http:
        request = raw_request("tools/call", {**params, "_meta": {**ABLE, **(meta or {})}})
        response = await post(http, url, request)
    # An answer that takes a while comes as the last event of a stream.
    return json.loads(response.text.rpartition("data: ")[2] or response.text)


def reply(question: Any, params: JsonObject, answer: JsonObject = ANSWER) -> JsonObject:
    """The call again, with the answer to the one question."""
    (key,) = question["result"]["inputRequests"]
    state = question["result"]["requestState"]
    return {**params, "inputResponses": {key: answer}, "requestState": state}
