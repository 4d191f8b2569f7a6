"""An MCP server that offers more than tools: `offering_server.py stdio | http [legacy] [plain]`.

With `legacy` it knows nothing of 2026-07-28; with `plain` it has tools only. Over HTTP it prints
its URL first. Its tools:

    touch       says that a resource changed
    change      adds a prompt and a resource, and says so `times` times
    log         logs at every level
    link        answers with links to resources
    seen        tells what it was asked
"""

from __future__ import annotations

import json
import os
import socket
import sys
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from starlette.types import ASGIApp, Receive, Scope, Send

    Answer = dict[str, Any]
    Context = ServerRequestContext[Any, Any]

warnings.simplefilter("ignore")
MODERN = "2026-07-28"
LEVELS = ("debug", "info", "warning", "error")
ICON = {"src": "https://example.org/icon.png", "mimeType": "image/png"}
TOOLS = ("touch", "change", "log", "link", "seen")
PAGE = 2
resources: list[Answer] = [
    {"uri": "desk://notes", "name": "notes", "icons": [ICON], "_meta": {"vendor": 1}},
    {"uri": "desk://picture", "name": "picture", "mimeType": "image/png"},
]
templates: list[Answer] = [
    {"uriTemplate": "desk://note/{id}", "name": "note"},
]
prompts: list[Answer] = [
    {"name": "greet", "arguments": [{"name": "who", "required": True}], "icons": [ICON]},
    {"name": "a prompt with spaces"},
]
seen: Answer = {"asked": Counter(), "levels": [], "watched": [], "unwatched": [], "metas": []}
level = ["info"]
sessions: dict[int, ServerSession] = {}
bus = InMemorySubscriptionBus()


def paged(key: str, entries: list[Answer], params: types.PaginatedRequestParams | None) -> Answer:
    start = int((params.cursor if params is not None else None) or 0)
    answer: Answer = {
        key: entries[start : start + PAGE],
        "ttlMs": 600_000,
        "cacheScope": "public",
        "resultType": "complete",
    }
    if start + PAGE < len(entries):
        answer["nextCursor"] = str(start + PAGE)
    return answer


async def list_tools(_ctx: Context, _params: Any) -> Answer:
    seen["asked"]["tools/list"] += 1
    meta = {"ui": {"resourceUri": "desk://notes"}}
    tools = [
        {"name": name, "inputSchema": {"type": "object"}, "icons": [ICON], "_meta": meta}
        for name in TOOLS
    ]
    return {"tools": tools, "ttlMs": 600_000, "cacheScope": "public", "resultType": "complete"}


async def list_resources(_ctx: Context, params: types.PaginatedRequestParams | None) -> Answer:
    if params is None or params.cursor is None:
        seen["asked"]["resources/list"] += 1
    return paged("resources", resources, params)


async def list_templates(_ctx: Context, params: types.PaginatedRequestParams | None) -> Answer:
    return paged("resourceTemplates", templates, params)


async def list_prompts(_ctx: Context, params: types.PaginatedRequestParams | None) -> Answer:
    if params is None or params.cursor is None:
        seen["asked"]["prompts/list"] += 1
    return paged("prompts", prompts, params)


async def read(ctx: Context, params: types.ReadResourceRequestParams) -> Answer:
    uri = params.uri
    seen["metas"].append(
        {k: v for k, v in dict(ctx.meta or {}).items() if not k.startswith("io.model")}
    )
    if uri == "desk://picture":
        content: Answer = {"uri": uri, "blob": "AAEC", "mimeType": "image/png"}
    elif uri.startswith("desk://note"):
        content = {"uri": uri, "text": f"{os.environ.get('DESK', 'desk')}: {uri}", "stray": 1}
    else:
        is_old = ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
        raise MCPError(-32002 if is_old else -32602, "Resource not found", {"uri": uri})
    return {"contents": [content], "ttlMs": 5, "cacheScope": "public", "resultType": "complete"}


async def get_prompt(_ctx: Context, params: types.GetPromptRequestParams) -> Answer:
    if all(prompt.get("name") != params.name for prompt in prompts):
        raise MCPError(-32602, f"no prompt {params.name}")
    link = {"type": "resource_link", "uri": "desk://notes", "name": "notes"}
    words = {"type": "text", "text": f"Greet {(params.arguments or {}).get('who')}"}
    messages = [{"role": "user", "content": block} for block in (words, link)]
    return {"messages": messages, "description": "greets", "resultType": "complete"}


async def complete(_ctx: Context, params: types.CompleteRequestParams) -> Answer:
    ref = params.ref
    named = ref.name if isinstance(ref, types.PromptReference) else ref.uri
    context = params.context.arguments if params.context else None
    values = [named, params.argument.value, json.dumps(context)]
    return {"completion": {"values": values, "hasMore": False}, "resultType": "complete"}


async def set_level(_ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    seen["levels"].append(params.level)
    level[0] = params.level
    return types.EmptyResult()


async def subscribe(_ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    seen["watched"].append(str(params.uri))
    return types.EmptyResult()


async def unsubscribe(_ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    seen["unwatched"].append(str(params.uri))
    return types.EmptyResult()


async def listen(
    ctx: Context, params: types.SubscriptionsListenRequestParams
) -> types.SubscriptionsListenResult:
    uris = params.notifications.resource_subscriptions or []
    seen["watched"] += uris
    try:
        return await ListenHandler(bus)(ctx, params)
    finally:
        seen["unwatched"] += uris


async def initialized(ctx: Context, _params: types.NotificationParams) -> None:
    sessions[id(ctx.session)] = ctx.session


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Answer:
    given = params.arguments or {}
    return await CALLED[params.name](ctx, given)


async def touch(_ctx: Context, given: Answer) -> Answer:
    await bus.publish(ResourceUpdated(given["uri"]))
    for session in sessions.values():
        await session.send_resource_updated(given["uri"])
    return told({})


async def change(_ctx: Context, given: Answer) -> Answer:
    if given.get("name"):
        prompts.append({"name": given["name"]})
        resources.append({"uri": f"desk://{given['name']}", "name": given["name"]})
    for _ in range(given.get("times", 1)):
        for event in (PromptsListChanged(), ResourcesListChanged(), ToolsListChanged()):
            await bus.publish(event)
        for session in sessions.values():
            await session.send_prompt_list_changed()
            await session.send_resource_list_changed()
            await session.send_tool_list_changed()
        await anyio.sleep(given.get("pause", 0))
    return told({})


async def log(ctx: Context, given: Answer) -> Answer:
    is_old = ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
    for at in LEVELS:
        if is_old and LEVELS.index(at) < LEVELS.index(level[0]):
            continue
        await ctx.session.send_log_message(
            level=at,  # type: ignore[arg-type]
            data={"said": given.get("said", at)},
            logger="desk",
            related_request_id=None if given.get("at large") else ctx.request_id,
        )
    return told({})


async def link(_ctx: Context, given: Answer) -> Answer:
    blocks = [
        {"type": "resource_link", "uri": "desk://notes", "name": "notes", "icons": [ICON]},
        {"type": "resource", "resource": {"uri": "desk://note/9", "text": "nine"}},
        {"type": "resource_link", "uri": "https://example.org/page", "name": "page"},
    ]
    return {"content": blocks, "resultType": "complete"}


async def tell_seen(_ctx: Context, _given: Answer) -> Answer:
    return told(seen)


def told(value: Answer) -> Answer:
    block = {"type": "text", "text": json.dumps(value)}
    return {"content": [block], "structuredContent": value, "resultType": "complete"}


CALLED = {"touch": touch, "change": change, "log": log, "link": link, "seen": tell_seen}


class OfferingServer(Server[Any]):
    def create_initialization_options(self, *_args: Any, **_options: Any) -> Any:
        return super().create_initialization_options(NotificationOptions(True, True, True))


def offering_server(*, is_plain: bool) -> Server[Any]:
    made = OfferingServer("offering-server", version="1", get_tool_input_schema=lambda _name: None)
    handlers: list[tuple[str, Any, Any]] = [
        ("tools/list", types.PaginatedRequestParams, list_tools),
        ("tools/call", types.CallToolRequestParams, call_tool),
        ("resources/list", types.PaginatedRequestParams, list_resources),
        ("resources/templates/list", types.PaginatedRequestParams, list_templates),
        ("resources/read", types.ReadResourceRequestParams, read),
        ("resources/subscribe", types.SubscribeRequestParams, subscribe),
        ("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe),
        ("subscriptions/listen", types.SubscriptionsListenRequestParams, listen),
        ("prompts/list", types.PaginatedRequestParams, list_prompts),
        ("prompts/get", types.GetPromptRequestParams, get_prompt),
        ("completion/complete", types.CompleteRequestParams, complete),
        ("logging/setLevel", types.SetLevelRequestParams, set_level),
    ]
    for method, params, handler in handlers[:2] if is_plain else handlers:
        made.add_request_handler(method, params, handler)
    made.add_notification_handler(
        "notifications/initialized", types.NotificationParams, initialized
    )
    return made


class Old:
    """An ASGI layer that refuses what an older server does not know."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers") or [])
        if headers.get(b"mcp-protocol-version") == MODERN.encode():
            await PlainTextResponse("what is this?", 400)(scope, receive, send)
            return
        await self.app(scope, receive, send)


async def over_http(server: Server[Any], *, is_old: bool) -> None:
    app: ASGIApp = server.streamable_http_app()
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
        listener.listen()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(Old(app) if is_old else app, log_level="critical", access_log=False)
        await uvicorn.Server(config).serve([listener])


async def over_stdio(server: Server[Any], *, is_old: bool) -> None:
    async with stdio_server() as (read_stream, write_stream):
        if is_old:
            options = server.create_initialization_options()
            await serve_loop(
                server, read_stream, write_stream, lifespan_state=None, init_options=options
            )
        else:
            await server.run(read_stream, write_stream, server.create_initialization_options())


async def main() -> None:
    words = sys.argv[2:]
    made = offering_server(is_plain="plain" in words)
    serve = over_http if sys.argv[1] == "http" else over_stdio
    await serve(made, is_old="legacy" in words)


anyio.run(main)
