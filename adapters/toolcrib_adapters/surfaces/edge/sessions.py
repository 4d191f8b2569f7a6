"""Keeps the sessions of older clients within bounds, and their requests apart.

A layer that watches sessions open, be used and end; sessions beyond the ceiling make the oldest
idle one end, and those left alone expire. It ends a session the way a client does, with a DELETE,
so nothing here knows what a session holds.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from toolcrib_adapters.surfaces.edge.refusals import Refusal, shown
from toolcrib_adapters.surfaces.edge.request_sizes import whole
from toolcrib_adapters.surfaces.edge.session_ledger import MOST_SESSION_REQUESTS, Session
from toolcrib_adapters.surfaces.edge.traffic import REQUEST_ID, ending

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from toolcrib_adapters.surfaces.edge.refusals import Refusals
    from toolcrib_adapters.surfaces.edge.session_ledger import SessionLedger
    from toolcrib_adapters.surfaces.request_ids import RequestIds
    from toolcrib_registry.ports import Clock

_log = logging.getLogger(__name__)

_FAILED: Final = 400
_OUTCOMES: Final = (b',"result":', b',"error":')
"""What follows the id in an answer; a request of the server's own has an id, too."""
_NOT_FOUND: Final = 404
_END_SECONDS: Final = 5.0
_SWEEPS_PER_IDLE_TIME: Final = 8
_LONGEST_SWEEP_SECONDS: Final = 30.0
_RETRY: Final = {"Retry-After": "2"}


class Sessions:
    """The layer; `run` is its sweeper."""

    def __init__(
        self,
        app: ASGIApp,
        ledger: SessionLedger,
        refusals: Refusals,
        clock: Clock,
        *,
        idle_seconds: float,
    ) -> None:
        self._app = app
        self._ledger = ledger
        self._refusals = refusals
        self._clock = clock
        self._is_closing = False
        self._sweep_seconds = min(_LONGEST_SWEEP_SECONDS, idle_seconds / _SWEEPS_PER_IDLE_TIME)

    async def run(self) -> None:
        """End sessions whose time is over, until cancelled."""
        while True:
            await self._clock.sleep(self._sweep_seconds)
            for session in self._ledger.expired(self._clock.monotonic()):
                await self._end(session)

    def close(self) -> None:
        """Take no new requests; answers and notifications for those that run still pass."""
        self._is_closing = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # `/mcp` and `/mcp/` are one endpoint.
        path = scope["path"].rstrip("/")
        version = session_id = None
        for name, value in scope["headers"]:
            if name == b"mcp-protocol-version":
                version = value.decode("latin-1")
            elif name == b"mcp-session-id":
                session_id = value.decode("latin-1")
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._app(scope, receive, send)
        elif session_id is not None:
            session = self._ledger.find(path, session_id)
            await self._in_session(session, scope, receive, send)
        elif scope["method"] == "POST":
            await self._opening(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _opening(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = self._ledger.reserve()
        if place is None:
            text = "every session of this crib is busy; ask again in a moment"
            refusal = Refusal("sessions", 503, text, _RETRY)
            await self._refusals.answer(refusal, scope, receive, send)
            return
        opened: list[Session] = []
        try:
            if isinstance(place, Session):
                _log.info("ended the oldest idle session to make room for a new one")
                await self._end(place)
            await self._open(opened, scope, receive, send)
        finally:
            if not opened:
                self._ledger.release()

    async def _open(
        self, opened: list[Session], scope: Scope, receive: Receive, send: Send
    ) -> None:

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < _FAILED:
                session_id = _session_id(message)
                if session_id is not None:
                    now = self._clock.monotonic()
                    path = scope["path"].rstrip("/")
                    session = self._ledger.opened(path, session_id, now)
                    session.requests += 1
                    opened.append(session)
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            for session in opened:
                session.requests -= 1
                session.used = self._clock.monotonic()

    async def _in_session(
        self, session: Session | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if session is None:
            await self._app(scope, receive, send)
            return
        watch = partial(self._watch, session, scope["method"], send)
        if scope["method"] != "POST":
            session.streams += 1
            try:
                await self._app(scope, receive, watch)
            finally:
                session.streams -= 1
                session.used = self._clock.monotonic()
            return
        if session.requests >= MOST_SESSION_REQUESTS:
            text = f"{session.requests} requests of this session run already"
            refusal = Refusal("session_requests", 429, text, _RETRY)
            await self._refusals.answer(refusal, scope, receive, send)
            return
        session.requests += 1
        try:
            await self._post(session, scope, receive, watch)
        finally:
            session.requests -= 1
            session.used = self._clock.monotonic()

    async def _watch(self, session: Session, method: str, send: Send, message: Message) -> None:
        if message["type"] == "http.response.start":
            status = message["status"]
            if status == _NOT_FOUND or (method == "DELETE" and status < _FAILED):
                self._ledger.forget(session)
        await send(message)

    async def _post(self, session: Session, scope: Scope, receive: Receive, send: Send) -> None:
        first = await receive()
        body = first.get("body", b"")
        message = _message(body)
        request_id = message.get("id")
        if "method" in message and type(request_id) in {str, int}:
            await self._request(session, message, body, (scope, receive, send))
            return
        if message.get("method") == "notifications/cancelled":
            body = _cancelled(session, message, body)
        await self._app(scope, whole(body, receive), send)

    async def _request(
        self,
        session: Session,
        message: dict[str, object],
        body: bytes,
        exchange: tuple[Scope, Receive, Send],
    ) -> None:
        scope, receive, send = exchange
        request_id = message["id"]
        assert isinstance(request_id, str | int)  # noqa: S101 - for the type: the caller looked
        if self._is_closing:
            await self._refusals.answer(ending(request_id), scope, receive, send)
            return
        inner = session.ids.admit(request_id)
        if inner is None:
            text = (
                f"a request with the id {shown(str(request_id))} of this session still runs; use "
                "an id again only after its answer came (and a session for one client alone)"
            )
            refusal = Refusal("duplicate_id", 409, text, request_id=request_id)
            await self._refusals.answer(refusal, scope, receive, send)
            return
        scope[REQUEST_ID] = request_id
        answer = _Answer(send, inner, request_id, session.ids)
        if inner != request_id:
            body = json.dumps({**message, "id": inner}).encode()
        try:
            await self._app(scope, whole(body, receive), answer)
        finally:
            session.ids.release(inner, is_answered=answer.has_come)

    async def _end(self, session: Session) -> None:
        """End a session as its client would."""
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "DELETE",
            "scheme": "http",
            "path": session.path,
            "raw_path": session.path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [
                (b"host", b"localhost"),
                (b"mcp-session-id", session.id.encode("latin-1")),
            ],
            "client": None,
            "server": None,
        }
        with anyio.move_on_after(_END_SECONDS):
            try:
                await self._app(scope, whole(b"", _gone), _unheard)
            except Exception:  # noqa: BLE001 - the border of the sweeper: one session must not end it
                _log.exception("a session could not be ended")


class _Answer:
    """The response to a request; the request's own id is put back into it.

    Attributes:
        has_come: whether the answer was in it: a stream may also end before that, and the request
            runs on.
    """

    def __init__(self, send: Send, inner: str | int, outer: str | int, ids: RequestIds) -> None:
        self._send = send
        self._id = inner
        self._ids = ids
        self._inner = _marker(inner)
        self._outer = _marker(outer)
        self.has_come = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_come = message["status"] >= _FAILED
        else:
            body = message.get("body", b"")
            if any(self._inner + outcome in body for outcome in _OUTCOMES):
                self.has_come = True
                # Before it is sent: its client may ask again with this id as soon as it has it,
                # while the end of this stream is still on its way through the layers.
                self._ids.answered(self._id)
                if self._inner != self._outer:
                    message = {**message, "body": body.replace(self._inner, self._outer, 1)}
        await self._send(message)


def _marker(request_id: str | int) -> bytes:
    """How the SDK starts the answer to a request."""
    return b'{"jsonrpc":"2.0","id":' + json.dumps(request_id, ensure_ascii=False).encode()


def _message(body: bytes) -> dict[str, object]:
    """The JSON-RPC message of a body; an empty one if it is none, which the SDK will say."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _cancelled(session: Session, message: dict[str, object], body: bytes) -> bytes:
    """The cancellation of a request, by the id that the request went on with."""
    params = message.get("params")
    request_id = params.get("requestId") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(request_id, str | int):
        return body
    inner = session.ids.inner(request_id)
    if inner == request_id:
        return body
    return json.dumps({**message, "params": {**params, "requestId": inner}}).encode()


def _session_id(start: Message) -> str | None:
    for name, value in start["headers"]:
        if name.lower() == b"mcp-session-id":
            return str(value.decode("latin-1"))
    return None


async def _gone() -> Message:
    return {"type": "http.disconnect"}


async def _unheard(_message: Message) -> None:
    return None
