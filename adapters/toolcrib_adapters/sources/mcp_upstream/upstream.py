"""An MCP upstream: one owner task that connects, lists, stays connected, and comes back.

Callers reach it through `call` from their own tasks; nothing the upstream does can cancel them, and their cancellation ends only
their own request. Lists go to the host raw; judging them is the registry's part.
"""

from __future__ import annotations

import logging
import random
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import anyio
import mcp_types as types
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError

from toolcrib_adapters.expansion import Secrets
from toolcrib_adapters.sources.mcp_upstream.failures import (
    call_failure,
    connect_failure,
    is_lost_session,
)
from toolcrib_adapters.sources.mcp_upstream.http_answers import HttpAnswers
from toolcrib_adapters.sources.mcp_upstream.raw_list import raw_list
from toolcrib_adapters.sources.mcp_upstream.spec import read_spec
from toolcrib_adapters.sources.mcp_upstream.wire import Wire, connected
from toolcrib_protocol.errors import (
    INVALID_SETTINGS,
    NEEDS_SIGN_IN,
    SOURCE_UNAVAILABLE,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import Result
from toolcrib_registry.listing import Listing
from toolcrib_registry.ports import Progress, SourceState, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.shared.dispatcher import CallOptions

    from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec, StdioSpec
    from toolcrib_adapters.sources.source import SourceHost
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext, Clock
    from toolcrib_registry.records import SourceRecord

_log = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 60.0
_STABLE_SECONDS: Final = 30.0
"""A connection that lasted so long makes the next pause a first one again."""
_LIST_AGAIN_SECONDS: Final = 300.0
"""Upstreams that cannot say that their list changed are asked this often."""
_SETTLE_SECONDS: Final = 0.2
"""Notices that the list changed come in bursts; one new list answers them all."""
_LONGEST_INSTRUCTIONS: Final = 4_000
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
    ) -> None:
        """An upstream that is not connected yet.

        Args:
            record: its settings.
            environment: what `${NAME}` expands from.
            clock: time for pauses.
            connect_gate: how many upstreams may connect at the same time.
        """
        self._record = record
        self._environment = environment
        self._clock = clock
        self._gate = connect_gate
        self._wire: Wire | None = None
        self._ready = anyio.Event()
        self._failure: ToolError | None = None
        self._list_again = anyio.Event()
        self._lost = anyio.Event()
        self._secrets = Secrets(())
        self._stderr = ""
        self._was_ready = False

    async def run(self, host: SourceHost) -> None:
        """Own the connection until cancelled."""
        attempt = 0
        while True:
            started = self._clock.monotonic()
            await self._report(host, SourceStatus.CONNECTING)
            error = await self._one_connection(host)
            lasted = self._clock.monotonic() - started
            attempt = 0 if self._was_ready and lasted > _STABLE_SECONDS else attempt + 1
            await self._pause(host, error, attempt)

    async def call(self, upstream_name: str, arguments: JsonObject, context: CallContext) -> Result:
        """Call one tool; see `Provider.call`."""
        wire = await self._connected(context.timeout_seconds)
        options: CallOptions = {"timeout": context.timeout_seconds}
        if context.report_progress is not None:
            options["on_progress"] = _progress(context.report_progress)
        params: JsonObject = {"name": upstream_name, "arguments": arguments}
        if context.meta:
            params["_meta"] = {**context.meta}
        try:
            answer = await wire.request("tools/call", params, options)
        except MCPError as error:
            raise self._call_failure(error, wire, options, context.timeout_seconds) from error
        return self._result(answer, upstream_name)

    def _call_failure(
        self, error: MCPError, wire: Wire, options: CallOptions, timeout_seconds: float
    ) -> ToolError:
        answer = wire.http_answer(options)
        if is_lost_session(answer):
            self._lost.set()
        if error.code in {types.INVALID_PARAMS, types.METHOD_NOT_FOUND}:
            # Perhaps the tool is gone: the next list tells.
            self._list_again.set()
        failure = call_failure(error, repr(self._record.name), answer, timeout_seconds)
        failure.message = self._secrets.hidden(failure.message)
        return failure

    def _result(self, answer: JsonObject, upstream_name: str) -> Result:
        kind = answer.pop("resultType", "complete")
        if kind == "input_required":
            raise ToolError(
                UPSTREAM_PROTOCOL,
                f"{upstream_name!r} of {self._record.name!r} asks a question back, which this crib cannot pass on; call "
                "it through a client that is connected to the server directly",
                ErrorKind.NEEDS_HUMAN,
            )
        return Result.from_mcp(answer)

    async def _connected(self, timeout_seconds: float) -> Wire:
        """The open connection; waits for one that is being made, fails at once for one that is known dead."""
        if self._wire is None and self._failure is None:
            with anyio.move_on_after(timeout_seconds):
                await self._ready.wait()
        if self._wire is not None:
            return self._wire
        failure = self._failure
        if failure is None:
            text = f"{self._record.name!r} is still connecting after {timeout_seconds:g} s; nothing was called"
            raise ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)
        code = failure.code if failure.code == NEEDS_SIGN_IN else SOURCE_UNAVAILABLE
        text = f"{self._record.name!r} is not connected: {failure.message}; nothing was called"
        raise ToolError(code, text, failure.kind, failure.details)

    async def _one_connection(self, host: SourceHost) -> ToolError:
        """Connect and serve until the connection ends; why it ended."""
        self._was_ready = False
        if self._ready.is_set():
            self._ready = anyio.Event()
        answers = HttpAnswers()
        seconds = 0.0
        try:
            spec, self._secrets = read_spec(self._record.spec).expanded(self._environment)
            seconds = spec.connect_timeout_seconds
            await self._serve(host, spec, answers)
        except Exception as error:  # noqa: BLE001 - the owner task of an upstream: its faults end here
            _log.debug("upstream %r failed", self._record.name, exc_info=True)
            failure = connect_failure(error, answers.last, seconds)
        else:
            text = "the connection ended"
            failure = ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)
        finally:
            self._wire = None
        return failure

    async def _serve(
        self, host: SourceHost, spec: StdioSpec | HttpSpec, answers: HttpAnswers
    ) -> None:
        self._lost = anyio.Event()
        self._stderr = ""
        async with AsyncExitStack() as stack:
            async with self._gate:
                wire = await stack.enter_async_context(
                    connected(spec, answers, self._on_notice, self._keep_stderr)
                )
                await self._list(host, wire)
            self._wire, self._failure, self._was_ready = wire, None, True
            await self._report(host, SourceStatus.READY)
            self._ready.set()
            await self._stay(host, wire)

    async def _stay(self, host: SourceHost, wire: Wire) -> None:
        """Keep the list fresh until the connection ends."""
        async with anyio.create_task_group() as tasks:

            async def leave_at(event: anyio.Event) -> None:
                await event.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(leave_at, wire.ended)
            tasks.start_soon(leave_at, self._lost)
            tasks.start_soon(self._keep_listing, host, wire)
            tasks.start_soon(self._hear_changes, wire)

    async def _keep_listing(self, host: SourceHost, wire: Wire) -> None:
        while True:
            with anyio.move_on_after(_LIST_AGAIN_SECONDS):
                await self._list_again.wait()
            await self._clock.sleep(_SETTLE_SECONDS)
            self._list_again = anyio.Event()
            try:
                await self._list(host, wire)
            except (MCPError, ToolError) as error:
                # The stored list stays as it is; the reason is for people.
                reason = self._secrets.hidden(f"the tools could not be listed again: {error}")
                await self._report(host, SourceStatus.READY, reason)

    async def _hear_changes(self, wire: Wire) -> None:
        try:
            await wire.tool_list_changes(self._list_again.set)
        except (MCPError, SubscriptionLost, TimeoutError) as error:
            # Then the timer has to do.
            _log.debug("upstream %r cannot be listened to: %s", self._record.name, error)

    async def _list(self, host: SourceHost, wire: Wire) -> None:
        tools = await raw_list(wire)
        wire.learn_headers(tools)
        instructions = wire.instructions[:_LONGEST_INSTRUCTIONS]
        await host.listed(Listing(self._record.name, tuple(tools), wire.title, instructions))

    async def _on_notice(self, notice: object) -> None:
        if isinstance(notice, types.ToolListChangedNotification):
            self._list_again.set()

    def _keep_stderr(self, text: str) -> None:
        self._stderr = text

    async def _pause(self, host: SourceHost, failure: ToolError, attempt: int) -> None:
        """Report why there is no connection, and wait before the next attempt."""
        last_words = f"; it wrote: {self._stderr[-_LONGEST_STDERR:]}" if self._stderr else ""
        failure.message = self._secrets.hidden(failure.message + last_words)
        self._failure = failure
        self._ready.set()
        needs_sign_in = failure.code == NEEDS_SIGN_IN
        status = SourceStatus.NEEDS_SIGN_IN if needs_sign_in else SourceStatus.FAILED
        if failure.code == INVALID_SETTINGS:
            await self._report(host, status, failure.message)
            await anyio.sleep_forever()  # only other settings help, and they make another source
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(attempt, 10))
        # Full jitter: many sources that failed together must not come back together.
        seconds = random.uniform(longest / 2, longest)  # noqa: S311 - not for secrets
        retry_at = (self._clock.now() + timedelta(seconds=seconds)).isoformat()
        await self._report(host, status, failure.message, retry_at)
        await self._clock.sleep(seconds)
        self._failure = None

    async def _report(
        self, host: SourceHost, status: SourceStatus, reason: str = "", retry_at: str | None = None
    ) -> None:
        now = self._clock.now().isoformat()
        await host.report(SourceState(status, now, reason, retry_at))


def _progress(
    report: Callable[[Progress], Awaitable[None]],
) -> Callable[[float, float | None, str | None], Awaitable[None]]:
    async def hand_on(progress: float, total: float | None, message: str | None) -> None:
        await report(Progress(progress, total, message))

    return hand_on
