"""Who runs a call: the worker processes of one loaded state of a target.

A sync call has a process to itself, so stopping it hits nobody else; processes are used again, the
latest first, and there are never more than a few. Async calls share one process. A process that
holds too much memory after a call is replaced. Knows nothing of files or the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc

from toolcrib_adapters.sources.python_functions.frames import ASYNC_LANE, SYNC_LANE
from toolcrib_adapters.sources.python_functions.worker_process import WorkerProcess
from toolcrib_protocol.errors import (
    AT_CAPACITY,
    SOURCE_UNAVAILABLE,
    TOOL_TIMED_OUT,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from toolcrib_adapters.sources.python_functions.worker_process import WorkerSettings
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result

_MOST_WAITING: Final = 256
_MOST_ASYNC_CALLS: Final = 64


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Bounds of one source.

    Attributes:
        processes: how many sync calls run at the same time.
        kept_bytes: a process that holds more after a call is replaced.
        idle_seconds: how long a process beyond the first is kept without work.
    """

    processes: int = 4
    kept_bytes: int = 1024**3
    idle_seconds: float = 60.0


class Pool:
    """The workers of one loaded state of the target."""

    def __init__(
        self, settings: WorkerSettings, tasks: anyio.abc.TaskGroup, limits: PoolLimits
    ) -> None:
        self._settings = settings
        self._tasks = tasks
        self._limits = limits
        self._workers: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._shared: WorkerProcess | None = None
        self._sync_slots = anyio.Semaphore(limits.processes)
        self._async_slots = anyio.Semaphore(_MOST_ASYNC_CALLS)
        self._waiting = 0
        self._is_retired = False

    async def first(self) -> WorkerProcess:
        """The first worker, loaded or failed; it serves sync calls from then on."""
        worker = self._launch(SYNC_LANE)
        await worker.loaded.wait()
        if worker.failure is None:
            self._idle.append(worker)
        return worker

    async def call_sync(self, tool: str, arguments: JsonObject, seconds: float) -> Result:
        """The result of a sync function, which has a process to itself.

        Raises:
            ToolError: `at_capacity`, `source_unavailable` (it was not started), `tool_timed_out`,
                `tool_crashed`.
        """
        deadline = anyio.current_time() + seconds
        await self._take(self._sync_slots, deadline)
        try:
            worker = self._free_worker()
            try:
                await self._until_loaded(worker, deadline)
                return await self._answer(worker, tool, arguments, (deadline, seconds))
            finally:
                self._give_back(worker)
        finally:
            self._sync_slots.release()

    async def call_async(self, tool: str, arguments: JsonObject, seconds: float) -> Result:
        """The result of an async function, which shares its process.

        Raises:
            ToolError: as `call_sync`.
        """
        deadline = anyio.current_time() + seconds
        await self._take(self._async_slots, deadline)
        try:
            worker = self._shared_worker()
            await self._until_loaded(worker, deadline)
            return await self._answer(worker, tool, arguments, (deadline, seconds))
        finally:
            self._async_slots.release()

    def retire(self) -> None:
        """Take no more calls; each worker ends when its calls have."""
        self._is_retired = True
        for worker in list(self._workers):
            worker.retire()

    def tidy(self) -> None:
        """End the idle processes beyond the first that have had no work for long."""
        now = anyio.current_time()
        for worker in self._idle[:-1]:
            if now - worker.idle_since >= self._limits.idle_seconds:
                self._idle.remove(worker)
                worker.retire()

    def _launch(self, lane: str) -> WorkerProcess:
        worker = WorkerProcess(self._settings, lane)
        self._workers.add(worker)
        self._tasks.start_soon(self._own, worker)
        return worker

    async def _own(self, worker: WorkerProcess) -> None:
        try:
            await worker.run()
        finally:
            self._workers.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)

    async def _take(self, slots: anyio.Semaphore, deadline: float) -> None:
        """Wait for a place; nothing has been started when this refuses."""
        if self._waiting >= _MOST_WAITING:
            raise self._full(f"{_MOST_WAITING} calls wait already")
        self._waiting += 1
        try:
            with anyio.fail_after(max(deadline - anyio.current_time(), 0)):
                await slots.acquire()
        except TimeoutError as error:
            raise self._full("no process became free in time") from error
        finally:
            self._waiting -= 1

    def _full(self, problem: str) -> ToolError:
        source = self._settings.source
        text = f"{source!r} is busy: {problem}; the call was not started, try again in a second"
        return ToolError(AT_CAPACITY, text, ErrorKind.RETRYABLE, {"retry_after_seconds": 1})

    def _free_worker(self) -> WorkerProcess:
        # The latest first: its caches are warm, and the others can be let go.
        return self._idle.pop() if self._idle else self._launch(SYNC_LANE)

    def _shared_worker(self) -> WorkerProcess:
        shared = self._shared
        if shared is not None and shared.memory_bytes > self._limits.kept_bytes:
            shared.retire()
            shared = None
        if shared is None or not shared.is_running:
            shared = self._shared = self._launch(ASYNC_LANE)
        return shared

    def _give_back(self, worker: WorkerProcess) -> None:
        if self._is_retired or worker.memory_bytes > self._limits.kept_bytes:
            worker.retire()
        if worker.failure is not None:
            return
        if worker.is_running:
            self._idle.append(worker)
        elif not self._idle and not self._is_retired:
            # The next call should not have to wait for a new process.
            self._idle.append(self._launch(SYNC_LANE))

    async def _until_loaded(self, worker: WorkerProcess, deadline: float) -> None:
        try:
            with anyio.fail_after(max(deadline - anyio.current_time(), 0)):
                await worker.loaded.wait()
        except TimeoutError as error:
            raise self._unavailable("its process is still loading the functions") from error
        if worker.failure is not None:
            raise self._unavailable(worker.failure)

    def _unavailable(self, problem: str) -> ToolError:
        source = self._settings.source
        text = f"{source!r} cannot run functions now: {problem}; the call was not started"
        return ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)

    async def _answer(
        self, worker: WorkerProcess, tool: str, arguments: JsonObject, limit: tuple[float, float]
    ) -> Result:
        deadline, seconds = limit
        try:
            with anyio.fail_after(max(deadline - anyio.current_time(), 0)):
                return await worker.call(tool, arguments)
        except TimeoutError as error:
            text = (
                f"{tool!r} of {self._settings.source!r} took over {seconds:.3g} s and was stopped"
            )
            raise ToolError(TOOL_TIMED_OUT, text, ErrorKind.RETRYABLE) from error
