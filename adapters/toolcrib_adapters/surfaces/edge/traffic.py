"""The requests in flight: how many at once, and what becomes of them when the server ends.

A request that waits for news (a GET, `subscriptions/listen`) is a stream: nothing is lost when it
ends, and it does not hold up the end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
from starlette.responses import Response

from toolcrib_adapters.surfaces.edge.refusals import Refusal, error_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from toolcrib_adapters.surfaces.edge.refusals import Refusals

REQUEST_ID: Final = "toolcrib.request_id"
"""Where a layer below notes in the scope the JSON-RPC id of a request whose answer is a stream."""
MOST_REQUESTS: Final = 1_000
"""So many requests of one endpoint may run at once."""
MOST_STREAMS: Final = 4_000
"""So many clients may wait for news."""
_ENDPOINTS: Final = 4
"""So many endpoints may be full at the same time."""
_RETRY_SECONDS: Final = {"Retry-After": "2"}
_ENDING: Final = "this crib is ending; ask again in a moment"


@dataclass(eq=False, slots=True)
class _Exchange:
    """One request and what became of its response."""

    send: Send
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    has_started: bool = False
    is_events: bool = False
    has_ended: bool = False

    async def watch(self, message: Message) -> None:
        """Hand on a part of the response."""
        if message["type"] == "http.response.start":
            self.has_started = True
            self.is_events = any(
                name == b"content-type" and value.startswith(b"text/event-stream")
                for name, value in message["headers"]
            )
        elif not message.get("more_body", False):
            self.has_ended = True
        await self.send(message)


class Traffic:
    """A layer that counts requests, bounds them, and ends them."""

    def __init__(
        self,
        app: ASGIApp,
        refusals: Refusals,
        *,
        most_requests: int = MOST_REQUESTS,
        most_streams: int = MOST_STREAMS,
    ) -> None:
        self._app = app
        self._refusals = refusals
        self._most_requests = most_requests
        self._most_streams = most_streams
        self._by_path: Counter[str] = Counter()
        self._requests: set[_Exchange] = set()
        self._streams: set[_Exchange] = set()
        self._changed = anyio.Event()
        self.is_closing = False

    @property
    def requests(self) -> int:
        """How many requests run."""
        return len(self._requests)

    @property
    def streams(self) -> int:
        """How many clients wait for news."""
        return len(self._streams)

    def close(self) -> None:
        """Turn new requests away from now on."""
        self.is_closing = True

    async def idle(self) -> None:
        """Return as soon as no request runs."""
        while self._requests:
            await self._changed.wait()

    async def end_all(self) -> None:
        """End what runs, streams too; each response is completed."""
        for exchange in (*self._requests, *self._streams):
            exchange.scope.cancel()
        while self._requests or self._streams:
            await self._changed.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_stream = _is_stream(scope)
        refusal = self._refusal(scope, is_stream=is_stream)
        if refusal is not None:
            await self._refusals.answer(refusal, scope, receive, send)
            return
        exchange = _Exchange(send)
        kind = self._streams if is_stream else self._requests
        kind.add(exchange)
        if not is_stream:
            self._by_path[scope["path"]] += 1
        try:
            with exchange.scope:
                await self._app(scope, receive, exchange.watch)
            if exchange.scope.cancelled_caught:
                await _complete(exchange, scope, receive)
        finally:
            kind.discard(exchange)
            if not is_stream:
                self._less(scope["path"])
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    def _less(self, path: str) -> None:
        self._by_path[path] -= 1
        if not self._by_path[path]:
            del self._by_path[path]  # strangers make paths up

    def _refusal(self, scope: Scope, *, is_stream: bool) -> Refusal | None:
        path = scope["path"]
        if self.is_closing and not _goes_on(scope):
            return ending()
        if is_stream and len(self._streams) >= self._most_streams:
            text = f"{self._most_streams} clients wait for news here already"
            return Refusal("streams", 503, text, _RETRY_SECONDS)
        if not is_stream and self._is_full(path):
            text = f"{self._most_requests} requests run here already; ask again in a moment"
            return Refusal("requests", 503, text, _RETRY_SECONDS)
        return None

    def _is_full(self, path: str) -> bool:
        here, all_over = self._by_path[path], len(self._requests)
        return here >= self._most_requests or all_over >= self._most_requests * _ENDPOINTS


def ending(request_id: str | int | None = None) -> Refusal:
    """The refusal of a new request while the server ends."""
    return Refusal("ending", 503, _ENDING, _RETRY_SECONDS, request_id)


def _goes_on(scope: Scope) -> bool:
    """Whether a request may belong to one that runs, or ends a session; `sessions.py` looks."""
    if scope["method"] == "DELETE":
        return True
    return scope["method"] == "POST" and any(n == b"mcp-session-id" for n, _ in scope["headers"])


def _is_stream(scope: Scope) -> bool:
    method: str = scope["method"]
    if method != "POST":
        return method == "GET"
    return (b"mcp-method", b"subscriptions/listen") in scope["headers"]


async def _complete(exchange: _Exchange, scope: Scope, receive: Receive) -> None:
    """End the response of a request that was cut off."""
    if exchange.has_ended:
        return
    if not exchange.has_started:
        body = error_body(_ENDING, scope.get(REQUEST_ID))
        response = Response(body, 503, dict(_RETRY_SECONDS), "application/json")
        await response(scope, receive, exchange.send)
        return
    last = b""
    if exchange.is_events and REQUEST_ID in scope:
        error = error_body(_ENDING, scope[REQUEST_ID])
        last = b"event: message\r\ndata: " + error + b"\r\n\r\n"
    await exchange.send({"type": "http.response.body", "body": last, "more_body": False})
