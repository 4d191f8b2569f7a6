"""An MCP server whose tools ask their caller: `asking_server.py stdio | http [legacy | oldest]`.

With `legacy` it knows nothing of 2026-07-28 and asks in the middle of calls; else it asks in the
way of the client's generation. With `oldest` it knows 2024-11-05 only. Over HTTP it prints its URL
first. Its tools:

    ask         asks the questions that `questions` names (form, url, model, folders), all at once
    ask_again   asks for a name, then for an age
    ask_for_ever  asks again after each answer
    later       asks for nothing but to be called again (2026-07-28 only)
    wait        never ends; notes that it was cancelled
    quiet       asks nothing
    steps       reports progress, `steps` times
    fail        answers with an error
    seen        tells what happened: capabilities, answers, refusals, cancelled calls
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.runner import ServerRunner, serve_loop
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Receive, Scope, Send

    Answer = dict[str, Any]
    Context = ServerRequestContext[Any, Any]

MODERN = "2026-07-28"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TEXT = {"role": "user", "content": {"type": "text", "text": "Say hello"}}
QUESTIONS: dict[str, Answer] = {
    "form": {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Who are you?", "requestedSchema": FORM},
    },
    "url": {
        "method": "elicitation/create",
        "params": {
            "mode": "url",
            "message": "Sign in first",
            "url": "https://example.org/sign-in",
            "elicitationId": "e-1",
        },
    },
    "model": {
        "method": "sampling/createMessage",
        "params": {"messages": [TEXT], "maxTokens": 10},
    },
    "folders": {"method": "roots/list"},
    "age": {
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "How old are you?",
            "requestedSchema": {"type": "object", "properties": {"age": {"type": "integer"}}},
        },
    },
}
ODD = ("ask_for_ever", "later")
NAMES = ("ask", "ask_again", "wait", "quiet", "seen", "steps", "fail", *ODD)
seen: dict[str, list[Any]] = {"capabilities": [], "answers": [], "cancelled": [], "tokens": []}


async def list_tools(_ctx: Context, _params: types.PaginatedRequestParams | None) -> Answer:
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]
    return {"tools": tools, "ttlMs": 900_000, "cacheScope": "public", "resultType": "complete"}


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Answer:
    given = params.arguments or {}
    declared = ctx.session.client_capabilities
    if declared is not None:
        seen["capabilities"].append(declared.model_dump(by_alias=True, exclude_none=True))
    try:
        match params.name:
            case "ask":
                return await ask(ctx, given.get("questions", ["form"]))
            case "ask_again":
                return await ask_again(ctx)
            case "ask_for_ever" | "later":
                return await ask_oddly(ctx, params.name)
            case "wait":
                await ctx.session.report_progress(1, 2, "waiting")
                await anyio.sleep_forever()
            case "seen":
                return told(seen)
            case "steps":
                await report(ctx, given["steps"])
            case "fail":
                block = {"type": "text", "text": "it broke"}
                return {"content": [block], "isError": True, "resultType": "complete"}
    except anyio.get_cancelled_exc_class():
        seen["cancelled"].append({"id": ctx.request_id, "at": time.time(), **given})
        raise
    seen["tokens"].append((ctx.meta or {}).get("progress_token"))
    return told({"quiet": given})


async def ask_oddly(ctx: Context, name: str) -> Answer:
    if name == "ask_for_ever":
        while ctx.protocol_version != MODERN:
            await put_question(ctx, QUESTIONS["form"])
        asked = {"form": QUESTIONS["form"]}
        return {"resultType": "input_required", "inputRequests": asked}
    if (ctx.params or {}).get("requestState") is None:
        return {"resultType": "input_required", "requestState": "s-2"}
    return told({})


async def report(ctx: Context, steps: int) -> None:
    for step in range(steps):
        await ctx.session.report_progress(step, steps, f"step {step}")


async def ask(ctx: Context, names: list[str]) -> Answer:
    if ctx.protocol_version == MODERN:
        came = (ctx.params or {}).get("inputResponses")
        if came is None:
            asked = {name: QUESTIONS[name.split()[0]] for name in names}
            return {"resultType": "input_required", "inputRequests": asked, "requestState": "s-1"}
        state = (ctx.params or {}).get("requestState")
        return heard({name: came.get(name) for name in names} | {"state": state})
    answers: Answer = {}

    async def put(name: str) -> None:
        answers[name] = await put_question(ctx, QUESTIONS[name.split(maxsplit=1)[0]])

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(put, name)
    return heard(answers)


async def ask_again(ctx: Context) -> Answer:
    """Two rounds, the second one knowing the answer of the first."""
    if ctx.protocol_version == MODERN:
        params = ctx.params or {}
        came, state = params.get("inputResponses"), params.get("requestState")
        if came is None:
            return {"resultType": "input_required", "inputRequests": {"form": QUESTIONS["form"]}}
        if state is None:
            name = came["form"]["content"]["name"]
            asked = {"age": QUESTIONS["age"]}
            return {"resultType": "input_required", "inputRequests": asked, "requestState": name}
        return heard({"name": state, "age": came["age"]["content"]["age"]})
    first = await put_question(ctx, QUESTIONS["form"])
    second = await put_question(ctx, QUESTIONS["age"])
    return heard({"name": first["content"]["name"], "age": second["content"]["age"]})


async def put_question(ctx: Context, question: Answer) -> Answer:
    stream = ctx.session._request_outbound
    try:
        answer = await stream.send_raw_request(question["method"], question.get("params"))
    except MCPError as error:
        return {"error": error.code}
    if question.get("params", {}).get("mode") == "url":
        await ctx.session.send_elicit_complete(question["params"]["elicitationId"])
    return answer


def heard(answers: Answer) -> Answer:
    seen["answers"].append(answers)
    return told(answers)


def told(value: Answer) -> Answer:
    block = {"type": "text", "text": json.dumps(value)}
    return {"content": [block], "structuredContent": value, "resultType": "complete"}


server: Server[Any] = Server(
    "asking-server",
    version="1",
    on_list_tools=list_tools,  # type: ignore[arg-type] # dictionaries are taken, too
    on_call_tool=call_tool,  # type: ignore[arg-type]
    get_tool_input_schema=lambda _name: None,
)


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


async def over_http(*, is_old: bool) -> None:
    app: ASGIApp = server.streamable_http_app()
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
        listener.listen()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(Old(app) if is_old else app, log_level="critical", access_log=False)
        await uvicorn.Server(config).serve([listener])


async def over_stdio(*, is_old: bool) -> None:
    async with stdio_server() as (read, write):
        if is_old:
            await serve_loop(server, read, write, lifespan_state=None)
        else:
            await server.run(read, write, server.create_initialization_options())


def oldest(params: Any) -> tuple[types.InitializeRequestParams, str]:
    """What a server agrees on that knows only the first revision."""
    return types.InitializeRequestParams.model_validate(params, by_name=False), "2024-11-05"


async def main() -> None:
    words = sys.argv[2:]
    if "oldest" in words:
        ServerRunner._negotiate_initialize = staticmethod(oldest)  # type: ignore[method-assign]
    is_old = bool({"legacy", "oldest"} & {*words})
    await (over_http if sys.argv[1] == "http" else over_stdio)(is_old=is_old)


anyio.run(main)
