"""The book of calls: writes down every call that ended, without keeping any call waiting.

What ended is put on a list, and a task of its own makes records of it and stores them, a batch at a
time, well within a second. If the store cannot keep up, records are dropped and counted; calls
never wait. What is captured beside the records is a matter of `captures.py`.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from toolcrib_protocol.errors import ErrorKind, ToolError
from toolcrib_registry.call_recording import EndedCall, lightened, record_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from toolcrib_protocol.result import Result
    from toolcrib_registry.call import Call
    from toolcrib_registry.call_trail import CallTrail
    from toolcrib_registry.captures import Captures
    from toolcrib_registry.ports import CallRecord, CallRecordStore, Capture, Clock

_log = logging.getLogger(__name__)

WRITTEN_AFTER_SECONDS: Final = 0.5
"""How long an ended call waits for others, so that one transaction writes all of them."""
MOST_UNWRITTEN: Final = 5_000
"""How many ended calls may wait to be written."""
_MOST_AT_ONCE: Final = 500
_LAST_SECONDS: Final = 5.0
"""How long the end of a crib waits for the last records."""


class CallBook:
    """A `CallRecorder` over a store.

    Attributes:
        dropped: how many records were lost because the store could not take them.
    """

    def __init__(
        self,
        store: CallRecordStore,
        clock: Clock,
        captures: Captures | None = None,
        *,
        most_unwritten: int = MOST_UNWRITTEN,
    ) -> None:
        """A book that writes once `writing` is entered; without `captures` nothing is captured."""
        self._store = store
        self._clock = clock
        self._captures = captures
        self._most = most_unwritten
        self._ended: list[EndedCall] = []
        self._came = anyio.Event()
        self._told = 0
        self.dropped = 0

    def ended(self, call: Call, trail: CallTrail, result: Result | None) -> None:
        """Take note of a call."""
        if len(self._ended) >= self._most:
            self.dropped += 1
            return
        now, seconds = self._clock.now().timestamp(), trail.seconds
        captured = self._captures is not None and self._captures.wants(trail.rules, now)
        ended = EndedCall(call, trail, result, now - seconds, seconds, captured)
        self._ended.append(ended if captured else lightened(ended))
        self._came.set()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Inside, what ended is written in the background; the rest at the end."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                with anyio.move_on_after(_LAST_SECONDS, shield=True):
                    await self.write()

    async def write(self) -> None:
        """Write all that has ended until now."""
        while self._ended:
            batch = self._ended[:_MOST_AT_ONCE]
            if not await self._written(batch):
                return
            del self._ended[: len(batch)]

    async def _run(self) -> None:
        while True:
            await self._came.wait()
            await self._clock.sleep(WRITTEN_AFTER_SECONDS)
            self._came = anyio.Event()
            try:
                await self.write()
            except Exception:  # noqa: BLE001 - a worker's border: one strange call must not end the crib
                _log.exception("records of calls could not be made")
                self._lose(self._ended[:_MOST_AT_ONCE])
            if self._ended:
                self._came.set()

    def _lose(self, batch: Sequence[EndedCall]) -> None:
        del self._ended[: len(batch)]
        self.dropped += len(batch)

    async def _written(self, batch: Sequence[EndedCall]) -> bool:
        """Whether the batch is dealt with; a store that is only busy is asked again later."""
        records, captures = await to_thread.run_sync(self._made, batch)
        try:
            await self._store.write(records, captures)
        except ToolError as error:
            if error.kind is ErrorKind.RETRYABLE:
                return False
            self.dropped += len(batch)
            _log.warning("records of %d calls are lost: %s", len(batch), error)
        self._tell_dropped()
        return True

    def _made(self, batch: Sequence[EndedCall]) -> tuple[list[CallRecord], list[Capture]]:
        records = [record_of(ended) for ended in batch]
        if self._captures is None:
            return records, []
        return records, self._captures.of(batch)

    def _tell_dropped(self) -> None:
        if self.dropped > self._told:
            _log.warning("%d records of calls were dropped so far", self.dropped)
            self._told = self.dropped
