"""A small real MCP server that speaks a crib's wire, with tools that misbehave on demand.

For what the gateway itself never does on purpose: odd answers, lost connections, silence. Runs in
this process, behind uvicorn (`served_over_http`), or as `python -m tests.client.small_crib`.
"""

from __future__ import annotations

import os
import socket
from collections import Counter, defaultdict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, PaginatedRequestParams, RequestParams
from pydantic import ConfigDict

from toolcrib_adapters.surfaces.whole_answers import lay_beside, whole_answers
from toolcrib_protocol.errors import NOT_PERMITTED, UNKNOWN_TOOL, ErrorKind, ToolError
from toolcrib_protocol.result import Result
from toolcrib_protocol.result_list import results_as_mcp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_protocol.json_value import JsonObject

BIG = 2**70 + 1
ODD_BLOCKS: list[JsonObject] = [
    {"type": "text", "text": "first", "annotations": {"audience": ["user"]}, "x-own": BIG},
    {"type": "image", "data": "aGk=", "mimeType": "image/png", "_meta": {"a/b": None}},
    {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 12},
]
NOW: JsonObject = {
    "name": "time__now",
    "reference": "time/now@1.2.0",
    "title": "Now",
    "description": "The time in a city.",
    "when_to_use": "The user asks what time it is.",
    "when_not_to_use": "Time differences.",
    "preconditions": ["The city has a time zone."],
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "An IANA name"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "output_schema": {"type": "object"},
    "behaviour": {"read_only": True, "open_world": "unknown"},
    "versions": ["1.2.0"],
    "status": "active",
    "source": "clock",
}
ANSWERS: dict[str, JsonObject] = {
    "odd__answer": {
        "content": [*ODD_BLOCKS],
        "structuredContent": {"n": BIG, "list": [1, None]},
        "_meta": {"io.toolcrib/tool": "odd/answer@1.0.0", "x/y": BIG},
    },
    "odd__blocks": {"content": "text", "structuredContent": 1},
    "odd__asks": {"resultType": "input_required", "inputRequests": {}},
    "fail__plainly": {"content": [{"type": "text", "text": "disk full"}], "isError": True},
}
META_TOOLS: list[JsonObject] = [
    {"name": name, "description": text, "inputSchema": {"type": "object", "properties": {}}}
    for name, text in [
        ("search_tools", "Find tools."),
        ("describe_tools", "Read about tools."),
        ("call_tool", "Call a tool."),
        ("something_else", "Not a meta-tool."),
    ]
]


class AnyParams(RequestParams):
    model_config = ConfigDict(extra="allow")


class SmallCrib:
    """The server and what tests want to know of it."""

    def __init__(self, *, takes_publications: bool = True) -> None:
        self.server = Server[Any]("small-crib")
        self.server.add_request_handler("tools/list", PaginatedRequestParams, self._list)
        self.server.add_request_handler("tools/call", CallToolRequestParams, self._answer)
        self.server.add_request_handler("toolcrib/publish", AnyParams, self._publish)
        self.server.middleware.append(whole_answers)
        self.takes_publications = takes_publications
        self.calls: Counter[str] = Counter()
        self.metas: list[JsonObject] = []
        self.searched: list[JsonObject] = []
        self.published: list[JsonObject] = []
        self.started: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)
        self.cancelled = anyio.Event()

    async def _list(self, _ctx: object, params: PaginatedRequestParams | None) -> JsonObject:
        # One tool a page, so that whoever reads only the first page is found out.
        position = int(params.cursor) if params and params.cursor else 0
        more: JsonObject = (
            {"nextCursor": str(position + 1)} if position + 1 < len(META_TOOLS) else {}
        )
        stamp: JsonObject = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return {"tools": [META_TOOLS[position]], **more, **stamp}

    async def _answer(self, ctx: Any, params: CallToolRequestParams) -> JsonObject:
        self.metas.append(dict(ctx.meta or {}))
        arguments: JsonObject = params.arguments or {}
        self.calls[params.name] += 1
        match params.name:
            case "search_tools":
                answer = await self._search(arguments)
            case "describe_tools":
                answer = self._describe(arguments)
            case "call_tool":
                answer = await self._call_tool(ctx, arguments)
            case name:
                answer = Result.failed(ToolError(UNKNOWN_TOOL, f"no tool {name!r}")).as_mcp()
        return lay_beside(answer)

    async def _search(self, arguments: JsonObject) -> JsonObject:
        self.searched.append(arguments)
        queries = arguments["queries"]
        assert isinstance(queries, list)
        if "be silent" in queries:
            await self._silence()
        if "die once" in queries and self.calls["search_tools"] == 1:
            os._exit(3)
        if "be strange" in queries:
            return {"content": [], "structuredContent": {"results": 7}}
        if "refuse" in queries:
            raise MCPError(-32602, "not like that")
        results: list[Any] = [self._hits(str(query)) for query in queries]
        groups: list[Any] = [{"name": "time", "description": "Clocks", "tools": 1}]
        structured: JsonObject = {"results": results, "groups": groups, "revision": 7}
        if "be degraded" in queries:
            structured["degraded"] = "vectors are being built"
        return {"content": [{"type": "text", "text": "..."}], "structuredContent": structured}

    def _hits(self, query: str) -> JsonObject:
        if query == "nonsense":
            return {"query": query, "hits": [], "nothing_fits": True}
        names = ["time__now"] if query.startswith("time") else ["time__now", "mail__send"]
        hits: list[Any] = [
            {
                "name": name,
                "reference": f"{name.replace('__', '/')}@1.2.0",
                "score": 0.5,
                "why": "words: time",
                "signature": f"{name}(city: string)",
                "description": "The time in a city.",
            }
            for name in names
        ]
        return {"query": query, "hits": hits}

    def _describe(self, arguments: JsonObject) -> JsonObject:
        names = arguments["names"]
        assert isinstance(names, list)
        if names == ["strange"]:
            return {"content": [], "structuredContent": {"tools": [{"name": "strange"}]}}
        if names == ["odd"]:
            return {"content": [], "structuredContent": {}}
        entries: list[Any] = [self._described(str(name)) for name in names]
        answer: JsonObject = {"content": [], "structuredContent": {"tools": entries}}
        failed = all("error" in entry for entry in entries)
        return {**answer, "isError": True} if failed else answer

    def _described(self, name: str) -> JsonObject:
        if name in {"time__now", "time/now"}:
            return NOW
        if name == "mail__send":
            return {
                "name": name,
                "reference": "mail/send@1.0.0",
                "description": "Sends.",
                "input_schema": {"type": "object"},
            }
        error = ToolError(UNKNOWN_TOOL, f"no tool {name!r}", details={"nearest": ["time__now"]})
        return {"name": name, "error": error.as_json()}

    async def _call_tool(self, ctx: Any, arguments: JsonObject) -> JsonObject:
        if "calls" in arguments:
            return await self._list_of_calls(ctx, cast("list[JsonObject]", arguments["calls"]))
        given = arguments.get("arguments")
        assert isinstance(given, dict)
        return await self._one(ctx, str(arguments["name"]), given)

    async def _list_of_calls(self, ctx: Any, calls: list[JsonObject]) -> JsonObject:
        names = [str(call["name"]) for call in calls]
        if "search_tools" in names:
            return Result.failed(ToolError("invalid_arguments", "call it directly")).as_mcp()
        if names == ["lose__one", "lose__one"]:
            return {"content": [], "structuredContent": {"results": [{"status": "success"}]}}
        if names == ["odd__list"]:
            return {"content": [], "structuredContent": {"results": 3}}
        answers = [
            await self._one(ctx, str(call["name"]), cast("JsonObject", call["arguments"]))
            for call in calls
        ]
        return results_as_mcp(names, [Result.from_mcp(answer) for answer in answers])

    async def _one(self, ctx: Any, name: str, given: JsonObject) -> JsonObject:
        self.calls[name] += 1
        self.started[name].set()
        if name in ANSWERS:
            return ANSWERS[name]
        match name:
            case "echo__back":
                return Result(data=given, has_data=True).as_mcp()
            case "fail__as":
                kind = ErrorKind(str(given["kind"]))
                return Result.failed(ToolError(str(given["code"]), "it failed", kind)).as_mcp()
            case "count__up":
                for step in range(1, 4):
                    await ctx.session.report_progress(step, 3, f"step {step}")
                return Result(content=({"type": "text", "text": "counted"},)).as_mcp()
            case "meet__left" | "meet__right":
                other = "meet__right" if name == "meet__left" else "meet__left"
                await self.started[other].wait()
                return Result(data=name, has_data=True).as_mcp()
            case "die__now":
                os._exit(3)
            case "wait__forever":
                await self._silence()
        raise ZeroDivisionError

    async def _silence(self) -> None:
        self.started["silence"].set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()

    async def _publish(self, _ctx: object, params: AnyParams) -> JsonObject:
        if not self.takes_publications:
            refusal = ToolError(NOT_PERMITTED, "this crib takes no publications")
            raise MCPError(1, refusal.message, refusal.as_json())
        wish = params.model_extra or {}
        self.published.append(wish)
        published: list[Any] = [
            {"reference": "g/t@1.0.0", "published_name": "g__t", "status": "added"}
        ]
        return {"published": published, "quarantined": [], "revision": 8, "resultType": "complete"}


def free_socket(port: int = 0) -> socket.socket:
    """A listening socket of this machine; uvicorn takes it over."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    # Connections wait in the socket until uvicorn is ready.
    listening.listen()
    return listening


@asynccontextmanager
async def served(app: Any, port: int = 0) -> AsyncIterator[str]:
    """The address of a web application, while the block is open."""
    with free_socket(port) as listening:
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0)
        web = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [listening])
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            web.should_exit = True


@asynccontextmanager
async def served_over_http(crib: SmallCrib, port: int = 0) -> AsyncIterator[str]:
    """The MCP endpoint of a small crib, while the block is open."""
    async with served(crib.server.streamable_http_app(), port) as address:
        yield f"{address}/mcp"


async def _main() -> None:
    server = SmallCrib().server
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_main)
