"""Refuses requests that were not meant for this endpoint, and lets listed web pages read answers.

The rules are in `hosts.py`. Replaces the SDK's own check, which knows no proxies and does not say
what to change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.middleware.cors import CORSMiddleware

from toolcrib_adapters.surfaces.edge.refusals import Refusal, shown

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from toolcrib_adapters.surfaces.edge.hosts import HostRules
    from toolcrib_adapters.surfaces.edge.refusals import Refusals

_PREFLIGHT_SECONDS: Final = 600


class HostCheck:
    """A layer that admits requests by Host and Origin."""

    def __init__(self, app: ASGIApp, rules: HostRules, refusals: Refusals) -> None:
        self._app = app
        self._for_pages = _ListedPages(app, rules)
        self._rules = rules
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = origin = ""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.decode("latin-1")
            elif name == b"origin":
                origin = value.decode("latin-1")
        refusal = self._refusal(host, origin, scope)
        if refusal is not None:
            await self._refusals.answer(refusal, scope, receive, send)
        elif origin and self._rules.listed_origins.admit(origin):
            await self._for_pages(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, host: str, origin: str, scope: Scope) -> Refusal | None:
        server = scope.get("server")
        if not self._rules.admit_host(host, server[0] if server else ""):
            return Refusal(
                "host",
                421,
                f"the Host {shown(host)} is not a name of this crib; if clients should reach it "
                "under that name, serve with --allowed-host NAME (behind a proxy also with "
                "--trusted-proxy ADDRESS)",
            )
        if origin and not self._rules.admit_origin(origin):
            return Refusal(
                "origin",
                403,
                f"the Origin {shown(origin)} may not use this crib; if pages of that origin "
                "should, serve with --allowed-origin ORIGIN",
            )
        return None


class _ListedPages(CORSMiddleware):
    """Answers of browsers' preflights for origins that an operator listed."""

    def __init__(self, app: ASGIApp, rules: HostRules) -> None:
        super().__init__(
            app,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            expose_headers=("Mcp-Session-Id", "Retry-After"),
            max_age=_PREFLIGHT_SECONDS,
        )
        self._rules = rules

    def is_allowed_origin(self, origin: str) -> bool:
        """Whether a page of `origin` may read our answers."""
        return self._rules.listed_origins.admit(origin)
