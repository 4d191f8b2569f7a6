"""The doors of a crib's MCP server: every transport in both generations, opened the way clients
open them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from toolcrib_adapters.surfaces.http_app import HttpSettings, serve_http

if TYPE_CHECKING:
    from tests.adapters.surfaces.bench import Bench
    from toolcrib_adapters.surfaces.edge.edge import Backstage
    from toolcrib_adapters.surfaces.endpoint_servers import Servers
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import Clock

MODERN = "2026-07-28"
Door = Callable[[], AbstractAsyncContextManager[Client]]

SERVER = StdioServerParameters(
    command=sys.executable,
    args=["-m", "tests.adapters.surfaces.bench_process", "stdio"],
    env=dict(os.environ),
)


@asynccontextmanager
async def over_http(
    servers: Servers,
    settings: HttpSettings | None = None,
    *,
    backstage: Backstage | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[str]:
    """The URL of `/mcp`, served by this process on a free port while the block runs."""
    stop = anyio.Event()
    where = settings or HttpSettings(port=0)

    async def serve(*, task_status: anyio.abc.TaskStatus[str]) -> None:
        await serve_http(
            servers, where, backstage=backstage, clock=clock, stop=stop, task_status=task_status
        )

    async with anyio.create_task_group() as tasks:
        url: str = await tasks.start(serve)
        try:
            yield url
        finally:
            stop.set()


@asynccontextmanager
async def open_door(door: str, bench: Bench) -> AsyncIterator[Client]:
    """A client behind `door`: "memory legacy", "http modern" ...; a stdio server has a bench of its
    own.
    """
    transport, _, generation = door.partition(" ")
    mode = "legacy" if generation == "legacy" else "auto"
    match transport:
        case "memory":
            async with Client(bench.server(), mode=mode) as client:
                yield client
        case "http":
            async with over_http(bench.server()) as url, Client(url, mode=mode) as client:
                yield client
        case _:
            async with Client(SERVER, mode=mode) as client:
                yield client


def raw_request(method: str, params: JsonObject, request_id: int = 1) -> JsonObject:
    """A request of 2026-07-28 as it goes over the wire."""
    envelope: JsonObject = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    }
    given = params.get("_meta")
    meta = {**envelope, **given} if isinstance(given, dict) else envelope
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": method,
        "params": {**params, "_meta": meta},
    }


async def post(
    http: httpx2.AsyncClient, url: str, request: JsonObject, **headers: str
) -> httpx2.Response:
    """The response to a request of 2026-07-28, with the headers it needs."""
    params = request["params"]
    assert isinstance(params, dict)
    routing = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN,
        "mcp-method": str(request["method"]),
    }
    if "name" in params:
        routing["mcp-name"] = str(params["name"])
    return await http.post(url, json=request, headers={**routing, **headers})


async def call_raw(
    url: str, name: str, arguments: JsonObject, meta: JsonObject | None = None
) -> JsonObject:
    """The result object of a `tools/call` of 2026-07-28, exactly as the server sent it."""
    params: JsonObject = {"name": name, "arguments": arguments, "_meta": meta or {}}
    async with httpx2.AsyncClient() as http:
        response = await post(http, url, raw_request("tools/call", params))
    result = response.json()["result"]
    assert isinstance(result, dict)
    return result


async def call_raw_legacy(url: str, version: str, name: str, arguments: JsonObject) -> JsonObject:
    """The result object of a `tools/call` after a handshake at `version`, exactly as the server
    sent it.
    """
    headers = {"accept": "application/json, text/event-stream"}
    hello: JsonObject = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    async with httpx2.AsyncClient(headers=headers) as http:
        greeted = await http.post(url, json=_legacy("initialize", hello, 1))
        http.headers["mcp-session-id"] = greeted.headers["mcp-session-id"]
        http.headers["mcp-protocol-version"] = version
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await http.post(url, json=initialized)
        called = await http.post(
            url, json=_legacy("tools/call", {"name": name, "arguments": arguments}, 2)
        )
    result = _event(called)["result"]
    assert isinstance(result, dict)
    return result


def _legacy(method: str, params: JsonObject, request_id: int) -> JsonObject:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def _event(response: httpx2.Response) -> JsonObject:
    import json

    lines = [line for line in response.text.splitlines() if line.startswith("data: {")]
    message: JsonObject = json.loads(lines[-1].removeprefix("data: ")) if lines else response.json()
    return message
