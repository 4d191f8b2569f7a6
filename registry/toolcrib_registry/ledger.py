"""The ledger: what changes something is written down before it is sent, and done once for a key.

A `Stage`. The key comes from the caller, never from the arguments: two equal calls may both be
meant. A second call with a key waits for the first and gets its answer; a key with other arguments
is a conflict; what was lost on the way (a process died, no answer came) is of unknown outcome until
a person settles it, unless the tool itself knows the key and can be asked again. Calls that only
read pass at once. Retries are not decided here.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.call_meta import REPLAYED_META
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.interim import InputRequired
from toolcrib_protocol.result import TOOL_META, Result
from toolcrib_registry import ledger_refusals as refusals
from toolcrib_registry.argument_digest import argument_digest
from toolcrib_registry.classification import classify
from toolcrib_registry.ledger_settling import OWNER_ENDED, is_alive
from toolcrib_registry.ports import EntryState, LedgerEntry
from toolcrib_registry.stored_answers import read_answer, sealed_answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_registry.ports import Clock, LedgerStore, Owners, Sealer
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work

_log = logging.getLogger(__name__)

LEASE_SECONDS: Final = 15.0
"""An owner that has not said for so long that it lives counts as dead."""
RENEW_SECONDS: Final = LEASE_SECONDS / 3
_WAITS: Final = "waits_for_key"
_LONGEST_WHY: Final = 500
_FIRST_LOOK_SECONDS: Final = 0.02
_LONGEST_LOOK_SECONDS: Final = 0.25
_BOOKING_SECONDS: Final = 2.0
"""How long an answer waits to be written down; it is delivered in any case."""


class _Outcome(Enum):
    DONE = "done"
    NOTHING = "nothing happened"
    UNKNOWN = "unknown"


class Ledger:
    """A `Stage`: see the module. Used from one event loop."""

    def __init__(self, store: LedgerStore, owners: Owners, sealer: Sealer, clock: Clock) -> None:
        """Books calls as `owners.me`.

        Args:
            store: where it is kept.
            owners: who else carries calls out.
            sealer: seals the answers that are kept.
            clock: time.
        """
        self._store = store
        self._owners = owners
        self._sealer = sealer
        self._clock = clock
        self._open: dict[str, anyio.Event] = {}

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """While the block runs, calls under way have a living owner; at its end all is written."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._renew)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await self._store.aclose()

    async def _renew(self) -> None:
        while True:
            await self._clock.sleep(RENEW_SECONDS)
            if self._open:
                self._store.renew([*self._open], self._now() + LEASE_SECONDS)

    async def carry(self, work: Work, onward: Onward) -> Result:
        """The result of the call, or what a call with its key brought before."""
        if work.record.contract.behaviour.read_only is True:
            return await onward(work)
        try:
            entry = self._entry(work)
        except ToolError as error:
            return Result.failed(error)
        answer = await self._booked(entry, work)
        return await self._carried(entry, work, onward) if answer is None else answer

    def _entry(self, work: Work) -> LedgerEntry:
        key, now = work.call.key, self._now()
        return LedgerEntry(
            work.trail.id,
            work.call.caller.id,
            key,
            str(work.record.tool),
            str(work.record.version),
            "" if key is None else argument_digest(work),
            self._owners.me,
            now + LEASE_SECONDS,
            now,
        )

    async def _booked(self, entry: LedgerEntry, work: Work) -> Result | None:
        """None if the call is written down and is to be sent; else what it ends with."""
        has_ended = False
        try:
            with anyio.move_on_after(max(0.0, work.seconds_left)):
                answer = await self._known(entry, work)
                has_ended = True
                return answer
        except ToolError as error:
            return refusals.not_written(entry, error)
        finally:
            if not has_ended:
                # Perhaps it was written in the last moment.
                self._store.forget(entry.id)
        has_waited = any(step.name == _WAITS for step in work.trail.steps)
        return refusals.still_runs(entry) if has_waited else refusals.not_in_time(entry)

    async def _known(self, entry: LedgerEntry, work: Work) -> Result | None:
        """What is known of the call's key; None if nothing was, and now the call is."""
        wait = _FIRST_LOOK_SECONDS
        while True:
            found = await self._store.begin(entry)
            if found is None:
                return None
            if (found.tool, found.digest) != (entry.tool, entry.digest):
                return refusals.conflict(entry, found)
            if found.state is EntryState.DONE:
                return self._replayed(found, work)
            if found.state is EntryState.RUNNING and is_alive(found, self._owners, self._now()):
                work.trail.note(_WAITS)
                await self._next_look(found, wait)
                wait = min(2 * wait, _LONGEST_LOOK_SECONDS)
            elif work.sent_key is None:
                self._store.doubt(found.id, OWNER_ENDED, self._now())
                return refusals.unknown(found)
            elif await self._store.take_over(found, entry):
                # The tool knows the key: what it did before, it does not do again.
                return None

    async def _next_look(self, found: LedgerEntry, seconds: float) -> None:
        ended = self._open.get(found.id)
        if ended is None:
            await self._clock.sleep(seconds)
        else:
            await ended.wait()

    def _replayed(self, found: LedgerEntry, work: Work) -> Result:
        if found.answer is None:
            return refusals.answer_not_kept(found, refusals.NONE_TO_KEEP)
        try:
            result = read_answer(found.answer, self._sealer, found.id)
        except ToolError as error:
            return refusals.answer_not_kept(found, error.message)
        ended = datetime.fromtimestamp(found.ended or found.began, UTC)
        work.trail.note("replayed")
        if TOOL_META in result.meta:
            # Another tool may have answered in its place.
            work.trail.facts[TOOL_META] = result.meta[TOOL_META]
        work.trail.facts[REPLAYED_META] = {"at": ended.isoformat(timespec="seconds")}
        return result

    async def _carried(self, entry: LedgerEntry, work: Work, onward: Onward) -> Result:
        ended = self._open[entry.id] = anyio.Event()
        result: Result | None = None
        try:
            result = await onward(work)
            return result
        finally:
            # Whoever goes away in the middle leaves a call behind of which somebody must know.
            with anyio.move_on_after(_BOOKING_SECONDS, shield=True):
                await self._close(entry, work, result)
            del self._open[entry.id]
            ended.set()

    async def _close(self, entry: LedgerEntry, work: Work, result: Result | None) -> None:
        """Write down how the call ended."""
        match _outcome(work, result):
            case _Outcome.DONE if result is not None and entry.key is not None:
                await self._keep(entry, replace(result, meta={**result.meta, **work.trail.facts}))
            case _Outcome.UNKNOWN:
                why = refusals.BROKEN_OFF if result is None else _words(result)
                self._store.doubt(entry.id, why, self._now())
            case _:
                self._store.forget(entry.id)

    async def _keep(self, entry: LedgerEntry, result: Result) -> None:
        try:
            await self._store.finish(entry.id, self._sealed(entry, result), self._now())
        except ToolError as error:
            # It was carried out, and its caller gets to know what came of it in any case.
            _not_kept(entry, error)

    def _sealed(self, entry: LedgerEntry, result: Result) -> bytes | None:
        try:
            return sealed_answer(result, self._sealer, entry.id)
        except ToolError as error:
            # That it was done is known all the same, and must not look like a lost call.
            _not_kept(entry, error)
            return None

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _not_kept(entry: LedgerEntry, error: ToolError) -> None:
    _log.warning("the answer to key %r is not kept: %s", entry.key, error.message)


def _outcome(work: Work, result: Result | None) -> _Outcome:
    trail = work.trail
    if result is None:
        if trail.is_out:
            return _Outcome.UNKNOWN
        result = trail.answer
    if result is None or isinstance(result.interim, InputRequired):
        return _Outcome.NOTHING
    if result.error is None:
        return _Outcome.DONE
    # A failure that the tool itself tells is known to its caller, who may try again.
    is_lost = classify(result, work.record.contract).lost_its_answer
    may_repeat = work.call.key is None and work.record.contract.behaviour.may_repeat
    return _Outcome.UNKNOWN if is_lost and not may_repeat else _Outcome.NOTHING


def _words(result: Result) -> str:
    return result.error.message[:_LONGEST_WHY] if result.error is not None else ""
