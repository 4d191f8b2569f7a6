"""The HTTP wire of 2026-07-28: each request is one POST, whatever it takes comes as its answer.

A dispatcher for the SDK's session, in place of the SDK's own with its client below. There is no
session at the server and nothing to resume, so a request needs no task but that of its caller:
giving it up closes its connection, and that is how the server hears of it. Older generations go
through the SDK's client (`http_client`). Uses private names of mcp 2.x (`_otel`), as `wire` does.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.abc
import mcp_types as types
from mcp.shared._otel import inject_trace_context, otel_span
from mcp.shared.dispatcher import Dispatcher, run_notify_intercept
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.transport_context import TransportContext
from opentelemetry.trace import SpanKind, StatusCode

from toolcrib_adapters.outbound.http_connection import BrokenExchangeError, UnreachableError
from toolcrib_adapters.outbound.http_endpoint import HeaderError
from toolcrib_adapters.sources.mcp_upstream.http_client import HttpFailure
from toolcrib_adapters.sources.mcp_upstream.posted_request import SILENT_SECONDS, PostedRequest
from toolcrib_adapters.sources.mcp_upstream.stateless_messages import progress_in, written_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp.shared.dispatcher import (
        CallOptions,
        OnNotify,
        OnNotifyIntercept,
        OnRequest,
        ProgressFnT,
    )

    from toolcrib_adapters.outbound.http_endpoint import HttpEndpoint
    from toolcrib_adapters.outbound.http_pool import HttpPool
    from toolcrib_adapters.sources.mcp_upstream.http_client import HttpFailures
    from toolcrib_protocol.json_value import JsonObject

_log = logging.getLogger(__name__)

_SWEEP_SECONDS: Final = 30.0
_CLOSED: Final = "Connection closed"
_CONTEXT: Final = TransportContext(kind="http", can_send_request=False)


@dataclass(frozen=True, slots=True)
class _NoBackChannel:
    """The context of a notification, which nothing can be sent back to."""

    transport: TransportContext
    cancel_requested: anyio.Event
    request_id: None = None
    message_metadata: None = None
    can_send_request: bool = False

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002 - the protocol's signature
        opts: CallOptions | None = None,  # noqa: ARG002 - the protocol's signature
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Nowhere to send it to."""

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Nobody asked for it."""


class StatelessHttp(Dispatcher[Any]):
    """The requests to one server.

    Attributes:
        ended: set when the server is of no use any more.
        why_ended: why it was given up.
    """

    def __init__(self, endpoint: HttpEndpoint, pool: HttpPool, failures: HttpFailures) -> None:
        self.ended = anyio.Event()
        self.why_ended = ""
        self._endpoint = endpoint
        self._pool = pool
        self._failures = failures
        self._ids = count(1)
        self._on_notify: OnNotify | None = None
        self._intercept: OnNotifyIntercept | None = None

    async def run(
        self,
        on_request: OnRequest,  # noqa: ARG002 - servers of this generation ask in their answers
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Be there until cancelled; requests run in the tasks of their callers."""
        self._on_notify, self._intercept = on_notify, on_notify_intercept
        task_status.started()
        try:
            while True:
                await anyio.sleep(_SWEEP_SECONDS)
                await self._pool.sweep()
        finally:
            self.ended.set()

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Nothing: this wire has no messages to the server but requests."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """The raw result of a request; cancelling this cancels it at the server.

        Raises:
            MCPError: the server's error, or one that stands for what came instead of an answer.
        """
        options: CallOptions = opts or {}
        request_id = options.get("request_id")
        if request_id is None:
            request_id = next(self._ids)
        out = {**(params or {})}
        meta = out["_meta"] = {**(out.get("_meta") or {})}
        if "on_progress" in options:
            meta["progressToken"] = request_id
        with _traced(method, out.get("name"), request_id):
            inject_trace_context(meta)
            body = _written(request_id, method, out)
            return await self._answer(request_id, method, body, options)

    async def _answer(
        self, request_id: types.RequestId, method: str, body: bytes, options: CallOptions
    ) -> dict[str, Any]:
        report = options.get("on_progress")

        async def heard(message: JsonObject) -> None:
            await self._heard(message, request_id, report)

        posted = PostedRequest(request_id, body, options.get("headers", {}), self._failures, heard)
        try:
            with anyio.move_on_after(options.get("timeout", SILENT_SECONDS)) as patience:
                if "timeout" not in options:
                    posted.silence = patience
                return await posted.carry(self._endpoint, self._pool)
        except BrokenExchangeError as error:
            raise self._broken(request_id, error) from error
        except HeaderError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        raise MCPError(types.REQUEST_TIMEOUT, f"Request {method!r} timed out")

    def _broken(self, request_id: types.RequestId, error: BrokenExchangeError) -> MCPError:
        if not error.is_ours:
            failure = HttpFailure(None, never_left=error.never_left, reason=str(error))
            self._failures.note(request_id, failure)
            if isinstance(error, UnreachableError):
                self._failures.fatal.set()
        return MCPError(types.CONNECTION_CLOSED, _CLOSED)

    async def _heard(
        self, message: JsonObject, request_id: types.RequestId, report: ProgressFnT | None
    ) -> None:
        """Hand on a notification that came on the stream of a request."""
        method, params = str(message["method"]), message.get("params")
        given = params if isinstance(params, dict) else None
        told = progress_in(given, request_id) if method == "notifications/progress" else None
        try:
            if told is not None and report is not None:
                await report(*told)
            if not run_notify_intercept(self._intercept, method, given) and self._on_notify:
                await self._on_notify(_NoBackChannel(_CONTEXT, anyio.Event()), method, given)
        except Exception:  # noqa: BLE001 - whoever is told must not end what it is told about
            _log.exception("the receiver of %r failed", method)


def _written(request_id: types.RequestId, method: str, params: dict[str, Any]) -> bytes:
    try:
        return written_request(request_id, method, params)
    except (ValueError, RecursionError) as error:
        text = f"the request cannot be written as JSON: {error}"
        raise MCPError(types.INVALID_PARAMS, text) from error


@contextmanager
def _traced(method: str, name: object, request_id: types.RequestId) -> Iterator[None]:
    """A span for a request, as the SDK's dispatcher makes it."""
    attributes = {"mcp.method.name": method, "jsonrpc.request.id": str(request_id)}
    title = f"MCP send {method}{f' {name}' if isinstance(name, str) else ''}"
    with otel_span(title, kind=SpanKind.CLIENT, attributes=attributes) as span:
        try:
            yield
        except MCPError as error:
            code = str(error.code)
            span.set_attributes({"error.type": code, "rpc.response.status_code": code})
            span.set_status(StatusCode.ERROR, error.message)
            raise
