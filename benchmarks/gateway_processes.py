"""The processes that `gateway_cpu.py` measures: `python gateway_processes.py ROLE TOOLS [URL]`.

Roles: `upstream` (the MCP server behind every gateway, over stdio), `direct` (the same server over
HTTP, no gateway), `bare` (the least a gateway can be on the SDK's low-level server) and `ours`. A
gateway starts a stdio server of its own, or uses the one at URL. Each HTTP role prints its own URL
on standard output.
"""

from __future__ import annotations

import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import uvicorn
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from toolcrib_adapters.main import open_crib
from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.http_app import HttpSettings, serve_http
from toolcrib_adapters.surfaces.mcp_server import build_server
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.snapshot import Snapshot

    Context = ServerRequestContext[Any, Any]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What to send back"},
        "times": {"type": "integer", "minimum": 1, "default": 1},
    },
    "required": ["text"],
}


def tools(number: int) -> list[types.Tool]:
    """`echo`, which says that it only reads, `store`, which says nothing, and others for length."""
    fillers = (
        types.Tool(
            name=f"filler_{n}",
            description=f"Stands in a long list as number {n} and is never called.",
            input_schema=SCHEMA,
        )
        for n in range(number - 2)
    )
    reads = types.ToolAnnotations(read_only_hint=True)
    echo = types.Tool(
        name="echo", description="Sends text back.", input_schema=SCHEMA, annotations=reads
    )
    store = types.Tool(name="store", description="Keeps a text.", input_schema=SCHEMA)
    return [echo, store, *fillers][:number]


def echo_server(number: int) -> Server[Any]:
    """The server behind every gateway."""
    listed = types.ListToolsResult(tools=tools(number))

    async def list_tools(_ctx: Context, _params: object) -> types.ListToolsResult:
        return listed

    async def call_tool(_ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = str((params.arguments or {}).get("text"))
        block = types.TextContent(type="text", text=text)
        return types.CallToolResult(content=[block], structured_content={"text": text})

    return Server(
        "echo",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda _name: SCHEMA,
    )


def upstream_command(number: int) -> list[str]:
    """What starts the server behind every gateway."""
    return [sys.executable, str(Path(__file__).absolute()), "upstream", str(number)]


async def run_upstream(number: int, _url: str | None) -> None:
    """The server over stdio."""
    server = echo_server(number)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def run_direct(number: int, _url: str | None) -> None:
    """The server over HTTP."""
    await _serve(echo_server(number))


async def run_bare(number: int, url: str | None) -> None:
    """A gateway that only passes on: one client, one server, no catalogue, no checks."""
    command, *args = upstream_command(number)
    target = url or StdioServerParameters(command=command, args=args)
    async with Client(target, cache=None) as client:
        listed = await client.list_tools()

        async def list_tools(_ctx: Context, _params: object) -> types.ListToolsResult:
            return listed

        async def call_tool(
            _ctx: Context, params: types.CallToolRequestParams
        ) -> types.CallToolResult:
            return await client.session.call_tool(params.name, params.arguments)

        server = Server(
            "bare",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            get_tool_input_schema=lambda _name: SCHEMA,
        )
        await _serve(server)


async def run_ours(number: int, url: str | None) -> None:
    """The crib, composed as `toolcrib serve` composes it."""
    command, *args = upstream_command(number)
    spec: JsonObject = {"transport": "stdio", "command": command, "args": [*args], "env": {}}
    if url is not None:
        spec = {"transport": "http", "url": url, "headers": {}}
    with tempfile.TemporaryDirectory() as home:
        # Without an encoder: vectors made in the background would be counted as calls.
        settings = CribSettings(home=Path(home), encoder="none")
        async with open_crib(settings) as crib:
            arrived = _Arrival(number)
            crib.catalogue.followers = (*crib.catalogue.followers, arrived)
            await register(crib.catalogue, SourceRecord("bench", SourceKind.MCP, spec, "bench"))
            await arrived.complete.wait()
            server = build_server(crib.catalogue, crib.calls, crib.search)
            await serve_http(server, HttpSettings(port=0), task_status=_Announcement())


class _Arrival:
    """A follower that knows when all tools are in the catalogue."""

    def __init__(self, number: int) -> None:
        self.complete = anyio.Event()
        self._number = number

    async def catalogue_changed(self, before: Snapshot, after: Snapshot) -> None:
        """Look whether they are."""
        if len(after.tools) >= self._number:
            self.complete.set()


class _Announcement:
    """Prints the URL as soon as there is one."""

    def started(self, value: str | None = None) -> None:
        """Print it."""
        print(value, flush=True)


async def _serve(server: Server[Any]) -> None:
    # With its protocol named: asyncio switches off Nagle's delay (40 ms) for such sockets only.
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        app = server.streamable_http_app()
        # The parser that all measured gateways have, also where a faster one is installed.
        config = uvicorn.Config(app, http="h11", log_level="error", access_log=False)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        await uvicorn.Server(config).serve([listener])


ROLES: dict[str, Callable[[int, str | None], Awaitable[None]]] = {
    "upstream": run_upstream,
    "direct": run_direct,
    "bare": run_bare,
    "ours": run_ours,
}

if __name__ == "__main__":
    role, number, *rest = sys.argv[1:]
    anyio.run(ROLES[role], int(number), rest[0] if rest else None)
