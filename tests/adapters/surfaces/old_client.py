"""A client of the older generation that sends exactly what a test tells it to, ids included."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_protocol.json_value import Json, JsonObject

ACCEPT = {"accept": "application/json, text/event-stream"}
HELLO: JsonObject = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


@dataclass
class OldClient:
    """A session over HTTP."""

    http: httpx2.AsyncClient
    url: str

    async def ask(self, request_id: Json, method: str, params: JsonObject) -> httpx2.Response:
        """The response to one request."""
        request: JsonObject = {
            "jsonrpc": "2.0",
            "id": request_id,
            "method": method,
            "params": params,
        }
        return await self.http.post(self.url, json=request)

    async def call(self, request_id: Json, name: str, arguments: JsonObject) -> JsonObject:
        """The JSON-RPC message that answers a call."""
        params: JsonObject = {"name": name, "arguments": arguments}
        return message_of(await self.ask(request_id, "tools/call", params))

    async def first_message(self, request_id: Json, name: str, arguments: JsonObject) -> JsonObject:
        """The message that answers a call; the response is not read on, nor closed."""
        call: JsonObject = {
            "jsonrpc": "2.0",
            "id": request_id,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        request = self.http.build_request("POST", self.url, json=call)
        response = await self.http.send(request, stream=True)
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                message: JsonObject = json.loads(line.removeprefix("data: "))
                return message
        raise AssertionError(f"HTTP {response.status_code} without a message")

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification."""
        await self.http.post(self.url, json={"jsonrpc": "2.0", "method": method, "params": params})

    async def is_open(self) -> bool:
        """Whether the server still knows the session; asking keeps it open."""
        return (await self.ask("ping", "ping", {})).status_code == 200


def message_of(response: httpx2.Response) -> JsonObject:
    """The JSON-RPC message that a response carries."""
    lines = [line for line in response.text.splitlines() if line.startswith("data: {")]
    message: JsonObject = json.loads(lines[-1].removeprefix("data: ")) if lines else response.json()
    return message


@asynccontextmanager
async def old_client(url: str, name: str | None = None) -> AsyncIterator[OldClient]:
    """A client that has shaken hands; `name` is what it calls the server, if not by its address."""
    headers = ACCEPT if name is None else {**ACCEPT, "host": name}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        greeted = await http.post(url, json=HELLO)
        http.headers["mcp-session-id"] = greeted.headers["mcp-session-id"]
        http.headers["mcp-protocol-version"] = "2025-11-25"
        client = OldClient(http, url)
        await client.tell("notifications/initialized", {})
        yield client
