"""Notices that an older HTTP client left before its answer came.

The SDK cancels a request of 2026-07-28 when its connection closes, but lets one of an older
generation run on for a client that might come back for the answer, which it could only get from an
event store. There is none here: nobody would ever see the answer, so the call is cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_registry.interruption import Interruption

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LEAVING: Final = "toolcrib.leaving"


class LeavingClients:
    """A layer that puts an `Interruption` into each request; it begins when the client leaves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        leaving = Interruption()

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                leaving.begin()
            return message

        await self._app({**scope, _LEAVING: leaving}, watched, send)


def leaving_of(request: Request | None) -> Interruption:
    """The interruption of a request; one that never begins outside of HTTP."""
    found = None if request is None else request.scope.get(_LEAVING)
    return found if isinstance(found, Interruption) else Interruption()
