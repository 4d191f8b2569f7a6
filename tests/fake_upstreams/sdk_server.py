"""An MCP server on the SDK: `sdk_server.py stdio | http | http-legacy | sse [KEY]`.

Over HTTP it prints its URL first. `http-legacy` refuses everything of 2026-07-28, as servers do
that do not know it. With a KEY, requests need `Authorization: Bearer KEY`. The tool `trouble` lets
the HTTP layer fail in the way that its argument names.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import sys
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from starlette.applications import Starlette
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Answer = dict[str, Any]
    Context = ServerRequestContext[Any, Any]

MODERN = "2026-07-28"
UNTIL = "Wed, 21 Oct 2026 07:28:00 GMT"
REGION = {"type": "string", "x-mcp-header": "Region"}
SCHEMAS: dict[str, Answer] = {
    "echo": {"type": "object"},
    "wait": {"type": "object"},
    "cancelled": {"type": "object"},
    "progress": {"type": "object"},
    "ask": {"type": "object"},
    "add": {"type": "object"},
    "request": {"type": "object", "properties": {"region": REGION}},
    "big": {"type": "object"},
    "trouble": {"type": "object"},
    "leave": {"type": "object"},
}
SHORT_ANSWERS: dict[str, tuple[int, dict[str, str]]] = {
    "busy": (503, {"retry-after": "7"}),
    "busy until": (429, {"date": "Wed, 21 Oct 2026 07:26:30 GMT", "retry-after": UNTIL}),
    "busy for ever": (429, {"retry-after": "9" * 30}),
    "busy somehow": (429, {"retry-after": "soon"}),
    "forbidden": (403, {}),
    "forgotten": (404, {}),
    "fault": (500, {}),
    "gateway": (502, {}),
    "refused": (405, {}),
    "accepted": (202, {}),
}
PAGE = 4
cancelled: list[Any] = []
bus = InMemorySubscriptionBus()


async def list_tools(_ctx: Context, params: types.PaginatedRequestParams | None) -> Answer:
    start = int((params.cursor if params is not None else None) or 0)
    names = list(SCHEMAS)
    page = [{"name": name, "inputSchema": SCHEMAS[name]} for name in names[start : start + PAGE]]
    answer: Answer = {
        "tools": page,
        "ttlMs": 900_000,
        "cacheScope": "public",
        "resultType": "complete",
    }
    if start + PAGE < len(names):
        answer["nextCursor"] = str(start + PAGE)
    return answer


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Answer:
    given, called = params.arguments or {}, CALLED.get(params.name)
    if called is None:
        block = {"type": "text", "text": f"Unknown tool: {params.name}"}
        return {"content": [block], "isError": True, "resultType": "complete"}
    return await called(ctx, given)


async def echo(_ctx: Context, given: Answer) -> Answer:
    return told(given)


async def tell_cancelled(_ctx: Context, _given: Answer) -> Answer:
    return told({"cancelled": cancelled})


async def progress(ctx: Context, given: Answer) -> Answer:
    for step in range(given["steps"]):
        await ctx.session.report_progress(step, given["steps"], f"step {step}")
    return told({})


async def ask(_ctx: Context, _given: Answer) -> Answer:
    form = {"type": "object", "properties": {}}
    question = {"mode": "form", "message": "Sure?", "requestedSchema": form}
    asked = {"q": {"method": "elicitation/create", "params": question}}
    return {"resultType": "input_required", "inputRequests": asked}


async def add(_ctx: Context, given: Answer) -> Answer:
    SCHEMAS[given["name"]] = {"type": "object"}
    await bus.publish(ToolsListChanged())
    return told({})


async def tell_request(ctx: Context, _given: Answer) -> Answer:
    headers = dict(ctx.request.headers) if ctx.request is not None else {}
    return told({"headers": headers, "meta": dict(ctx.meta or {})})


async def big(_ctx: Context, given: Answer) -> Answer:
    return {"content": [{"type": "text", "text": "x" * given["size"]}], "resultType": "complete"}


async def leave(_ctx: Context, _given: Answer) -> Answer:
    os._exit(3)


async def wait(_ctx: Context, given: Answer) -> Answer:
    try:
        await anyio.sleep_forever()
    finally:
        cancelled.append(given.get("who"))
    raise AssertionError


def told(value: Answer) -> Answer:
    block = {"type": "text", "text": json.dumps(value)}
    return {"content": [block], "structuredContent": value, "resultType": "complete"}


CALLED: dict[str, Callable[[Context, Answer], Awaitable[Answer]]] = {
    "echo": echo,
    "wait": wait,
    "cancelled": tell_cancelled,
    "progress": progress,
    "ask": ask,
    "add": add,
    "request": tell_request,
    "big": big,
    "leave": leave,
}

server: Server[Any] = Server(
    "sdk-server",
    version="1",
    title="SDK server",
    instructions="Mind the SDK.",
    on_list_tools=list_tools,  # type: ignore[arg-type] # dictionaries are taken, too
    on_call_tool=call_tool,  # type: ignore[arg-type]
    on_subscriptions_listen=ListenHandler(bus),
    get_tool_input_schema=SCHEMAS.get,
)


class Gate:
    """An ASGI layer that fails on demand."""

    def __init__(self, app: ASGIApp, *, refuses_modern: bool, key: str | None) -> None:
        self.app = app
        self.refuses_modern = refuses_modern
        self.key = key
        self.lists_deep = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body, receive = await self.body_of(scope, receive)
        refusal = self.refusal(scope, body)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def body_of(self, scope: Scope, receive: Receive) -> tuple[Answer, Receive]:
        if scope["method"] != "POST":
            return {}, receive
        parts, more = [], True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        whole = b"".join(parts)
        given = [False]

        async def again() -> Message:
            if given[0]:
                return await receive()
            given[0] = True
            return {"type": "http.request", "body": whole, "more_body": False}

        return json.loads(whole), again

    def refusal(self, scope: Scope, body: Answer) -> ASGIApp | None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            return PlainTextResponse("sign in", 401, {"www-authenticate": "Bearer"})
        if self.refuses_modern and headers.get("mcp-protocol-version") == MODERN:
            return PlainTextResponse("what is this?", 400)
        params = body.get("params") or {}
        if self.lists_deep and body.get("method") == "tools/list":
            return Response(deep_list(body["id"]), media_type="application/json")
        if body.get("method") == "tools/call" and params.get("name") == "trouble":
            return trouble(params["arguments"]["kind"], body["id"], self)
        return None


def trouble(kind: str, request_id: object, gate: Gate) -> ASGIApp:
    match kind:
        case "expired":
            gate.key = "another"
            return PlainTextResponse("sign in", 401)
        case "jsonrpc":
            error = {"code": -32602, "message": "no such thing"}
            return JSONResponse({"jsonrpc": "2.0", "id": request_id, "error": error}, 400)
        case "not json":
            return Response("{", media_type="application/json")
        case "break off":
            return break_off
        case "deep list":
            gate.lists_deep = True
            result = {"content": [], "resultType": "complete"}
            return JSONResponse({"jsonrpc": "2.0", "id": request_id, "result": result})
        case _:
            return weather(kind) or unruly(kind)


def deep_list(request_id: object) -> str:
    """A list with one schema that is nested deeper than most parsers read, among others."""
    deep = '{"type":"object","properties":{"a":' * 110 + "{}" + "}}" * 110
    tools = [
        f'{{"name":"{name}","inputSchema":{schema}}}'
        for name, schema in (
            ("echo", '{"type":"object"}'),
            ("deep", deep),
            ("wait", '{"type":"object"}'),
        )
    ]
    listed = f'"tools":[{",".join(tools)}],"ttlMs":0,"cacheScope":"public","resultType":"complete"'
    return f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},"result":{{{listed}}}}}'


def weather(kind: str) -> ASGIApp | None:
    """What a server says that cannot, or not now."""
    if (told := SHORT_ANSWERS.get(kind)) is not None:
        status, headers = told
        return PlainTextResponse("later", status, headers)
    match kind:
        case "html":
            return HTMLResponse("<h1>Welcome</h1>")
        case "empty":
            return Response(b"", media_type="application/json")
        case "nothing":
            return Response(b"")
        case "no end":
            return Response(b": hello\n\n", media_type="text/event-stream")
        case _:
            return None


def unruly(kind: str) -> ASGIApp:
    """An answer that is longer than any reader should read, or not what it says."""
    as_json = "application/json"
    match kind:
        case "endless":
            return StreamingResponse(without_end(), media_type=as_json)
        case "endless error":
            return StreamingResponse(without_end(), 500, media_type=as_json)
        case "endless redirect":
            return StreamingResponse(without_end(), 307, {"location": "/mcp"}, as_json)
        case "bomb":
            packed = gzip.compress(b" " * 300_000_000, 1)
            return Response(packed, 200, {"content-encoding": "gzip"}, as_json)
        case _:
            return Response(b"{}", 200, {"content-encoding": "gzip"}, as_json)


async def without_end() -> AsyncIterator[bytes]:
    while True:
        yield b" " * 1_000_000
        await anyio.lowlevel.checkpoint()  # or nothing else of this server ever runs again


async def break_off(_scope: Scope, _receive: Receive, send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"jsonrpc":', "more_body": True})
    raise ConnectionError("broken off on purpose")


def sse_app() -> Starlette:
    transport = SseServerTransport("/messages/")

    async def events(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:
            await server.run(streams[0], streams[1], server.create_initialization_options())
        return Response()

    return Starlette(
        routes=[Route("/mcp", events), Mount("/messages/", app=transport.handle_post_message)]
    )


async def serve(mode: str, key: str | None) -> None:
    app: ASGIApp = sse_app() if mode == "sse" else server.streamable_http_app()
    gate = Gate(app, refuses_modern=mode == "http-legacy", key=key)
    # With its protocol named: asyncio switches off Nagle's delay (40 ms) for such sockets only.
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
        listener.listen()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(gate, log_level="critical", access_log=False, date_header=False)
        await uvicorn.Server(config).serve([listener])


async def main() -> None:
    if sys.argv[1] == "stdio":
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    else:
        await serve(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)


anyio.run(main)
