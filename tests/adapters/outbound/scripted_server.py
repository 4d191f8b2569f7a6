"""An HTTP server that says word for word what it is told, over a real socket."""

from __future__ import annotations

import re
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import SocketAttribute

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from anyio.abc import ByteStream, SocketStream

LENGTH: Final = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
RESET: Final = b"(reset)"
CLOSE: Final = b"(close)"
"""What can be told besides bytes: how a connection ends."""


class ScriptedServer:
    """Answers request after request with the next of its answers; each is a list of pieces.

    Attributes:
        port: where it listens.
        requests: what it was sent, whole requests.
        connections: how many there were.
    """

    def __init__(self, answers: Sequence[Sequence[bytes]]) -> None:
        self._answers = [*answers]
        self.port = 0
        self.requests: list[bytes] = []
        self.connections = 0
        self.gone = anyio.Event()

    async def serve(self, stream: ByteStream) -> None:
        """One connection."""
        self.connections += 1
        try:
            async with stream:
                while await self._one(stream):
                    pass
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            self.gone.set()

    async def _one(self, stream: ByteStream) -> bool:
        self.requests.append(await _request(stream))
        for piece in self._answers.pop(0):
            if piece == RESET:
                _reset(stream)
                return False
            if piece == CLOSE:
                return False
            await stream.send(piece)
        return True


def _reset(stream: ByteStream) -> None:
    raw = stream.extra(SocketAttribute.raw_socket)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _request(stream: ByteStream) -> bytes:
    heard = b""
    while b"\r\n\r\n" not in heard:
        heard += await stream.receive()
    head, _, body = heard.partition(b"\r\n\r\n")
    length = LENGTH.search(head)
    missing = (int(length.group(1)) if length else 0) - len(body)
    while missing > 0:
        part = await stream.receive()
        heard, missing = heard + part, missing - len(part)
    return heard


@asynccontextmanager
async def scripted(*answers: Sequence[bytes]) -> AsyncIterator[ScriptedServer]:
    """The server, while the block runs."""
    server = ScriptedServer(answers)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server.port = listener.extra(SocketAttribute.local_port)

    async def serve(stream: SocketStream) -> None:
        await server.serve(stream)

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield server
        tasks.cancel_scope.cancel()


def answer(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> bytes:
    """An answer with the length of its body."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body
