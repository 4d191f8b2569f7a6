"""The messages of one connection: each request's id kept apart, and no more than can be held.

What is no message is told so: its client would wait for an answer. For transports that carry many
requests on one pair of streams (standard streams, sockets); over HTTP `edge/sessions.py` does the
same. The rules for ids are in `request_ids.py`.
"""

from __future__ import annotations

import json
import logging
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

from toolcrib_adapters.surfaces.request_ids import RequestIds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.shared._stream_protocols import ReadStream, WriteStream

    Read = ReadStream[SessionMessage | Exception]
    Write = WriteStream[SessionMessage]

_log = logging.getLogger(__name__)

MOST_REQUESTS: Final = 100
"""So many requests of one connection may run at once, as over HTTP; their answers wait here, too,
while the client does not read them."""
_NO_MESSAGE: Final = "{}"
_ODD_ID: Final = re.compile(r'"id"\s*:(?!\s*(?:["n]|-?\d+\s*[,}]))')
_LAST_WORDS_SECONDS: Final = 2.0
_CANCELLED: Final = "notifications/cancelled"


def request_line(line: str) -> str:
    """The line; of a request whose id is neither text nor a whole number, one that is no message.

    The SDK takes such a request for a notification and never answers it.
    """
    if _ODD_ID.search(line) is None:
        return line
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(message, dict) or message.keys().isdisjoint({"method"}):
        return line
    return line if type(message.get("id")) in {str, int, type(None)} else _NO_MESSAGE


class CheckedStreams:
    """Both directions of a connection; `in_flight` knows when all is answered."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._ids = RequestIds()
        self._changed = anyio.Event()

    @property
    def in_flight(self) -> int:
        """How many requests are not answered yet."""
        return len(self._ids)

    async def idle(self) -> None:
        """Return as soon as every request is answered."""
        while self._ids:
            await self._changed.wait()

    async def incoming(self, item: SessionMessage | Exception) -> SessionMessage | Exception | None:
        """What the server should get; None if it was refused here."""
        if isinstance(item, Exception):
            await self._refuse_line(item)
            return None
        message = item.message
        if isinstance(message, JSONRPCRequest):
            if len(self._ids) >= MOST_REQUESTS:
                text = f"{MOST_REQUESTS} requests of this connection run already; wait for answers"
                await self._say(INVALID_REQUEST, text, message.id)
                return None
            inner = self._ids.admit(message.id)
            if inner is None:
                await self._refuse(message)
                return None
            if inner != message.id:
                item.message = message.model_copy(update={"id": inner})
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            item.message = self._cancelled(message)
        return item

    async def outgoing(self, item: SessionMessage) -> None:
        """Send what the server says."""
        message = item.message
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id is None:
            await self._write.send(item)
            return
        outer = self._ids.outer(message.id)
        if outer != message.id:
            item.message = message.model_copy(update={"id": outer})
        # Before it is sent: its client may use the id again as soon as it has the answer.
        self._release(message.id, is_answered=True)
        await self._write.send(item)

    def _release(self, inner: str | int, *, is_answered: bool) -> None:
        self._ids.release(inner, is_answered=is_answered)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def _refuse(self, request: JSONRPCRequest) -> None:
        text = (
            f"a request with the id {request.id!r} still runs on this connection; use an id again "
            f"only after its answer came ({request.method!r} was not carried out)"
        )
        _log.warning("refused a request: %s", text)
        # Without the id: with it, the client would take this for the first request's answer.
        await self._say(INVALID_REQUEST, text, None)

    async def _refuse_line(self, fault: Exception) -> None:
        """Say that a line is no message; whose request it was to be cannot be known."""
        if not isinstance(fault, ValidationError):
            _log.error("the connection is at fault: %s", fault)
            return
        error = fault.errors(include_url=False, include_context=False)[0]
        if error["type"] != "json_invalid":
            text = "a line is no JSON-RPC message; the id of a request is text or a whole number"
            await self._say(INVALID_REQUEST, text, None)
        elif str(error["input"]).strip():
            await self._say(PARSE_ERROR, f"a line is not JSON: {error['msg']}", None)

    async def _say(self, code: int, text: str, request_id: str | int | None) -> None:
        error = ErrorData(code=code, message=text)
        refusal = JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
        await self._write.send(SessionMessage(refusal))

    def _cancelled(self, notice: JSONRPCNotification) -> JSONRPCNotification:
        params: dict[str, Any] = dict(notice.params or {})
        request_id = params.get("requestId")
        if isinstance(request_id, str | int):
            inner = self._ids.inner(request_id)
            params["requestId"] = inner
            # A cancelled request is not answered, so this is the last that is heard of it.
            self._release(inner, is_answered=False)
        return notice.model_copy(update={"params": params})


@asynccontextmanager
async def checked_streams(
    read: Read, write: Write
) -> AsyncIterator[tuple[Read, Write, CheckedStreams]]:
    """Streams for `Server.run` in front of the streams of a transport."""
    checked = CheckedStreams(write)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    from_server, to_client = anyio.create_memory_object_stream[SessionMessage](0)

    async def inwards() -> None:
        async with to_server:
            async for item in read:
                wanted = await checked.incoming(item)
                if wanted is not None:
                    await to_server.send(wanted)

    said_all = anyio.Event()

    async def outwards() -> None:
        async with to_client, write:
            async for item in to_client:
                await checked.outgoing(item)
        said_all.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(inwards)
        tasks.start_soon(outwards)
        yield from_client, from_server, checked
        from_server.close()
        with anyio.move_on_after(_LAST_WORDS_SECONDS):
            await said_all.wait()
        tasks.cancel_scope.cancel()
