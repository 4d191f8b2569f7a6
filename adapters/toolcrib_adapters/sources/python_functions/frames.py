"""Messages between the crib and a worker process: four bytes of length, then JSON.

Pure; both halves use it. Numbers keep their digits, because Python's JSON reads integers exactly.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import JsonObject

_HEADER: Final = struct.Struct(">I")
SYNC_LANE: Final = "sync"
"""A worker that runs one sync function at a time."""
ASYNC_LANE: Final = "async"
"""A worker that runs async functions together."""
LARGEST_FRAME_BYTES: Final = 64 * 1024 * 1024


class FrameError(Exception):
    """What came is not a frame, or what should go is too large for one."""


def packed(message: JsonObject) -> bytes:
    """The bytes of one message.

    Raises:
        FrameError: it is too large.
        ValueError: it holds what JSON cannot write (NaN).
    """
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(body) > LARGEST_FRAME_BYTES:
        raise FrameError(
            f"{len(body)} bytes are more than the {LARGEST_FRAME_BYTES} that are allowed"
        )
    return _HEADER.pack(len(body)) + body


class FrameReader:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> Iterator[JsonObject]:
        """The messages that are complete now.

        Raises:
            FrameError: the stream is not made of frames; it cannot be read any further.
        """
        self._buffer += chunk
        while len(self._buffer) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._buffer)
            if length > LARGEST_FRAME_BYTES:
                raise FrameError("the stream does not hold a frame")
            end = _HEADER.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEADER.size : end])
            del self._buffer[:end]
            yield _message(body)


def _message(body: bytes) -> JsonObject:
    try:
        message = json.loads(body)
    except ValueError as error:
        raise FrameError("a frame does not hold JSON") from error
    if not isinstance(message, dict):
        raise FrameError("a frame does not hold an object")
    return message
