"""A response whose body ends at a limit, counted after decompression.

The SDK reads an answer that is no event stream into memory as a whole, however long it is. Here one
that is too long, or that cannot be decompressed, becomes an error which the SDK takes for an answer
that cannot be read: it fails its own request. Event streams are not meant: they may go on for ever,
and have a limit for each event. Used by `http_client`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import httpx2

from toolcrib_adapters.sources.mcp_upstream.stdio_messages import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class UnreadableBodyError(httpx2.StreamError):
    """A body that nobody should go on reading."""


class BoundedResponse(httpx2.Response):
    """A response of which no more than `LONGEST_LINE` bytes are read."""

    @classmethod
    def of(cls, response: httpx2.Response) -> httpx2.Response:
        """The same response with a limit, unless it is a stream of events."""
        if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            return response
        bounded = cls(
            response.status_code,
            headers=response.headers,
            stream=response.stream,
            request=response.request,
            extensions=response.extensions,
            history=response.history,
        )
        bounded.next_request = response.next_request
        return bounded

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        """The decompressed body.

        Raises:
            UnreadableBodyError: it is too long, or is not compressed as it says.
        """
        if self.next_request is not None:
            # The SDK empties a redirect before it follows it, and expects no error there.
            return
        try:
            async with aclosing(self._limited(chunk_size)) as parts:
                async for part in parts:
                    yield part
        except httpx2.DecodingError as error:
            raise UnreadableBodyError(str(error)) from error

    async def _limited(self, chunk_size: int | None) -> AsyncGenerator[bytes, None]:
        size = 0
        async with aclosing(super().aiter_bytes(chunk_size)) as parts:
            async for part in parts:
                size += len(part)
                if size > LONGEST_LINE:
                    text = f"it is longer than {LONGEST_LINE:,} bytes"
                    raise UnreadableBodyError(text)
                yield part
