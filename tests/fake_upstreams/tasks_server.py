"""An MCP server of 2026-07-28 with the tasks extension: `tasks_server.py http | stdio [plain]`.

It has the tools that the tasks scenarios of the conformance suite ask for. With `plain` it knows
nothing of tasks: every call is answered when it is done. Over HTTP it prints its URL first.
"""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
import anyio.abc
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import RequestParams
from pydantic import Field

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import mcp_types as types
    from mcp.server.context import ServerRequestContext

    Answer = dict[str, Any]
    Context = ServerRequestContext[Any, Any]

TASKS = "io.modelcontextprotocol/tasks"
PLAIN = "plain" in sys.argv[2:]
NEEDED: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
FORM = {"type": "object", "properties": {"confirm": {"type": "boolean"}}}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}}
group: list[anyio.abc.TaskGroup] = []


def text(words: str, *, is_error: bool = False) -> Answer:
    block = {"type": "text", "text": words}
    return {"content": [block], "isError": is_error, "resultType": "complete"}


def question(message: str, schema: Answer) -> Answer:
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


@dataclass(eq=False)
class Task:
    id: str = field(default_factory=lambda: uuid4().hex)
    status: str = "working"
    outcome: Answer = field(default_factory=dict)
    requests: Answer = field(default_factory=dict)
    responses: Answer = field(default_factory=dict)
    made: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    changed: anyio.Event = field(default_factory=anyio.Event)

    def described(self) -> Answer:
        times = {"createdAt": self.made, "lastUpdatedAt": datetime.now(UTC).isoformat()}
        limits = {"ttlMs": 600_000, "pollIntervalMs": 200}
        return {"taskId": self.id, "status": self.status, **times, **limits}

    async def ask(self, **requests: Answer) -> Answer:
        self.requests, self.status = dict(requests), "input_required"
        while self.requests:
            await self.changed.wait()
            self.changed = anyio.Event()
        self.status = "working"
        return self.responses


tasks: dict[str, Task] = {}


async def greet(_task: Task | None, given: Answer) -> Answer:
    return text(f"Hello, {given['name']}!")


async def slow_compute(_task: Task | None, given: Answer) -> Answer:
    await anyio.sleep(given["seconds"])
    return text(f"computed {given.get('label')}")


async def failing_job(_task: Task | None, _given: Answer) -> Answer:
    await anyio.sleep(1)
    return text("the job failed", is_error=True)


async def protocol_error_job(_task: Task | None, _given: Answer) -> Answer:
    raise MCPError(-32603, "the job broke")


async def confirm_delete(task: Task | None, given: Answer) -> Answer:
    assert task is not None
    answers = await task.ask(confirm=question(f"Delete {given['filename']}?", FORM))
    return text(f"deleted: {answers['confirm']['content']['confirm']}")


async def multi_input(task: Task | None, _given: Answer) -> Answer:
    assert task is not None
    await task.ask(one=question("First?", NAME), two=question("Second?", NAME))
    return text("both answered")


async def hello_later(_task: Task | None, given: Answer) -> Answer:
    return text(f"Hello, {given['user']}!")


JOBS: dict[str, Callable[[Task | None, Answer], Awaitable[Answer]]] = {
    "slow_compute": slow_compute,
    "failing_job": failing_job,
    "protocol_error_job": protocol_error_job,
    "confirm_delete": confirm_delete,
    "multi_input": multi_input,
}
NAMES = ("greet", *JOBS, "test_tool_with_task")


async def list_tools(_ctx: Context, _params: types.PaginatedRequestParams | None) -> Answer:
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]
    return {"tools": tools, "ttlMs": 900_000, "cacheScope": "public", "resultType": "complete"}


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Answer:
    given, name = params.arguments or {}, params.name
    if name == "greet":
        return await greet(None, given)
    if name == "test_tool_with_task":
        came = (ctx.params or {}).get("inputResponses")
        if came is None:
            asked = {"user_name": question("Your name?", NAME)}
            return {"resultType": "input_required", "inputRequests": asked}
        return start(hello_later, {"user": came["user_name"]["content"]["name"]})
    if PLAIN or not declares(ctx):
        if name == "failing_job" and not PLAIN:
            raise MCPError(-32021, "this tool runs as a task", NEEDED)
        return await JOBS[name](None, given)
    return start(JOBS[name], given)


def declares(ctx: Context) -> bool:
    declared = ctx.session.client_capabilities
    return TASKS in ((declared.extensions if declared is not None else None) or {})


def start(job: Callable[[Task | None, Answer], Awaitable[Answer]], given: Answer) -> Answer:
    task = Task()
    tasks[task.id] = task

    async def run() -> None:
        try:
            with task.scope:
                task.outcome = {"result": await job(task, given)}
                task.status = "completed"
        except MCPError as error:
            task.status = "failed"
            task.outcome = {"error": {"code": error.error.code, "message": error.error.message}}

    group[0].start_soon(run)
    return {**task.described(), "resultType": "task"}


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId")
    input_responses: dict[str, Any] = Field(default_factory=dict, alias="inputResponses")


def found(ctx: Context, params: TaskParams) -> Task:
    if not declares(ctx):
        raise MCPError(-32021, "tasks are an extension", NEEDED)
    named = None if ctx.request is None else ctx.request.headers.get("mcp-name")
    if named is not None and named != params.task_id:
        raise MCPError(-32020, "the header names another task")
    if params.task_id not in tasks:
        raise MCPError(-32602, "no such task")
    return tasks[params.task_id]


async def get_task(ctx: Context, params: TaskParams) -> Answer:
    task = found(ctx, params)
    asked = {"inputRequests": task.requests} if task.status == "input_required" else {}
    return {**task.described(), **task.outcome, **asked, "resultType": "complete"}


async def update_task(ctx: Context, params: TaskParams) -> Answer:
    task = found(ctx, params)
    for key in set(task.requests) & set(params.input_responses):
        task.responses[key] = params.input_responses[key]
        del task.requests[key]
    task.changed.set()
    return {"resultType": "complete"}


async def cancel_task(ctx: Context, params: TaskParams) -> Answer:
    task = found(ctx, params)
    if task.status in {"working", "input_required"}:
        task.status = "cancelled"
        task.scope.cancel()
    return {"resultType": "complete"}


server: Server[Any] = Server(
    "tasks-server",
    version="1",
    on_list_tools=list_tools,  # type: ignore[arg-type] # dictionaries are taken, too
    on_call_tool=call_tool,  # type: ignore[arg-type]
    get_tool_input_schema=lambda _name: None,
)
if not PLAIN:
    server.extensions[TASKS] = {}
    server.add_request_handler("tasks/get", TaskParams, get_task)
    server.add_request_handler("tasks/update", TaskParams, update_task)
    server.add_request_handler("tasks/cancel", TaskParams, cancel_task)


async def over_http() -> None:
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
        listener.listen()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(
            server.streamable_http_app(), log_level="critical", access_log=False
        )
        await uvicorn.Server(config).serve([listener])


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def main() -> None:
    async with anyio.create_task_group() as tasks_of_all:
        group.append(tasks_of_all)
        await (over_http if sys.argv[1] == "http" else over_stdio)()
        tasks_of_all.cancel_scope.cancel()


anyio.run(main)
