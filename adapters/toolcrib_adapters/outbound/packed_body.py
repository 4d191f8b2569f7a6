"""Bodies of HTTP answers as they were before they were packed, part by part and never too much.

Pure. A few bytes can unpack to gigabytes: the limit is the reader's, and counts what comes out.
"""

from __future__ import annotations

import zlib
from typing import Final

ACCEPTED: Final = "gzip, deflate"
"""What may be asked for with `Accept-Encoding`."""
_STEP: Final = 1_000_000
_EITHER: Final = 32 + zlib.MAX_WBITS
"""With the header of gzip or of zlib, whichever is there."""


class PackedBodyError(Exception):
    """A body that is not packed as it says."""


class Unpacking:
    """The parts of one body."""

    def __init__(self, encoding: str) -> None:
        """Nothing yet.

        Args:
            encoding: the `Content-Encoding` of the answer.

        Raises:
            PackedBodyError: it is not one that was asked for.
        """
        names = [name.strip() for name in encoding.lower().split(",")]
        packed = [name for name in names if name not in {"", "identity"}]
        if len(packed) > 1 or (packed and packed[0] not in {"gzip", "x-gzip", "deflate"}):
            raise PackedBodyError(f"it is packed as {encoding[:40]!r}, which was not asked for")
        self._packed = bool(packed)
        self._unpacker = zlib.decompressobj(_EITHER)
        # Some servers leave the header out that the name "deflate" stands for.
        self._may_be_raw = packed == ["deflate"]

    def unpacked(self, part: bytes, most: int) -> bytes:
        """What a part unpacks to; one byte more than `most` if it is more than that.

        Raises:
            PackedBodyError: it is not packed as the answer says.
        """
        if not self._packed or not part:
            return part
        try:
            return self._all_of(part, most)
        except zlib.error as error:
            raise PackedBodyError(f"it is not packed as it says ({error})") from error

    def _all_of(self, part: bytes, most: int) -> bytes:
        out, size = [], 0
        while part and size <= most and not self._unpacker.eof:
            piece = self._piece(part, min(_STEP, most + 1 - size))
            part = self._unpacker.unconsumed_tail
            out.append(piece)
            size += len(piece)
        return b"".join(out)

    def _piece(self, part: bytes, most: int) -> bytes:
        may_be_raw, self._may_be_raw = self._may_be_raw, False
        try:
            return self._unpacker.decompress(part, most)
        except zlib.error:
            if not may_be_raw:
                raise
            self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._unpacker.decompress(part, most)
