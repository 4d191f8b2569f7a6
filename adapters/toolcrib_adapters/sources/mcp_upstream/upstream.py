"""An MCP upstream: one owner task that connects, lists, stays connected, and comes back.

Callers reach it through `call` from their own tasks; nothing the upstream does can cancel them, and
their cancellation ends only their own request. Where a source may rest, nothing runs until
somebody calls.
"""

from __future__ import annotations

import random
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

import anyio
import mcp_types as types

from toolcrib_adapters.expansion import Secrets
from toolcrib_adapters.sources.mcp_upstream.answers import says_unknown_tool
from toolcrib_adapters.sources.mcp_upstream.apart import (
    Apart,
    connections_of,
    of_one_caller,
    starts_late,
)
from toolcrib_adapters.sources.mcp_upstream.backoff import Attempts
from toolcrib_adapters.sources.mcp_upstream.change_news import hear_changes
from toolcrib_adapters.sources.mcp_upstream.connecting import Approach, connected
from toolcrib_adapters.sources.mcp_upstream.dialogue import Dialogue
from toolcrib_adapters.sources.mcp_upstream.exchange import Exchange
from toolcrib_adapters.sources.mcp_upstream.failures import (
    LONGEST_TEXT,
    RequestError,
    call_failure,
    connect_failure,
    tell_log,
)
from toolcrib_adapters.sources.mcp_upstream.forgotten import again_if_forgotten
from toolcrib_adapters.sources.mcp_upstream.forwarding import HttpAccess, without_headers
from toolcrib_adapters.sources.mcp_upstream.hearing import Hearing
from toolcrib_adapters.sources.mcp_upstream.http_client import HttpFailures
from toolcrib_adapters.sources.mcp_upstream.link import Link
from toolcrib_adapters.sources.mcp_upstream.listings import Listings
from toolcrib_adapters.sources.mcp_upstream.personal import PersonalConnections
from toolcrib_adapters.sources.mcp_upstream.pulse import Pulse
from toolcrib_adapters.sources.mcp_upstream.requests import UpstreamRequests
from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec, read_spec
from toolcrib_adapters.sources.mcp_upstream.state_loss import StateLoss, keeps_state
from toolcrib_adapters.sources.mcp_upstream.stdio_process import ProcessTies
from toolcrib_adapters.sources.mcp_upstream.usage import Usage
from toolcrib_adapters.sources.mcp_upstream.watched_resources import SUBSCRIBE, UNSUBSCRIBE
from toolcrib_protocol.errors import (
    AT_CAPACITY,
    INVALID_SETTINGS,
    NEEDS_SIGN_IN,
    SOURCE_UNAVAILABLE,
    ErrorKind,
    ToolError,
)
from toolcrib_registry.notices import NoticeKind
from toolcrib_registry.patience import Patience
from toolcrib_registry.ports import SourceState, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolcrib_adapters.sources.mcp_upstream.spec import StdioSpec
    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_adapters.sources.source import SourceHost
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.ports import CallContext, Clock
    from toolcrib_registry.records import SourceRecord

_PARTING_SECONDS: Final = 2.0
"""How long a server may take to hear that calls which wait are cancelled."""
_CLOSE_SECONDS: Final = 10.0
"""How long a server may take to say goodbye over HTTP; a process is ended in any case."""
_LONGEST_STDERR: Final = 600


class McpUpstream:
    """A `Source` over MCP, stdio or HTTP, of either generation."""

    def __init__(
        self,
        record: SourceRecord,
        *,
        environment: Mapping[str, str],
        clock: Clock,
        connect_gate: anyio.CapacityLimiter,
        roll: Callable[[], float] = random.random,
        access: HttpAccess | None = None,
    ) -> None:
        """An upstream that is not connected yet.

        Args:
            record: its settings.
            environment: what `${NAME}` expands from.
            clock: time for pauses.
            connect_gate: how many upstreams may connect at the same time.
            roll: chance for the pauses, from 0 up to 1.
            access: how it is reached.
        """
        self._record = record
        self._environment = environment
        self._clock = clock
        self._gate = connect_gate
        self._attempts = Attempts(clock, roll)
        self._access = access or HttpAccess()
        lonely = of_one_caller(record)
        same = partial(McpUpstream, environment=environment, clock=clock, roll=roll)

        def make(headers: Mapping[str, str], *, is_reopened: bool) -> McpUpstream:
            access = replace(self._access, personal=headers, is_reopened=is_reopened)
            return same(lonely, connect_gate=connect_gate, access=access)

        self._personal = PersonalConnections(connections_of(record, clock, make))
        self._apart = Apart(record, clock, make)
        self._link = Link(record.name, clock)
        self._dialogue = Dialogue(record.name)
        self._requests = UpstreamRequests(record.name, clock)
        self._listings = Listings(record.name, clock)
        self._hearing = Hearing(self._listings, self._requests, self._dialogue)
        self._pulse = Pulse()
        self._state = StateLoss(is_lost=self._access.is_reopened)
        self._usage = Usage(clock, self._access.household.seats, self._link.rest, self._is_needed)
        self._link.on_wanted = self._usage.wake
        self._secrets = Secrets()
        self._longest_call_seconds = inf
        self._stderr = ""
        self._was_ready = False

    async def run(self, host: SourceHost) -> None:
        """Own the connection until cancelled; calls that wait for their callers end before it."""
        life = anyio.CancelScope(shield=True)
        async with anyio.create_task_group() as tasks, self._apart.running():
            tasks.start_soon(self._own, host, life)
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.move_on_after(_PARTING_SECONDS, shield=True):
                    await self._dialogue.part()
                life.cancel()

    async def _own(self, host: SourceHost, life: anyio.CancelScope) -> None:
        with life:
            self._usage.on_use = host.used
            rests = starts_late(self._record, host)
            while True:
                if rests:
                    await self._rest(host)
                self._attempts.begin()
                await self._report(host, SourceStatus.CONNECTING)
                error = await self._one_connection(host)
                if rests := self._usage.is_sent_off:
                    continue
                rests = error.code == AT_CAPACITY and host.is_known()
                await self._pause(host, error, rests=rests)

    async def _rest(self, host: SourceHost) -> None:
        """Have nothing run until somebody calls."""
        self._link.rest()
        self._listings.wishes.give_up()
        if not self._usage.in_use:
            await self._report(host, SourceStatus.IDLE)
        await self._usage.until_wanted()
        self._link.opening()

    def _is_needed(self) -> bool:
        """Whether callers depend on this very connection between their calls."""
        return self._requests.watched.is_wanted or self._dialogue.lot.is_taken

    async def call(self, upstream_name: str, arguments: JsonObject, context: CallContext) -> Result:
        """Call one tool; see `Provider.call`."""
        if (apart := self._apart.wanted(context)) is not None:
            self._usage.on_use()
            with apart as source:
                return await source.call(upstream_name, arguments, context)
        patience = context.patience_of_source()
        ask = partial(self._call, upstream_name, arguments, context, patience)
        try:
            with self._usage.using():
                return await again_if_forgotten(ask)
        except RequestError as failed:
            raise self._call_failure(failed, patience.seconds) from failed

    async def _call(
        self, upstream_name: str, arguments: JsonObject, context: CallContext, patience: Patience
    ) -> Result:
        wire = await self._wire_for(context, patience)
        if (own := self._personal.wanted(wire, context)) is not None:
            with own as source:
                return await source.call(upstream_name, arguments, without_headers(context))
        named: JsonObject = {"name": upstream_name, "arguments": arguments}
        params = await self._requests.stamped(wire, named, context)
        tool = f"{upstream_name!r} of {self._record.name!r}"
        exchange = Exchange(self._record.name, tool, params, context, patience)
        self._state.called()
        with self._requests.attribution.making(context):
            result = await exchange.carry(wire, self._dialogue.desk, self._dialogue.lot)
        self._attempts.answered()
        if says_unknown_tool(result):
            self._listings.suspect()
        return self._state.flagged(result)

    async def look_again(self) -> None:
        """Ask for the list anew, or connect at once; see `Source.look_again`."""
        self._listings.stir()
        self._usage.wake()
        async with self._pulse.doubting_soon():
            await self._listings.wishes.wait()

    async def _wire_for(self, context: CallContext, patience: Patience) -> Wire:
        """The connection for a call: of the caller's generation, where it may be asked something.

        Raises:
            ToolError: see `Link.wire`.
        """
        wire = await self._link.wire(patience.seconds, context.reconnect_seconds)
        wire = await self._dialogue.wire_for(context.interaction, wire, patience)
        return self._personal.carried(wire, context)

    def capabilities(self) -> JsonObject | None:
        """What the server offers besides tools; see `Provider.capabilities`."""
        return self._requests.capabilities

    async def request(self, method: str, params: JsonObject, context: CallContext) -> JsonObject:
        """The raw answer to a request that calls no tool; see `Provider.request`."""
        if (apart := self._apart.wanted(context, method)) is not None:
            with apart as source:
                return await source.request(method, params, context)
        patience = Patience(min(context.timeout_seconds, self._longest_call_seconds))
        try:
            if method == UNSUBSCRIBE:
                return await self._requests.unwatch(self._link.present, params, patience)
            with self._usage.using():
                ask = partial(self._request, method, params, context, patience)
                return await again_if_forgotten(ask)
        except RequestError as failed:
            raise self._call_failure(failed, patience.seconds) from failed

    async def _request(
        self, method: str, params: JsonObject, context: CallContext, patience: Patience
    ) -> JsonObject:
        wire = await self._link.wire(patience.seconds)
        self._requests.check(wire, method)
        if method == SUBSCRIBE:
            return await self._requests.watch(wire, params, patience)
        wire = await self._wire_for(context, patience)
        if (own := self._personal.wanted(wire, context)) is not None:
            with own as source:
                return await source.request(method, params, without_headers(context))
        what = f"{method} of {self._record.name!r}"
        params = await self._requests.stamped(wire, params, context)
        with self._requests.attribution.making(context):
            exchange = Exchange(self._record.name, what, params, context, patience, method)
            return await exchange.answer(wire, self._dialogue.desk)

    def _call_failure(self, failed: RequestError, seconds: float) -> ToolError:
        if failed.code in {types.INVALID_PARAMS, types.METHOD_NOT_FOUND}:
            self._listings.suspect()
        elif failed.code == types.REQUEST_TIMEOUT:
            self._pulse.doubt()
        failure = call_failure(failed, repr(self._record.name), seconds)
        failure.message = self._secrets.hidden(failure.message)
        return self._state.flagged_failure(failure)

    async def _one_connection(self, host: SourceHost) -> ToolError:
        """Connect and serve until the connection ends; why it ended."""
        self._was_ready = False
        failures, seconds = HttpFailures(), 0.0
        try:
            spec, self._secrets = read_spec(self._record.spec).expanded(self._environment)
            if isinstance(spec, HttpSpec) and self._access.personal:
                spec = spec.for_one(self._access.personal)
                self._secrets = self._secrets.with_more(self._access.personal.values())
            self._personal.follow(spec)
            seconds = spec.connect_timeout_seconds
            self._longest_call_seconds = spec.timeout_seconds or inf
            await self._serve(host, spec, failures)
        except Exception as error:  # noqa: BLE001 - the owner task of an upstream: its faults end here
            tell_log(self._record.name, error, self._secrets)
            return connect_failure(error, None if self._was_ready else failures.last, seconds)
        told = f": {failures.last.told}" if failures.last and failures.fatal.is_set() else ""
        return ToolError(SOURCE_UNAVAILABLE, f"the connection ended{told}", ErrorKind.RETRYABLE)

    async def _serve(
        self, host: SourceHost, spec: StdioSpec | HttpSpec, failures: HttpFailures
    ) -> None:
        """Connect, list, and stay until the connection ends.

        Raises:
            TimeoutError: no agreement within the connect timeout.
            Exception: see `connected` and `raw_list`.
        """
        self._stderr = ""
        self._listings.begin()
        self._usage.connecting()
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._gate)
            patience = anyio.current_time() + spec.connect_timeout_seconds
            with anyio.CancelScope(deadline=patience) as life:
                async with self._connected(spec, failures) as wire:
                    life.deadline = inf
                    await self._listings.list(host, wire)
                    await turn.aclose()
                    self._was_ready = True
                    beside = partial(self._connected, failures=HttpFailures())
                    dialogue = self._dialogue.open(wire, spec, beside)
                    async with dialogue, self._personal.running():
                        self._link.open(wire)
                        is_shared = spec.transport != "http"
                        self._requests.opened(wire, host, is_shared=is_shared)
                        await self._report(host, SourceStatus.READY)
                        try:
                            await self._stay(host, wire, failures, spec.rests_after_seconds)
                        finally:
                            self._attempts.is_forgotten = wire.traffic.is_forgotten
                            if keeps_state(spec, wire):
                                self._state.lost()
                    life.deadline = anyio.current_time() + _CLOSE_SECONDS
        if life.cancelled_caught and not self._was_ready:
            raise TimeoutError
        if why := wire.why_ended:
            raise ToolError(SOURCE_UNAVAILABLE, f"the connection ended: {why}", ErrorKind.RETRYABLE)

    def _connected(
        self, spec: StdioSpec | HttpSpec, failures: HttpFailures
    ) -> AbstractAsyncContextManager[Wire]:
        access, notice = self._access, self._hearing.notice
        ties = ProcessTies(self._record.name, access.household, self._usage, self._keep_stderr)
        return connected(Approach(spec, self._secrets, failures, notice, ties, access.reach))

    async def _stay(
        self, host: SourceHost, wire: Wire, failures: HttpFailures, idle_seconds: float | None
    ) -> None:
        """Keep the list fresh until the connection ends, or nobody has used it for so long."""
        async with anyio.create_task_group() as tasks:

            async def leave_at(event: anyio.Event) -> None:
                await event.wait()
                await wire.traffic.told()
                tasks.cancel_scope.cancel()

            tasks.start_soon(leave_at, wire.ended)
            tasks.start_soon(leave_at, failures.fatal)
            tasks.start_soon(self._keep_listing, host, wire)
            tasks.start_soon(self._listings.remind)
            tasks.start_soon(self._pulse.keep, wire, self._usage.until_present_calls_end)
            tasks.start_soon(self._requests.watched.keep, wire)
            if wire.tells_changes:
                name, ears = self._record.name, self._hearing.ears
                tasks.start_soon(hear_changes, wire, name, self._clock, ears)
            await self._usage.until_sent_off(idle_seconds)
            tasks.cancel_scope.cancel()

    async def _keep_listing(self, host: SourceHost, wire: Wire) -> None:
        async for outcome in self._listings.kept(host, wire):
            reason = ""
            if outcome.failure:
                self._pulse.doubt()
                reason = self._secrets.hidden(outcome.failure)
            elif outcome.is_told:
                self._requests.tell(NoticeKind.TOOLS_CHANGED)
            await self._report(host, SourceStatus.READY, reason)

    def _keep_stderr(self, text: str) -> None:
        self._stderr = self._secrets.hidden(text)[-_LONGEST_STDERR:]

    async def _pause(self, host: SourceHost, failure: ToolError, *, rests: bool) -> None:
        """Report why there is no connection, and wait before the next attempt."""
        last_words = f"; it wrote: {self._stderr}" if self._stderr else ""
        failure.message = self._secrets.hidden(failure.message)[:LONGEST_TEXT] + last_words
        is_final = failure.code == INVALID_SETTINGS
        seconds = inf if is_final else self._attempts.ended(failure, was_ready=self._was_ready)
        # What worked until now will most likely be there again soon: callers wait for it.
        if not self._was_ready:
            self._link.down(failure, seconds)
        status = SourceStatus.IDLE if rests else SourceStatus.FAILED
        status = SourceStatus.NEEDS_SIGN_IN if failure.code == NEEDS_SIGN_IN else status
        if is_final:
            await self._report(host, status, failure.message)
            self._listings.wishes.end()
            await anyio.sleep_forever()  # only other settings help, and they make another source
        if seconds > 0:
            retry_at = (self._clock.now() + timedelta(seconds=seconds)).isoformat()
            await self._report(host, status, failure.message, retry_at)
            self._listings.wishes.give_up()
            await self._listings.wishes.pause(self._clock, seconds)
        self._link.opening()

    async def _report(
        self, host: SourceHost, status: SourceStatus, reason: str = "", retry_at: str | None = None
    ) -> None:
        now = self._clock.now().isoformat()
        await host.report(SourceState(status, now, reason, retry_at))
