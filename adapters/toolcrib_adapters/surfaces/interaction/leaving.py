"""Notices that an older HTTP client left before its answer came.

The SDK cancels a request of 2026-07-28 when its connection closes, but lets one of an older
generation run on for a client that might come back for the answer, which it could only get from an
event store. There is none here: nobody would ever see the answer, so the call is cancelled.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LEAVING: Final = "toolcrib.leaving"


class Leaving:
    """Scopes that end when the client of one request leaves."""

    def __init__(self) -> None:
        self._scopes: set[anyio.CancelScope] = set()

    @contextmanager
    def cancels(self) -> Iterator[anyio.CancelScope]:
        """A scope that is cancelled, without an exception, when the client leaves."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield scope
            finally:
                self._scopes.discard(scope)

    def left(self) -> None:
        """The client has left."""
        for scope in tuple(self._scopes):
            scope.cancel()


class LeavingClients:
    """A layer that puts a `Leaving` into each request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        leaving = Leaving()

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                leaving.left()
            return message

        await self._app({**scope, _LEAVING: leaving}, watched, send)


def leaving_of(request: Request | None) -> Leaving:
    """The `Leaving` of a request; one that nothing ends outside of HTTP."""
    found = None if request is None else request.scope.get(_LEAVING)
    return found if isinstance(found, Leaving) else Leaving()
