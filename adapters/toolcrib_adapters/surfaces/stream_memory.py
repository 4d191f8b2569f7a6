"""What an older HTTP client comes back for: an answer whose stream its source has let go.

A source may end the stream of an answer that takes long, and send the rest when it is asked for
again (revision 2025-11-25). Where toolcrib stands in for that source it does the same to its own
client. Kept are the newest messages of requests that run and, after their end, only those of
streams that were let go, in bounds. A stream that breaks was not let go: its call is cancelled.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from mcp.server.streamable_http import EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCError, JSONRPCResponse

from toolcrib_adapters.surfaces.interaction.leaving import keep_running

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http import EventCallback
    from mcp_types import JSONRPCMessage
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

RETRY_MILLISECONDS: Final = 1_000
"""When a client that was let go should come back."""
_MOST_STREAMS: Final = 100
_MOST_EVENTS: Final = 32
_SESSIONS: Final = "toolcrib.sessions"
_SESSION_HEADER: Final = "mcp-session-id"


@dataclass(slots=True)
class _Stream:
    """One stream: what its event ids begin with, and its newest events by number."""

    name: str = field(default_factory=lambda: uuid4().hex)
    events: deque[tuple[int, JSONRPCMessage | None]] = field(
        default_factory=lambda: deque(maxlen=_MOST_EVENTS)
    )
    is_let_go: bool = False


class StreamMemory(EventStore):
    """The streams of one session."""

    def __init__(self) -> None:
        self._streams: OrderedDict[str, _Stream] = OrderedDict()
        self._number = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Remember an event; its id."""
        stream = self._streams.get(stream_id)
        if stream is None:
            if len(self._streams) >= _MOST_STREAMS:
                self._streams.popitem(last=False)
            stream = self._streams[stream_id] = _Stream()
        self._number += 1
        stream.events.append((self._number, message))
        if isinstance(message, JSONRPCResponse | JSONRPCError) and not stream.is_let_go:
            # It goes out on the stream that is open; nobody comes back for it.
            del self._streams[stream_id]
        return f"{stream.name}-{self._number}"

    def let_go(self, stream_id: str) -> None:
        """The stream is about to be closed; its client will come back."""
        stream = self._streams.get(stream_id)
        if stream is not None:
            stream.is_let_go = True

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send again what came after an event; its stream, or None if that is not known."""
        name, _, number = last_event_id.rpartition("-")
        for stream_id, stream in tuple(self._streams.items()):
            if stream.name != name or not number.isdecimal():
                continue
            for seen, message in tuple(stream.events):
                if seen > int(number) and message is not None:
                    await send_callback(EventMessage(message, f"{name}-{seen}"))
                    if isinstance(message, JSONRPCResponse | JSONRPCError):
                        self._streams.pop(stream_id, None)
            return stream_id
        return None


class ResumableSessions(StreamableHTTPSessionManager):
    """The SDK's sessions, each with a memory of its own: request ids repeat between sessions."""

    @property
    def event_store(self) -> EventStore | None:
        """The memory of a session that is being opened."""
        return StreamMemory()

    @event_store.setter
    def event_store(self, _fixed: Any) -> None:
        """Nothing: there is none for all."""

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that can find its way back to these sessions."""
        await super().handle_request({**scope, _SESSIONS: self}, receive, send)

    def memory_of(self, request: Request) -> StreamMemory | None:
        """The memory of the session that a request belongs to."""
        session = self._server_instances.get(request.headers.get(_SESSION_HEADER, ""))
        memory = session._event_store if session is not None else None  # noqa: SLF001
        return memory if isinstance(memory, StreamMemory) else None


def letting_go_of(ctx: ServerRequestContext[Any, Any]) -> Callable[[], Awaitable[None]] | None:
    """What ends the stream of a request whose call goes on; None if the client cannot resume."""
    close, request = ctx.close_sse_stream, ctx.request
    sessions = None if request is None else request.scope.get(_SESSIONS)
    if close is None or request is None or not isinstance(sessions, ResumableSessions):
        return None
    memory = sessions.memory_of(request)
    if memory is None:
        return None

    async def let_go() -> None:
        memory.let_go(str(ctx.request_id))
        keep_running(request)
        await close()

    return let_go
