"""One answer of an HTTP/1.1 server, as it arrives: status, headers, and the parts of its body.

The parsing itself is httptools' (Node's parser, strict); here are the limits it does not have, and
what it leaves to its user: interim answers, and bodies that end with the connection. Does no I/O;
used by `http_connection`.
"""

from __future__ import annotations

from typing import Final

import httptools

LONGEST_HEAD: Final = 100_000
"""How many bytes may come before the body begins."""
_INTERIM: Final = range(100, 200)
_SWITCHING: Final = 101


class OddAnswerError(Exception):
    """What came is no HTTP/1.1 answer, or is more than one."""


class HttpAnswer:
    """An answer that is fed with what the connection brings.

    Attributes:
        status: the HTTP status; 0 until it is there.
        headers: by names in lower case, repeated ones joined.
        has_head: whether status and headers are complete.
        is_whole: whether all of it has come.
        has_begun: whether anything has come.
    """

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._before_body = 0
        self._is_overfed = False
        self._stays = False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.has_head = False
        self.is_whole = False
        self.has_begun = False

    def feed(self, data: bytes) -> None:
        """Take what came next.

        Raises:
            OddAnswerError: it is no answer.
        """
        self.has_begun = True
        if not self.has_head:
            self._before_body += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            # Something behind a whole answer is the connection's fault, not the answer's.
            self._is_overfed = True
            if not self.is_whole:
                raise OddAnswerError(f"its answer is not HTTP/1.1 ({error})") from error
        if self.status == _SWITCHING:
            raise OddAnswerError("its answer is not HTTP/1.1 (it goes on in another protocol)")
        if not self.has_head and self._before_body > LONGEST_HEAD:
            raise OddAnswerError(
                f"the headers of its answer are longer than {LONGEST_HEAD:,} bytes"
            )

    def end(self) -> bool:
        """The connection has ended; whether the answer is whole."""
        if self.has_head and not self.is_whole and self._ends_with_connection:
            self.is_whole = self._is_overfed = True
        return self.is_whole

    @property
    def _ends_with_connection(self) -> bool:
        is_chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        return not is_chunked and "content-length" not in self.headers

    def taken(self) -> bytes:
        """What came of the body since the last time."""
        if not self._parts:
            return b""
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def leaves_connection(self) -> bool:
        """Whether the connection can carry another request."""
        return self.is_whole and not self._is_overfed and self._stays

    # What follows is called by the parser.

    def on_message_begin(self) -> None:
        """An answer begins; a second one behind the first was not asked for."""
        self._is_overfed = self._is_overfed or self.is_whole

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; trailers are nobody's business."""
        if self.has_head:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self.headers.get(key)
        self.headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        """The head is complete, unless it only says that the answer comes later."""
        if self.is_whole:
            return
        status = self._parser.get_status_code()
        if status in _INTERIM and status != _SWITCHING:
            self.headers = {}
            return
        self.status, self.has_head = status, True

    def on_body(self, part: bytes) -> None:
        """A part of the body."""
        if not self.is_whole:
            self._parts.append(part)

    def on_message_complete(self) -> None:
        """The end of the body."""
        if self.has_head and not self.is_whole:
            # A moment later the parser has forgotten what the headers said.
            self.is_whole, self._stays = True, self._parser.should_keep_alive()
