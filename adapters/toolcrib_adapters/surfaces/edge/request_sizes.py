"""How large a request may be, and how long its body may take to come.

Reads the body whole, so that no layer below waits for a client. Who may ask is decided before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.surfaces.edge.refusals import Refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from toolcrib_adapters.surfaces.edge.refusals import Refusals

BODY_SECONDS: Final = 60.0
"""How long a request's body may take."""
MOST_HELD_BYTES: Final = 512 * 1024 * 1024
"""So much may the bodies of all requests in flight hold together."""
_PER_HEADER: Final = 4
"""What separates name, value and the next header on the wire."""


class RequestSizes:
    """A layer that refuses what is too large, and hands on bodies in one piece."""

    def __init__(
        self,
        app: ASGIApp,
        refusals: Refusals,
        *,
        most_body_bytes: int,
        most_header_bytes: int,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._app = app
        self._refusals = refusals
        self._most_body = most_body_bytes
        self._most_header = most_header_bytes
        self._body_seconds = body_seconds
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = scope["headers"]
        if sum(len(name) + len(value) + _PER_HEADER for name, value in headers) > self._most_header:
            await self._refusals.answer(self._headers_too_large(), scope, receive, send)
        elif scope["method"] == "POST":
            await self._with_body(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        declared = next((v for n, v in scope["headers"] if n == b"content-length"), b"0")
        if declared.isdigit() and int(declared) > self._most_body:
            await self._refusals.answer(self._body_too_large(), scope, receive, send)
            return
        body = bytearray()
        try:
            with anyio.move_on_after(self._body_seconds) as patience:
                is_there = await self._read(body, receive)
            refusal = self._refusal(body, in_time=not patience.cancelled_caught)
            if refusal is not None:
                await self._refusals.answer(refusal, scope, receive, send)
            elif is_there:  # else the client left
                await self._app(scope, whole(bytes(body), receive), send)
        finally:
            self._held -= len(body)

    async def _read(self, body: bytearray, receive: Receive) -> bool:
        while len(body) <= self._most_body and self._held <= MOST_HELD_BYTES:
            message = await receive()
            if message["type"] != "http.request":
                return False
            chunk = message.get("body", b"")
            body += chunk
            self._held += len(chunk)
            if not message.get("more_body", False):
                break
        return True

    def _refusal(self, body: bytearray, *, in_time: bool) -> Refusal | None:
        if not in_time:
            text = f"the body of the request did not come within {self._body_seconds:g} s"
            return Refusal("body_time", 408, text)
        if len(body) > self._most_body:
            return self._body_too_large()
        if self._held > MOST_HELD_BYTES:
            text = "the requests in flight hold too much already; ask again in a moment"
            return Refusal("held_bytes", 503, text, {"Retry-After": "2"})
        return None

    def _body_too_large(self) -> Refusal:
        return Refusal(
            "body_size",
            413,
            f"the body of the request is larger than {self._most_body:,} bytes; "
            "`toolcrib serve --body-limit MIB` sets the limit",
        )

    def _headers_too_large(self) -> Refusal:
        text = f"the headers of the request are larger than {self._most_header:,} bytes"
        return Refusal("header_size", 431, text)


def whole(body: bytes, receive: Receive) -> Receive:
    """A `receive` that first gives the body in one piece, then what `receive` gives."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again
