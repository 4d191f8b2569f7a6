"""Notices that an older HTTP client left before its answer came.

The SDK cancels a request of 2026-07-28 when its connection closes, but lets one of an older
generation run on for a client that might come back for the answer, which it could only get from an
event store. Only where a source let the stream of its answer go can it be got again
(`stream_memory.py`): otherwise nobody would ever see the answer, so the call is cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolcrib_registry.interruption import Interruption

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PRESENCE: Final = "toolcrib.presence"


@dataclass(slots=True)
class _Presence:
    """Whether the client of a request is there, or will be again."""

    leaving: Interruption = field(default_factory=Interruption)
    comes_back: bool = False


class LeavingClients:
    """A layer that puts an `Interruption` into each request; it begins when the client leaves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        presence = _Presence()

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and not presence.comes_back:
                presence.leaving.begin()
            return message

        await self._app({**scope, _PRESENCE: presence}, watched, send)


def keep_running(request: Request) -> None:
    """Let a call go on although its connection ends: the client was told to come back."""
    presence = request.scope.get(_PRESENCE)
    if isinstance(presence, _Presence):
        presence.comes_back = True


def leaving_of(request: Request | None) -> Interruption:
    """The interruption of a request; one that never begins outside of HTTP."""
    presence = None if request is None else request.scope.get(_PRESENCE)
    return presence.leaving if isinstance(presence, _Presence) else Interruption()
