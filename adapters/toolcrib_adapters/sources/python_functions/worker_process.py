"""One worker process, as the crib sees it: started, spoken to, ended with all it started.

A sync function that does not stop takes its process with it; async functions are cancelled first,
and only if they do not obey their process ends. Which worker gets which call is decided in
`pool.py`.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc

from toolcrib_adapters.processes.household import Household
from toolcrib_adapters.processes.seats import Busy
from toolcrib_adapters.sources.python_functions.frames import (
    SYNC_LANE,
    FrameError,
    FrameReader,
    packed,
)
from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    SOURCE_UNAVAILABLE,
    TOOL_CRASHED,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject

_log = logging.getLogger(__name__)

_PROGRAM: Final = "toolcrib_adapters.sources.python_functions.worker"
_STOP_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 5.0
_LONGEST_PRINT: Final = 4_000


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How the workers of one source are started.

    Attributes:
        source: the source's name, for messages.
        target: file or module.
        group: the default group of its tools.
        python: the interpreter; it needs toolcrib installed.
        folder: working and temporary folder.
        environment: all environment variables of the process.
        memory_bytes: what one process may allocate.
        load_seconds: how long loading the target may take.
        household: where the processes are at home.
    """

    source: str
    target: str
    group: str
    folder: Path
    environment: Mapping[str, str]
    python: str = sys.executable
    memory_bytes: int = 2 * 1024**3
    load_seconds: float = 60.0
    household: Household = field(default_factory=Household)

    def command(self, lane: str) -> list[str]:
        """The command line of a worker for `lane`."""
        facts = {
            "target": self.target,
            "group": self.group,
            "lane": lane,
            "memory_bytes": self.memory_bytes,
        }
        # -B: a compiled file is matched by whole seconds, so a quick second edit would run the
        # first one's code.
        return [self.python, "-P", "-B", "-m", _PROGRAM, json.dumps(facts)]


@dataclass(slots=True, eq=False)
class _Pending:
    """A call that was sent, until its answer or the end of the process."""

    tool: str
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: JsonObject | None = None


class WorkerProcess:
    """A worker from its start to its end; `run` owns the process."""

    def __init__(self, settings: WorkerSettings, lane: str) -> None:
        self.loaded = anyio.Event()
        """Set when the target is loaded, or will not be."""
        self.report: JsonObject = {}
        """What the worker said it loaded."""
        self.failure: str | None = None
        """Why the target did not load."""
        self.is_running = True
        self.memory_bytes = 0
        """What it held after its last call."""
        self.idle_since = anyio.current_time()
        self._settings = settings
        self._lane = lane
        self._process: anyio.abc.Process | None = None
        self._tasks: anyio.abc.TaskGroup | None = None
        self._sending = anyio.Lock()
        self._ids = count()
        self._pending: dict[int, _Pending] = {}
        self._reason = ""
        self._printed = ""
        self._is_retired = False

    async def run(self) -> None:
        """Own the process; returns when it has ended and everything it started has too."""
        household = self._settings.household
        try:
            async with household.seats.seat(Busy()):
                process = await self._started()
                with household.kept(self._settings.source, process.pid):
                    await self._live(process)
        except OSError as error:
            self._finish(f"{self._settings.python!r} cannot be started: {error}")
        except ToolError as error:
            self._finish(error.message)

    async def _live(self, process: anyio.abc.Process) -> None:
        """Take messages of a process until it has ended, and end its group."""
        try:
            async with anyio.create_task_group() as tasks:
                self._process, self._tasks = process, tasks
                if not self.is_running:
                    self.kill(self._reason)
                tasks.start_soon(self._keep_prints, process)
                tasks.start_soon(self._end_with_group, process)
                await self._read(process)
                tasks.cancel_scope.cancel()
        finally:
            self.kill(self._reason)
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await process.aclose()
            self._finish(self._reason or _ending(process.returncode))

    async def call(self, tool: str, arguments: JsonObject) -> Result:
        """The result of one call. When the caller gives up, the call is stopped.

        Raises:
            ToolError: `tool_crashed`, `upstream_protocol`, `invalid_arguments` (too large to send),
                `source_unavailable` (the process had ended before).
        """
        if not self.is_running:
            source = self._settings.source
            text = f"the worker of {source!r} was just replaced; the call was not started"
            raise ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)
        key = next(self._ids)
        pending = self._pending[key] = _Pending(tool)
        try:
            await self._send({"op": "call", "id": key, "name": tool, "arguments": arguments})
            await pending.done.wait()
        finally:
            if self.is_running and not pending.done.is_set():
                self._abandon(key, pending)
            else:
                self._forget(key)
        return self._result(pending)

    def kill(self, reason: str) -> None:
        """End the process and all it started, at once."""
        self.is_running = False
        self._reason = self._reason or reason
        if self._process is not None:
            _kill_group(self._process)

    def retire(self) -> None:
        """End the process as soon as nobody waits for it."""
        self._is_retired = True
        if not self._pending:
            self.kill("it was replaced")

    async def _started(self) -> anyio.abc.Process:
        return await anyio.open_process(
            self._settings.command(self._lane),
            cwd=self._settings.folder,
            env=dict(self._settings.environment),
            start_new_session=True,
        )

    async def _read(self, process: anyio.abc.Process) -> None:
        """Take messages until the stream ends; a target that never loads is given up."""
        frames = FrameReader()
        with anyio.move_on_after(self._settings.load_seconds) as limit:
            try:
                async for chunk in _stream(process.stdout):
                    for message in frames.feed(chunk):
                        self._take(message)
                    if self.loaded.is_set():
                        limit.deadline = float("inf")
            except FrameError as error:
                self.kill(f"it wrote into the crib's channel: {error}")
        if limit.cancelled_caught:
            self.kill(f"it did not load within {self._settings.load_seconds:g} s")

    def _take(self, message: JsonObject) -> None:
        match message.get("op"):
            case "loaded":
                self.report = message
                self.loaded.set()
            case "failed":
                self.failure = str(message.get("reason"))
            case "answer":
                self._take_answer(message)
            case _:
                self.kill(f"it sent an unknown message {message.get('op')!r}")

    def _take_answer(self, message: JsonObject) -> None:
        key, held, answer = message.get("id"), message.get("memory_bytes"), message.get("result")
        pending = self._pending.get(key) if isinstance(key, int) else None
        self.memory_bytes = held if isinstance(held, int) else self.memory_bytes
        if pending is not None:
            pending.answer = answer if isinstance(answer, dict) else None
            pending.done.set()

    async def _send(self, message: JsonObject) -> None:
        try:
            body = packed(message)
        except (FrameError, ValueError) as error:
            raise ToolError(INVALID_ARGUMENTS, f"the arguments cannot be sent: {error}") from error
        # The end of the process is told by its owner, who wakes all that wait.
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with self._sending:
                if self._process is not None and self._process.stdin is not None:
                    await self._process.stdin.send(body)

    def _abandon(self, key: int, pending: _Pending) -> None:
        """Stop a call that nobody waits for any more."""
        if self._lane == SYNC_LANE or self._tasks is None:
            # A thread cannot be stopped from outside, a process can.
            self.kill("its call was stopped")
            self._forget(key)
        else:
            self._tasks.start_soon(self._cancel, key, pending)

    async def _cancel(self, key: int, pending: _Pending) -> None:
        with anyio.move_on_after(_STOP_SECONDS):
            await self._send({"op": "cancel", "id": key})
            await pending.done.wait()
        if not pending.done.is_set():
            self.kill(f"another call, {pending.tool!r}, did not stop when it was cancelled")
        self._forget(key)

    def _forget(self, key: int) -> None:
        self._pending.pop(key, None)
        self.idle_since = anyio.current_time()
        if self._is_retired and not self._pending:
            self.kill("it was replaced")

    def _result(self, pending: _Pending) -> Result:
        if pending.answer is not None:
            return Result.from_mcp(pending.answer)
        if self.is_running:
            raise ToolError(
                UPSTREAM_PROTOCOL, f"the worker of {self._settings.source!r} sent no result"
            )
        raise ToolError(
            TOOL_CRASHED,
            f"the process that ran {pending.tool!r} of {self._settings.source!r} ended during the "
            f"call: {self._reason}",
            ErrorKind.RETRYABLE,
        )

    async def _keep_prints(self, process: anyio.abc.Process) -> None:
        """Log what the functions print, and keep the end of it for messages."""
        async for chunk in _stream(process.stderr):
            text = chunk.decode("utf-8", "replace")
            self._printed = (self._printed + text)[-_LONGEST_PRINT:]
            _log.info("%s: %s", self._settings.source, text.rstrip())

    async def _end_with_group(self, process: anyio.abc.Process) -> None:
        # A child that the function forked may hold the pipe open after the worker is gone.
        await process.wait()
        _kill_group(process)

    def _finish(self, reason: str) -> None:
        self.is_running = False
        self._reason = reason
        if not self.report and self.failure is None:
            last = self._printed.strip().rpartition("\n")[2]
            self.failure = f"its process ended before it was loaded: {reason}" + (
                f" ({last})" if last else ""
            )
        self.loaded.set()
        for pending in self._pending.values():
            pending.done.set()


def _stream(pipe: anyio.abc.ByteReceiveStream | None) -> anyio.abc.ByteReceiveStream:
    if pipe is None:  # pragma: no cover - all three streams are pipes
        raise RuntimeError("the worker was started without pipes")
    return pipe


def _kill_group(process: anyio.abc.Process) -> None:
    # The worker leads a group of its own, so this reaches all it started; the group may be gone
    # already.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _ending(code: int | None) -> str:
    if code is None:
        return "it did not end in time"
    if code >= 0:
        return f"exit code {code}"
    return f"signal {signal.Signals(-code).name}"
