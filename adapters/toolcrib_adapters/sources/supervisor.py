"""Runs the sources of the catalogue in this process: opens, watches, replaces and ends them.

Each source lives in a task of its own; a source whose settings change is ended and opened anew, the
others are not touched. What the sources report is pinned on the board that other processes read.
Not a policy of calls: it hands out providers, `toolcrib_registry.calls` uses them.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc
from anyio import to_thread

from toolcrib_adapters.sources.habits import Habits
from toolcrib_adapters.sources.source import ToolsOnly
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, ErrorKind, ToolError
from toolcrib_registry.listing import accept_listing
from toolcrib_registry.ports import SourceState, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolcrib_adapters.sources.source import Source, SourceHost
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.changes import Change
    from toolcrib_registry.listing import Listing
    from toolcrib_registry.notices import Notice
    from toolcrib_registry.ports import CallContext, Clock, Provider, SourceStates
    from toolcrib_registry.records import SourceKind, SourceRecord
    from toolcrib_registry.snapshot import Snapshot

    OpenSource = Callable[[SourceRecord], Source]
    """Makes the source of a record; opens nothing yet."""

_log = logging.getLogger(__name__)

# The board is read by people; twice a second is live enough and spares the database.
_BOARD_SECONDS: Final = 0.5
HEARTBEAT_SECONDS: Final = 10.0
_LONGEST_STOP_SECONDS: Final = 15.0
_LONGEST_LIST_SECONDS: Final = 120.0
"""Who asks a source anew is told after so long that it did not answer."""
AGAIN_SECONDS: Final = 10.0
"""The pause before a source that ended with an error is opened anew."""


@dataclass(slots=True, eq=False)
class _Running:
    """One source in its task."""

    record: SourceRecord
    source: Source
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    settled: anyio.Event = field(default_factory=anyio.Event)
    """Set at the first state that is not `connecting`, and never cleared."""


class Supervisor:
    """The running sources of one crib: `Providers` of its calls, `Follower` of its catalogue."""

    def __init__(
        self,
        openers: Mapping[SourceKind, OpenSource],
        board: SourceStates,
        clock: Clock,
        *,
        crib: str,
        wants: Callable[[SourceRecord], bool] = lambda _: True,
        habits: Habits | None = None,
    ) -> None:
        """A supervisor that runs nothing yet.

        Args:
            openers: one opener a kind of source.
            board: where states are pinned.
            clock: time.
            crib: the name of this process on the board, unique among running ones.
            wants: which sources to run; a one-shot command runs only the one it calls.
            habits: what earlier cribs of this home knew of the sources.
        """
        self._openers = openers
        self._board = board
        self._clock = clock
        self._crib = crib
        self._wants = wants
        self.habits = habits or Habits(None, clock)
        self._running: dict[str, _Running] = {}
        self._states: dict[str, SourceState] = {}
        self._asked: dict[str, int] = {}
        self._answered: dict[str, int] = {}
        self._starts_at = 0.0
        self._listeners: dict[object, Callable[[Notice], None]] = {}
        self._sources_changed = anyio.Event()
        self._states_changed = anyio.Event()

    @property
    def states(self) -> Mapping[str, SourceState]:
        """What each source of this process is doing."""
        return dict(self._states)

    async def catalogue_changed(self, before: Snapshot, after: Snapshot) -> None:
        """Note that sources came, went or changed; `run` acts on it."""
        if before.sources != after.sources:
            self._sources_changed.set()
        for source, number in after.asked.items():
            if before.asked.get(source) != number:
                self._asked[source] = number
                self._sources_changed.set()

    def provider(self, source: str) -> Provider:
        """The running source of that name.

        Raises:
            ToolError: `source_unavailable`.
        """
        running = self._running.get(source)
        if running is None:
            raise ToolError(
                SOURCE_UNAVAILABLE,
                f"the source {source!r} does not run in this crib; `toolcrib sources` tells why",
                ErrorKind.RETRYABLE,
            )
        return running.source

    def hear(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Hand every notice of a running source to `listener`; returns what ends it."""
        token = object()
        self._listeners[token] = listener

        def end() -> None:
            self._listeners.pop(token, None)

        return end

    def pass_on(self, running: _Running, notice: Notice) -> None:
        """A source told something; what a replaced source still says is not heard."""
        if self._running.get(running.record.name) is running:
            for listener in list(self._listeners.values()):
                listener(notice)

    async def settled(self, source: str) -> SourceState | None:
        """Wait until a source is ready or has failed once; None if it does not run here."""
        running = self._running.get(source)
        if running is None:
            return None
        await running.settled.wait()
        return self._states.get(source)

    async def run(
        self,
        catalogue: Catalogue,
        head_start_seconds: float = 0.0,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Run the sources until cancelled; everything they opened is closed before this returns.

        None of them does anything in the first `head_start_seconds`.
        """
        self._starts_at = self._clock.monotonic() + head_start_seconds
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_board)
                self._reconcile(catalogue, tasks)
                task_status.started()
                while True:
                    await self._sources_changed.wait()
                    self._sources_changed = anyio.Event()
                    self._reconcile(catalogue, tasks)
                    self._ask_again(tasks)
        finally:
            with (
                anyio.CancelScope(shield=True),
                anyio.move_on_after(_BOARD_SECONDS * 4),
                suppress(ToolError),  # readers forget a silent crib by themselves
            ):
                # What was found out since the last round, too: a command may end before the first.
                await self._board.report(self._crib, dict(self._states))
                await self._board.withdraw(self._crib)
                await to_thread.run_sync(self.habits.save)

    def _reconcile(self, catalogue: Catalogue, tasks: anyio.abc.TaskGroup) -> None:
        wanted = {r.name: r for r in catalogue.snapshot.sources.values() if self._wants(r)}
        replaced: dict[str, _Running] = {}
        for name, running in list(self._running.items()):
            if wanted.get(name) != running.record:
                running.scope.cancel()
                replaced[name] = self._running.pop(name)
                self._states.pop(name, None)
                self._states_changed.set()
        for name, record in wanted.items():
            if name not in self._running:
                running = self._running[name] = _Running(record, self._opened(record))
                tasks.start_soon(self._own, catalogue, running, replaced.get(name))

    def _ask_again(self, tasks: anyio.abc.TaskGroup) -> None:
        asked, self._asked = self._asked, {}
        for source, number in asked.items():
            running = self._running.get(source)
            if running is not None:
                tasks.start_soon(self._look_again, running, number)

    async def _look_again(self, running: _Running, number: int) -> None:
        """Have a source asked for its list, and pin that it was."""
        with anyio.move_on_after(_LONGEST_LIST_SECONDS):
            async with anyio.create_task_group() as tasks:

                async def leave() -> None:
                    await running.ended.wait()  # replaced or removed: its successor lists anyway
                    tasks.cancel_scope.cancel()

                tasks.start_soon(leave)
                await running.source.look_again()
                tasks.cancel_scope.cancel()
        name = running.record.name
        self._answered[name] = max(number, self._answered.get(name, 0))
        self._states_changed.set()

    def _opened(self, record: SourceRecord) -> Source:
        try:
            return self._openers[record.kind](record)
        except ToolError as error:
            return _Unopened(error, self._clock)

    async def _own(
        self, catalogue: Catalogue, running: _Running, predecessor: _Running | None
    ) -> None:
        """The task of one source, from its predecessor's end to its own."""
        try:
            with running.scope:
                if predecessor is not None:
                    with anyio.move_on_after(_LONGEST_STOP_SECONDS):
                        await predecessor.ended.wait()
                await self._start()
                await self._run_source(running, _Host(self, catalogue, running))
        finally:
            running.ended.set()

    async def _start(self) -> None:
        remaining = self._starts_at - self._clock.monotonic()
        if remaining > 0:
            await self._clock.sleep(remaining)

    async def _run_source(self, running: _Running, host: _Host) -> None:
        """Run a source until cancelled; one that ends with an error is opened anew."""
        while True:
            try:
                await running.source.run(host)
            except ToolError as error:
                reason = error.message
            except Exception as error:  # noqa: BLE001 - the owner task of a source: its faults end here
                _log.exception("the source %r ended with a fault of toolcrib", running.record.name)
                reason = f"a fault of toolcrib: {type(error).__name__}: {error}"
            else:
                reason = "it ended by itself"
            now = self._clock.now()
            again = now + timedelta(seconds=AGAIN_SECONDS)
            state = SourceState(SourceStatus.FAILED, now.isoformat(), reason, again.isoformat())
            await host.report(state)
            await self._clock.sleep(AGAIN_SECONDS)
            running.source = self._opened(running.record)

    def note(self, running: _Running, state: SourceState) -> None:
        """A source is in this state now; what a replaced source still says is not heard."""
        name = running.record.name
        if self._running.get(name) is not running:
            return
        self._states[name] = state
        self._states_changed.set()
        if state.status is not SourceStatus.CONNECTING:
            running.settled.set()

    async def _keep_board(self) -> None:
        await self._start()
        while True:
            try:
                await self._board.report(self._crib, self._pinned())
            except ToolError as error:
                # People look at the board; the sources run on without it, and the next round comes.
                _log.warning("cannot tell what the sources are doing: %s", error.message)
            await to_thread.run_sync(self.habits.save)
            with anyio.move_on_after(HEARTBEAT_SECONDS):
                await self._states_changed.wait()
            self._states_changed = anyio.Event()
            await self._clock.sleep(_BOARD_SECONDS)

    def _pinned(self) -> dict[str, SourceState]:
        return {
            name: replace(state, answered=self._answered.get(name, 0))
            for name, state in self._states.items()
        }

    def accepting(
        self, record: SourceRecord, listing: Listing
    ) -> Callable[[Snapshot], list[Change]]:
        """The change that makes the catalogue agree with what a source of `record` lists."""
        now = self._clock.now().isoformat()

        def decide(snapshot: Snapshot) -> list[Change]:
            # A source whose settings were replaced meanwhile lists what is no longer wanted.
            if snapshot.sources.get(record.name) != record:
                return []
            return accept_listing(snapshot, listing, now)

        return decide


@dataclass(frozen=True, slots=True)
class _Unopened(ToolsOnly):
    """Stands for a source that cannot be opened here: it needs other settings or a package."""

    error: ToolError
    clock: Clock

    async def run(self, host: SourceHost) -> None:
        now = self.clock.now().isoformat()
        await host.report(SourceState(SourceStatus.FAILED, now, self.error.message))
        await anyio.sleep_forever()

    async def look_again(self) -> None:
        """Return at once: there is nothing to ask."""

    async def call(
        self,
        upstream_name: str,  # noqa: ARG002 - the port's signature
        arguments: JsonObject,  # noqa: ARG002 - the port's signature
        context: CallContext,  # noqa: ARG002 - the port's signature
    ) -> Result:
        raise self.error


@dataclass(frozen=True, slots=True)
class _Host:
    """What a source sees of its supervisor."""

    supervisor: Supervisor
    catalogue: Catalogue
    running: _Running

    async def report(self, state: SourceState) -> None:
        self.supervisor.note(self.running, state)

    async def listed(self, listing: Listing) -> None:
        mine = replace(listing, source=self.running.record.name)
        await self.catalogue.change(self.supervisor.accepting(self.running.record, mine))
        self.supervisor.habits.listed(self.running.record)

    def noticed(self, notice: Notice) -> None:
        self.supervisor.pass_on(self.running, notice)

    def used(self) -> None:
        self.supervisor.habits.used(self.running.record.name)

    def is_known(self) -> bool:
        record = self.running.record
        return record.name in self.catalogue.snapshot.sources and self.supervisor.habits.is_known(
            record
        )

    def is_hot(self) -> bool:
        return self.supervisor.habits.is_hot(self.running.record.name)
