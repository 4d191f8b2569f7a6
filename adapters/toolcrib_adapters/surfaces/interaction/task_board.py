"""Calls that go on as tasks of this process, for callers that come back and look.

A call that takes long becomes a task if its caller can be given one. It lives in memory: a restart
ends it, and what a caller is told says so. Nothing here knows the wire; `tasks.py` does.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import UTC
from enum import StrEnum
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio
import anyio.abc
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, ErrorData

from toolcrib_protocol.interim import INPUT_REQUIRED, TASK

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.call import Call
    from toolcrib_registry.ports import Clock, Progress

    Work = Callable[[Call], Awaitable[JsonObject]]
    """Answers a call as MCP writes it."""

_log = logging.getLogger(__name__)

LONG_SECONDS: Final = 2.0
"""A call that takes longer becomes a task."""
KEPT_SECONDS: Final = 3_600.0
"""How long a task can be looked at after it was made."""
MOST_TASKS: Final = 1_000
"""How many tasks there may be; beyond that calls are answered the usual way."""
_LONGEST_WORDS: Final = 300


class TaskStatus(StrEnum):
    """What a task is doing; the last three are for good."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(eq=False)
class OwnTask:
    """A call in a task group of its own.

    Attributes:
        call: what was asked for.
        made: when.
        id: how it is named.
        status: what it is doing.
        updated: when that changed last.
        words: what it says about itself.
        answer: what it came to.
        error: the JSON-RPC error as which it failed.
        requests: the questions that wait for an answer.
        is_task: whether its caller was given it as a task.
    """

    call: Call
    made: datetime
    id: str = field(default_factory=lambda: uuid4().hex)
    status: TaskStatus = TaskStatus.WORKING
    updated: datetime = field(init=False)
    words: str = ""
    answer: JsonObject = field(default_factory=dict)
    error: JsonObject = field(default_factory=dict)
    requests: JsonObject = field(default_factory=dict)
    is_task: bool = False
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _responses: JsonObject = field(default_factory=dict)
    _changed: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self.updated = self.made

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.status not in {TaskStatus.WORKING, TaskStatus.INPUT_REQUIRED}

    def become(self, status: TaskStatus, now: datetime) -> None:
        """The task does this from now on."""
        self.status, self.updated = status, now
        self._tell()

    def take(self, responses: JsonObject) -> None:
        """Note answers to its questions; what it did not ask is not looked at."""
        for key in [key for key in self.requests if key in responses]:
            self._responses[key] = responses[key]
            del self.requests[key]
        self._tell()

    async def responses(self, requests: JsonObject) -> JsonObject:
        """The answers to all of `requests`, as soon as they are there."""
        self._responses, self.requests = {}, dict(requests)
        while self.requests:
            await self._changed.wait()
        return self._responses

    async def first_news(self) -> None:
        """Return when it is over or asks something."""
        while self.status is TaskStatus.WORKING:
            await self._changed.wait()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class TaskBoard:
    """The tasks of one process."""

    def __init__(
        self, clock: Clock, *, long_seconds: float = LONG_SECONDS, most: int = MOST_TASKS
    ) -> None:
        """No tasks.

        Args:
            clock: time, by which tasks expire.
            long_seconds: see `LONG_SECONDS`.
            most: see `MOST_TASKS`.
        """
        self._clock = clock
        self._long_seconds = long_seconds
        self._most = most
        self._tasks: dict[str, OwnTask] = {}
        self._group: anyio.abc.TaskGroup | None = None

    async def run(self) -> None:
        """Carry out tasks until cancelled; those that are left are cancelled then."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                await anyio.sleep_forever()
            finally:
                self._group = None

    async def answered(self, call: Call, work: Work) -> JsonObject | OwnTask:
        """The answer of `work` if it comes soon, else the task as which the call goes on.

        An answer that asks something is no task yet: it is answered like any other call.

        Raises:
            MCPError: the call is refused.
        """
        self._sweep()
        if self._group is None or len(self._tasks) >= self._most:
            return await work(call)
        task = OwnTask(call, self._clock.now().astimezone(UTC))
        task.call = replace(call, report_progress=self._reporter(task, call.report_progress))
        self._group.start_soon(self._carry, task, work)
        try:
            with anyio.move_on_after(self._long_seconds):
                await task.first_news()
        except anyio.get_cancelled_exc_class():
            task.scope.cancel()
            raise
        if task.status is TaskStatus.FAILED:
            raise MCPError.from_error_data(ErrorData.model_validate(task.error))
        if task.is_over:
            return task.answer
        task.is_task = True
        self._tasks[task.id] = task
        return task

    def find(self, task_id: str) -> OwnTask | None:
        """The task of that name, if it is here and has not expired."""
        self._sweep()
        return self._tasks.get(task_id)

    def cancel(self, task: OwnTask) -> None:
        """End a task; nothing happens to one that is over."""
        if not task.is_over:
            task.become(TaskStatus.CANCELLED, self._now())
            task.scope.cancel()

    async def _carry(self, task: OwnTask, work: Work) -> None:
        try:
            with task.scope:
                await self._rounds(task, work)
        except MCPError as error:
            self._fail(task, error.error)
        except Exception:  # noqa: BLE001 - a worker's border: a fault of ours ends this task only
            _log.exception("the task of %r failed inside toolcrib", task.call.tool)
            text = "a fault inside toolcrib; its log has the details"
            self._fail(task, ErrorData(code=INTERNAL_ERROR, message=text))

    def _fail(self, task: OwnTask, error: ErrorData) -> None:
        task.error = error.model_dump(mode="json", exclude_none=True)
        task.become(TaskStatus.FAILED, self._now())

    async def _rounds(self, task: OwnTask, work: Work) -> None:
        """Carry out the call, with all the questions it leads to."""
        call = task.call
        while True:
            task.answer = await work(call)
            kind = task.answer.get("resultType")
            if kind != INPUT_REQUIRED or not task.is_task:
                break
            task.requests = _object(task.answer.get("inputRequests"))
            task.become(TaskStatus.INPUT_REQUIRED, self._now())
            responses = await task.responses(task.requests)
            task.become(TaskStatus.WORKING, self._now())
            state = task.answer.get("requestState")
            interaction = replace(
                call.interaction,
                responses=responses,
                state=state if isinstance(state, str) else None,
            )
            call = replace(call, interaction=interaction)
        # A task of the source goes on there; whoever looks at ours is shown it.
        if kind != TASK or not task.is_task:
            task.become(TaskStatus.COMPLETED, self._now())

    def _reporter(
        self, task: OwnTask, report: Callable[[Progress], Awaitable[None]] | None
    ) -> Callable[[Progress], Awaitable[None]]:
        async def note(progress: Progress) -> None:
            if task.is_task:
                task.words = (progress.message or "")[:_LONGEST_WORDS]
                task.updated = self._now()
            elif report is not None:
                await report(progress)

        return note

    def _now(self) -> datetime:
        return self._clock.now().astimezone(UTC)

    def _sweep(self) -> None:
        now = self._now()
        for task in [*self._tasks.values()]:
            if task.is_over and (now - task.made).total_seconds() > KEPT_SECONDS:
                del self._tasks[task.id]


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
