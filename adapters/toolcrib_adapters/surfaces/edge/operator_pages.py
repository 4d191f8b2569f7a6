"""What operators and their machines look at: `/livez`, `/readyz`, `/metrics`.

`/livez` answers whoever asks; the others are behind the check of hosts, like everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from starlette.responses import JSONResponse, PlainTextResponse, Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from toolcrib_adapters.surfaces.edge.readiness import Verdict

LIVE_PATH: Final = "/livez"
READY_PATH: Final = "/readyz"
METRICS_PATH: Final = "/metrics"


class Numbers(Protocol):
    """What counts, and writes the counts down."""

    content_type: str
    """Of the page."""

    def refused(self, reason: str) -> None:
        """Count a request that was turned away."""
        ...

    def watch(self, name: str, text: str, value: Callable[[], int]) -> None:
        """Show `value()` whenever the numbers are read."""
        ...

    def page(self) -> bytes:
        """All numbers."""
        ...


class LivePage:
    """A layer that says that the process serves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"] == LIVE_PATH:
            await PlainTextResponse("ok")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class OperatorPages:
    """A layer that answers the other pages."""

    def __init__(
        self,
        app: ASGIApp,
        verdict: Callable[[], Awaitable[Verdict]],
        numbers: Numbers | None,
    ) -> None:
        """Pages in front of `app`.

        Args:
            app: what answers everything else.
            verdict: whether the crib is ready.
            numbers: what `/metrics` shows; None has no such page.
        """
        self._app = app
        self._verdict = verdict
        self._numbers = numbers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"] == READY_PATH:
            verdict = await self._verdict()
            page: Response = JSONResponse(verdict.as_json(), 200 if verdict.is_ready else 503)
            page.headers["cache-control"] = "no-store"
            await page(scope, receive, send)
        elif (
            self._numbers is not None and scope["type"] == "http" and scope["path"] == METRICS_PATH
        ):
            headers = {"content-type": self._numbers.content_type}
            await Response(self._numbers.page(), headers=headers)(scope, receive, send)
        else:
            await self._app(scope, receive, send)
