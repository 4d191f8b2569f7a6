"""The tasks extension of 2026-07-28 (`io.modelcontextprotocol/tasks`).

A caller that declares it may be given a task in place of a result: one of the source, whose tasks
pass through, or one of ours (`task_board.py`) for a call that takes long. The id of a task is
sealed and says where the task is, so every replica can pass on what is asked about a source's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mcp.server.request_state import InvalidRequestState
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    RequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from toolcrib_adapters.surfaces.caller_context import progress_of
from toolcrib_adapters.surfaces.interaction.callers import declares_tasks, interaction_of
from toolcrib_adapters.surfaces.interaction.task_board import KEPT_SECONDS, TaskStatus
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.interim import TASK
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import META_PREFIX, TOOL_META
from toolcrib_registry.call import Call
from toolcrib_registry.interaction import TASKS
from toolcrib_registry.permissions import LOCAL_CALLER

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    from toolcrib_adapters.surfaces.interaction.sealing import Seal
    from toolcrib_adapters.surfaces.interaction.task_board import OwnTask, TaskBoard, Work
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.views import View

    Context = ServerRequestContext[Any, Any]

_RESTART_META: Final = f"{META_PREFIX}survives_restart"
_POLL_MS: Final = 1_000
_IN_MEMORY: Final = "runs in one toolcrib process; a restart of it ends the task"
_DONE: Final[JsonObject] = {"resultType": "complete"}


class TaskParams(RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str = Field(alias="taskId")


class TaskUpdateParams(TaskParams):
    """The parameters of `tasks/update`."""

    input_responses: dict[str, Any] = Field(alias="inputResponses")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a task is: at the source of a tool, or here."""

    task: str
    tool: str | None

    def as_json(self) -> JsonObject:
        return {"task": self.task} if self.tool is None else {"task": self.task, "tool": self.tool}


class Tasks:
    """The tasks of one endpoint."""

    def __init__(self, calls: Calls, seal: Seal, view: Callable[[], View]) -> None:
        """Tasks of sources pass through; ours need a `board`.

        Args:
            calls: the path of calls.
            seal: makes ids that nobody can make up.
            view: what the endpoint shows.
        """
        self._calls = calls
        self._seal = seal
        self._view = view
        self.board: TaskBoard | None = None

    def register(self, server: Server[None]) -> None:
        """Let `server` answer what is asked about tasks."""
        server.extensions[TASKS] = {}
        server.add_request_handler("tasks/get", TaskParams, self.get)
        server.add_request_handler("tasks/update", TaskUpdateParams, self.update)
        server.add_request_handler("tasks/cancel", TaskParams, self.cancel)

    async def answered(self, ctx: Context, call: Call, work: Work) -> JsonObject:
        """The answer to a call; a task if it is one and the caller can take it."""
        if not declares_tasks(ctx):
            return await work(call)
        call = replace(call, interaction=replace(call.interaction, takes_tasks=True))
        if self.board is None:
            return self._shown(await work(call))
        answer = await self.board.answered(call, work)
        if isinstance(answer, dict):
            return self._shown(answer)
        task_id = self._id(_Place(answer.id, None))
        return {"taskId": task_id, **_described(answer), "resultType": TASK}

    def _shown(self, answer: JsonObject) -> JsonObject:
        """The answer; a task of the source under an id that leads back to it."""
        if answer.get("resultType") != TASK:
            return answer
        place = _place_of(answer)
        return {**answer, "taskId": self._id(place)}

    async def get(self, ctx: Context, params: TaskParams) -> JsonObject:
        """Answer `tasks/get`.

        Raises:
            MCPError: the caller cannot take tasks, or there is no such task.
        """
        place = self._asked(ctx, params)
        task = None if place.tool is not None else self._own(place)
        if task is not None and task.answer.get("resultType") == TASK:
            place, task = _place_of(task.answer), None
        if task is None:
            answer = await self._at_source(ctx, "tasks/get", place, {})
            return {**answer, "taskId": params.task_id}
        return {"taskId": params.task_id, **_described(task), **_outcome(task), **_DONE}

    async def update(self, ctx: Context, params: TaskUpdateParams) -> JsonObject:
        """Answer `tasks/update`.

        Raises:
            MCPError: see `get`.
        """
        place, given = self._asked(ctx, params), params.input_responses
        if place.tool is None:
            task = self._own(place)
            if task.answer.get("resultType") != TASK:
                task.take(given)
                return {**_DONE}
            place = _place_of(task.answer)
        await self._at_source(ctx, "tasks/update", place, {"inputResponses": given})
        return {**_DONE}

    async def cancel(self, ctx: Context, params: TaskParams) -> JsonObject:
        """Answer `tasks/cancel`; a task that is over stays as it is.

        Raises:
            MCPError: see `get`.
        """
        place = self._asked(ctx, params)
        if place.tool is None:
            task = self._own(place)
            if task.answer.get("resultType") != TASK:
                if self.board is not None:
                    self.board.cancel(task)
                return {**_DONE}
            place = _place_of(task.answer)
        await self._at_source(ctx, "tasks/cancel", place, {})
        return {**_DONE}

    def _asked(self, ctx: Context, params: TaskParams) -> _Place:
        """Where the task is that a request asks about.

        Raises:
            MCPError: the request is not in order, or nobody has such a task.
        """
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
        if not declares_tasks(ctx):
            needed: JsonObject = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            text = f"{ctx.method} needs a client that declares the extension {TASKS}"
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, text, needed)
        named = None if ctx.request is None else ctx.request.headers.get(MCP_NAME_HEADER)
        if named is not None and decode_header_value(named) != params.task_id:
            text = f"the header {MCP_NAME_HEADER} names another task than the body"
            raise MCPError(HEADER_MISMATCH, text)
        try:
            facts = json.loads(self._seal.unseal(params.task_id))
        except InvalidRequestState:
            raise _unknown(params.task_id) from None
        return _Place(str(facts["task"]), facts.get("tool"))

    def _own(self, place: _Place) -> OwnTask:
        task = None if self.board is None else self.board.find(place.task)
        if task is None:
            text = (
                "this task is not here (any more): it has expired, the toolcrib process that ran "
                "it was started anew, or it runs in another replica"
            )
            raise MCPError(INVALID_PARAMS, text)
        return task

    def _id(self, place: _Place) -> str:
        return self._seal.seal(dump_json(place.as_json()).encode())

    async def _at_source(
        self, ctx: Context, method: str, place: _Place, more: JsonObject
    ) -> JsonObject:
        """What the source says about its task.

        Raises:
            MCPError: it refuses, or cannot be asked.
        """
        # What a request about a task brings is for the task, and no answer to a question of ours.
        interaction = replace(interaction_of(ctx), takes_tasks=True, responses=None, state=None)
        call = Call(
            str(place.tool),
            caller=LOCAL_CALLER,
            report_progress=progress_of(ctx),
            view=self._view(),
            interaction=interaction,
        )
        try:
            return await self._calls.about(call, method, {"taskId": place.task, **more})
        except ToolError as error:
            code = error.details.get("jsonrpc_code")
            raise MCPError(
                code if isinstance(code, int) else INTERNAL_ERROR, error.message
            ) from error


def _described(task: OwnTask) -> JsonObject:
    """What a task of ours shows at any time."""
    return {
        "status": task.status.value,
        "statusMessage": "; ".join(words for words in (task.words, _IN_MEMORY) if words),
        "createdAt": task.made.isoformat(),
        "lastUpdatedAt": task.updated.isoformat(),
        "ttlMs": int(KEPT_SECONDS * 1_000),
        "pollIntervalMs": _POLL_MS,
        "_meta": {_RESTART_META: False},
    }


def _place_of(answer: JsonObject) -> _Place:
    """Where a task of a source is: its answer says which tool it came from."""
    meta = answer.get("_meta")
    tool = meta.get(TOOL_META) if isinstance(meta, dict) else None
    return _Place(str(answer.get("taskId")), str(tool).rpartition("@")[0])


def _outcome(task: OwnTask) -> JsonObject:
    """What a task of ours shows beside its description."""
    match task.status:
        case TaskStatus.INPUT_REQUIRED:
            return {"inputRequests": task.requests}
        case TaskStatus.COMPLETED:
            result: Json = {**task.answer, **_DONE}
            return {"result": result}
        case TaskStatus.FAILED:
            return {"error": task.error}
        case _:
            return {}


def _unknown(task_id: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"no task is called {task_id[:80]!r}")
