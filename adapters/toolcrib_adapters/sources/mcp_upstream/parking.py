"""Calls that wait at an older upstream for callers that come back.

An older upstream asks in the middle of a call and waits. A caller of 2026-07-28 gets the question
as the answer to its call and calls again with its reply. In between the call is parked here: it
runs on at the upstream, in this process and nowhere else, for a bounded time, and there is room for
a bounded number. A call that nobody comes back for is cancelled at the upstream.
"""

from __future__ import annotations

import os
import platform
from contextlib import asynccontextmanager
from math import inf
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio
import anyio.abc
from mcp_types import CONNECTION_CLOSED

from toolcrib_adapters.sources.mcp_upstream.failures import RequestError
from toolcrib_protocol.errors import AT_CAPACITY, CALL_NOT_HERE, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from toolcrib_adapters.sources.mcp_upstream.conversation import Conversation
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.interaction import Question
    from toolcrib_registry.ports import Progress

PARKED_SECONDS: Final = 300.0
"""How long a call waits for its caller to come back."""
MOST_PARKED: Final = 64
"""How many calls of one upstream may wait at the same time."""
HERE: Final = f"process {os.getpid()} on {platform.node()}"


class _Waiting:
    """A question that waits for its answer."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answer: JsonObject = {}
        self.answered = anyio.Event()


class ParkedCall:
    """A call whose upstream waits for its caller.

    Attributes:
        id: how the caller names it when it comes back.
        conversation: the call in flight.
        report: where progress of the present round goes.
    """

    def __init__(self, lot: ParkingLot, conversation: Callable[[ParkedCall], Conversation]) -> None:
        self._lot = lot
        self.id = uuid4().hex
        self.report: Callable[[Progress], Awaitable[None]] | None = None
        self.is_over = False
        self.conversation = conversation(self)
        self._answer: JsonObject | None = None
        self._failure: RequestError | ToolError | None = None
        self._open: dict[str, _Waiting] = {}
        self._asked = 0
        self._scope = anyio.CancelScope()
        self._changed = anyio.Event()

    @property
    def requests(self) -> JsonObject:
        """The open questions, as `inputRequests`."""
        return {
            key: {"method": waiting.question.method, "params": waiting.question.params}
            for key, waiting in self._open.items()
        }

    async def run(self, request: Callable[[ParkedCall], Awaitable[JsonObject | None]]) -> None:
        """Carry out the call, to be started as a task of its own."""
        try:
            with self._scope:
                self._answer = await request(self)
        except (RequestError, ToolError) as failure:
            self._failure = failure
        finally:
            self.is_over = True
            self._tell()

    async def ask(self, question: Question) -> JsonObject:
        """The answer that the caller comes back with.

        Raises:
            ToolError: `at_capacity`: too many calls wait already.
        """
        if not self._lot.has_room_for(self):
            text = f"{self._lot.most} calls wait for answers of their callers already"
            raise ToolError(AT_CAPACITY, text, ErrorKind.RETRYABLE)
        self._asked += 1
        waiting = self._open[f"q{self._asked}"] = _Waiting(question)
        key = f"q{self._asked}"
        self._tell()
        try:
            await waiting.answered.wait()
        finally:
            self._open.pop(key, None)
        return waiting.answer

    async def report_progress(self, progress: Progress) -> None:
        """Hand progress to the caller of the present round, if it wants any."""
        if self.report is not None:
            await self.report(progress)

    def take(self, responses: JsonObject) -> None:
        """Hand answers to the questions that wait for them; others are not looked at."""
        for key, waiting in list(self._open.items()):
            answer = responses.get(key)
            if isinstance(answer, dict):
                waiting.answer = answer
                waiting.answered.set()
                del self._open[key]

    async def turn(self) -> JsonObject | None:
        """The raw answer at the end; None as soon as there is a question, or if it was given up.

        Raises:
            RequestError, ToolError: the call failed.
        """
        self._scope.deadline = inf
        while not self.is_over and not self._open:
            await self._changed.wait()
        if self._failure is not None:
            raise self._failure
        if not self.is_over:
            self._scope.deadline = anyio.current_time() + self._lot.seconds
        return self._answer

    async def ended(self) -> None:
        """Return when it is over."""
        while not self.is_over:
            await self._changed.wait()

    def cancel(self) -> None:
        """Cancel the call at its upstream."""
        self._scope.cancel()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class ParkingLot:
    """The parked calls of one upstream.

    Attributes:
        seconds: see `PARKED_SECONDS`.
        most: see `MOST_PARKED`.
    """

    def __init__(
        self, source: str, *, seconds: float = PARKED_SECONDS, most: int = MOST_PARKED
    ) -> None:
        self._source = source
        self.seconds = seconds
        self.most = most
        self._calls: dict[str, ParkedCall] = {}
        self._tasks: anyio.abc.TaskGroup | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Calls can be parked while the block runs; those that are left are cancelled then."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    def start(
        self,
        conversation: Callable[[ParkedCall], Conversation],
        request: Callable[[ParkedCall], Awaitable[JsonObject | None]],
    ) -> ParkedCall:
        """Carry out a call that may have to be parked.

        Raises:
            RequestError: the connection has just ended.
        """
        if self._tasks is None:
            raise RequestError(CONNECTION_CLOSED, "Connection closed")
        call = ParkedCall(self, conversation)
        self._calls[call.id] = call
        self._tasks.start_soon(self._run, call, request)
        return call

    @property
    def is_taken(self) -> bool:
        """Whether a call waits for its caller."""
        return bool(self._calls)

    async def clear(self) -> bool:
        """Cancel every call at its upstream; whether there was one."""
        calls = [*self._calls.values()]
        for call in calls:
            call.cancel()
        for call in calls:
            await call.ended()
        return bool(calls)

    async def _run(
        self, call: ParkedCall, request: Callable[[ParkedCall], Awaitable[JsonObject | None]]
    ) -> None:
        try:
            await call.run(request)
        finally:
            self._calls.pop(call.id, None)

    def has_room_for(self, call: ParkedCall) -> bool:
        """Whether one more call may wait; a call that waits already may ask more."""
        waiting = sum(1 for other in self._calls.values() if other is not call and other.requests)
        return waiting < self.most

    def returned(self, call_id: str, place: str) -> ParkedCall:
        """The call that its caller comes back for.

        Raises:
            ToolError: `call_not_here`.
        """
        call = self._calls.get(call_id)
        if call is not None:
            return call
        if place != HERE:
            text = (
                f"the call waits for this answer in another toolcrib process ({place}), unless "
                f"that one has ended; this is {HERE}. An older server is behind it, so the answer "
                "has to reach the same process: route a client to one process, or call again "
                "without the answer"
            )
        else:
            text = (
                f"the call of {self._source!r} does not wait any more: it was cancelled after "
                f"{self.seconds:g} s, or its server went away; call again without the answer"
            )
        raise ToolError(CALL_NOT_HERE, text, details={"place": place})
