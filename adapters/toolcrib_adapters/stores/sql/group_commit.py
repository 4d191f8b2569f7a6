"""Small writes that many wait for: what comes while one commit runs shares the next one.

A commit that survives a power cut costs about the same for one row as for fifty. One thread of its
own does the work, started by the first write; a crib that only reads has none. Writes are done in
the order in which they came, and one that fails takes none of the others with it.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass, field
from math import inf
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

import anyio
from anyio import RunFinishedError, from_thread, to_thread
from anyio.lowlevel import current_token

from toolcrib_protocol.errors import INTERNAL, STORE_BUSY, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyio.lowlevel import EventLoopToken
    from sqlalchemy import Connection

    from toolcrib_adapters.stores.sql.database import Database

T = TypeVar("T")

_log = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 200
LINGER_SECONDS: Final = 0.5
"""How long what nobody waits for may wait for company: so much is lost if the process is killed."""
_CLOSING_SECONDS: Final = 20.0


@dataclass(eq=False, slots=True)
class _Waiter:
    """Who waits for a write."""

    token: EventLoopToken
    done: anyio.Event = field(default_factory=anyio.Event)


@dataclass(eq=False, slots=True)
class _Job(Generic[T]):
    """One write; `waiter` is None if nobody waits."""

    work: Callable[[Connection], T]
    waiter: _Waiter | None = None
    value: T | None = None
    error: ToolError | None = None


_NOTHING: Final = _Job[object](lambda _: None)


class GroupCommit:
    """Commits writes to one database in groups."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._thread: Thread | None = None

    async def write(self, work: Callable[[Connection], T]) -> T:
        """What `work` returned, once it is committed. Cancelled while it waits, it is done anyway.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        waiter = _Waiter(current_token())
        job = _Job(work, waiter)
        self._put(cast("_Job[object]", job))
        await waiter.done.wait()
        if job.error is not None:
            raise job.error
        return cast("T", job.value)

    def write_soon(self, work: Callable[[Connection], object]) -> None:
        """Commit `work` with the next group, soon at the latest; a failure goes to the log."""
        self._put(_Job(work))

    async def aclose(self) -> None:
        """Commit what came until now, and end."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            await to_thread.run_sync(thread.join, _CLOSING_SECONDS)

    def _put(self, job: _Job[object]) -> None:
        self._jobs.put(job)
        if self._thread is None:
            self._thread = Thread(target=self._run, name="toolcrib-writer", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            batch, is_last = self._batch()
            if batch:
                self._commit(batch)
                _tell(batch)

    def _batch(self) -> tuple[list[_Job[object]], bool]:
        """The next group, and whether none comes after it.

        It is complete when all that came is in it and somebody waits for it, or when what nobody
        waits for has lingered long enough.
        """
        batch: list[_Job[object]] = []
        until, is_awaited = inf, False
        while len(batch) < MOST_AT_ONCE:
            job = self._next(0.0 if is_awaited else until - monotonic())
            if job is None:
                return batch, True
            if job is _NOTHING:
                break
            batch.append(job)
            is_awaited = is_awaited or job.waiter is not None
            until = min(until, monotonic() + LINGER_SECONDS)
        return batch, False

    def _next(self, seconds: float) -> _Job[object] | None:
        """The next job, `_NOTHING` if none comes in time, None for the end."""
        try:
            return self._jobs.get(timeout=None if seconds == inf else max(0.0, seconds))
        except Empty:
            return _NOTHING

    def _commit(self, batch: Sequence[_Job[object]]) -> None:
        try:
            values = self._committed(batch)
        except ToolError as error:
            self._commit_apart(batch, error)
        except Exception:  # noqa: BLE001 - a worker's border: a fault in one write must not end it
            _log.exception("a write failed inside toolcrib")
            fault = ToolError(INTERNAL, "a fault inside toolcrib; its log has the details")
            self._commit_apart(batch, fault)
        else:
            for job, value in zip(batch, values, strict=True):
                job.value = value

    def _commit_apart(self, batch: Sequence[_Job[object]], error: ToolError) -> None:
        """Commit one by one what failed together; what fails alone failed for good."""
        # Another process that holds SQLite's lock is nobody's fault here: waiting for it again with
        # each of many writes would take minutes.
        is_locked = self._database.is_sqlite and error.code == STORE_BUSY
        if len(batch) == 1 or is_locked:
            for job in batch:
                job.error = error
            return
        for job in batch:
            self._commit([job])

    def _committed(self, batch: Sequence[_Job[object]]) -> list[object]:
        with self._database.writing() as connection:
            return [job.work(connection) for job in batch]


def _tell(batch: Sequence[_Job[object]]) -> None:
    """Wake who waits; log what failed and nobody waits for."""
    waiters: dict[EventLoopToken, list[_Waiter]] = defaultdict(list)
    for job in batch:
        if job.waiter is not None:
            waiters[job.waiter.token].append(job.waiter)
        elif job.error is not None:
            _log.warning("something was not written: %s", job.error.message)
    for token, some in waiters.items():
        try:
            from_thread.run_sync(_wake, some, token=token)
        except RunFinishedError:
            # Their event loop has ended, and they with it.
            continue


def _wake(waiters: Sequence[_Waiter]) -> None:
    for waiter in waiters:
        waiter.done.set()
