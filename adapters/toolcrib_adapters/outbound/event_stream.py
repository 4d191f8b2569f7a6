"""Server-sent events, as their bytes arrive.

Pure. Only what a message needs: the kind of an event and its data. Event ids and pauses are for
streams that are resumed, which the stateless generation does not do. Used for answers that are
streams of events.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class LongEventError(Exception):
    """An event that nobody should go on reading."""


@dataclass(slots=True)
class EventStream:
    """The events of one stream.

    Attributes:
        most: how many bytes an event may have.
    """

    most: int
    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0
    _kind: bytes = b""
    _data: list[bytes] = field(default_factory=list)
    _has_begun: bool = False
    _may_be_half: bool = False

    def data_of(self, part: bytes) -> list[bytes]:
        """The data of the messages that `part` completes.

        Raises:
            LongEventError: an event has more than `most` bytes.
        """
        if not part:
            return []
        self._size += len(part)
        if b"\n" not in part and b"\r" not in part:
            self._parts.append(part)
            self._may_be_half = False
            self._check()
            return []
        text = b"".join([*self._parts, part])
        self._parts.clear()
        lines = self._lines(text)
        completed = [data for line in lines if (data := self._event(line)) is not None]
        self._check()
        return completed

    def _check(self) -> None:
        if self._size > self.most:
            raise LongEventError(f"one of its events is longer than {self.most:,} bytes")

    def _lines(self, text: bytes) -> list[bytes]:
        """The whole lines of `text`; what follows the last of them is kept."""
        if not self._has_begun:
            text, self._has_begun = text.removeprefix(b"\xef\xbb\xbf"), True
        if self._may_be_half:
            # The line break that ended the part before goes on here.
            text = text.removeprefix(b"\n")
        self._may_be_half = text.endswith(b"\r")
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        if rest:
            self._parts.append(rest)
        return lines

    def _event(self, line: bytes) -> bytes | None:
        """The data of the event that an empty line ends."""
        if not line:
            kind, data = self._kind, self._data
            self._kind, self._data, self._size = b"", [], sum(map(len, self._parts))
            return b"\n".join(data) if data and kind in {b"", b"message"} else None
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._kind = value
        return None
