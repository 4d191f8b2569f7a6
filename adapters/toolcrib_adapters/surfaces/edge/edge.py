"""The edge of the HTTP endpoint: all its layers, in order, around the application that answers.

From outside: what proxies say, `/livez`, hosts and origins, `/readyz` and `/metrics`, how many
requests at once, how large they may be, sessions. Each layer is a file of its own.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.surfaces.edge.host_check import HostCheck
from toolcrib_adapters.surfaces.edge.operator_pages import LivePage, OperatorPages
from toolcrib_adapters.surfaces.edge.proxies import TrustedProxies
from toolcrib_adapters.surfaces.edge.readiness import Note, Verdict
from toolcrib_adapters.surfaces.edge.refusals import Refusals
from toolcrib_adapters.surfaces.edge.request_sizes import RequestSizes
from toolcrib_adapters.surfaces.edge.session_ledger import SessionLedger
from toolcrib_adapters.surfaces.edge.sessions import Sessions
from toolcrib_adapters.surfaces.edge.traffic import MOST_REQUESTS, Traffic

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from toolcrib_adapters.surfaces.edge.hosts import HostRules
    from toolcrib_adapters.surfaces.edge.operator_pages import Numbers
    from toolcrib_adapters.surfaces.edge.proxies import Network
    from toolcrib_adapters.surfaces.edge.readiness import Readiness
    from toolcrib_registry.ports import Clock

_log = logging.getLogger(__name__)

_ANSWER_SECONDS: Final = 2.0
"""How long the answers of interrupted calls may take to leave."""


@dataclass(frozen=True, slots=True)
class EdgeRules:
    """What the edge lets in.

    Attributes:
        hosts: names and origins.
        proxies: whose forwarded headers are believed.
        most_body_bytes: the largest body.
        most_header_bytes: the largest sum of headers.
        most_requests: how many requests of one endpoint may run at once.
        most_sessions: how many sessions of older clients are kept.
        idle_seconds: how long one that is left alone is kept.
    """

    hosts: HostRules
    proxies: tuple[Network, ...]
    most_body_bytes: int
    most_header_bytes: int
    most_sessions: int
    idle_seconds: float
    most_requests: int = MOST_REQUESTS


@dataclass(frozen=True, slots=True)
class Backstage:
    """What the edge needs of the crib behind the endpoint.

    Attributes:
        interrupt: ends the calls that run, each with an honest answer.
        readiness: whether requests should come here; None: they should.
        numbers: counts and shows what happens; None: nobody counts.
    """

    interrupt: Callable[[], None] = lambda: None
    readiness: Readiness | None = None
    numbers: Numbers | None = None


class Edge:
    """The application with its layers, and how it ends."""

    def __init__(
        self, app: ASGIApp, rules: EdgeRules, clock: Clock, backstage: Backstage | None = None
    ) -> None:
        self._backstage = backstage or Backstage()
        numbers = self._backstage.numbers
        refusals = Refusals(None if numbers is None else numbers.refused)
        ledger = SessionLedger(most=rules.most_sessions, idle_seconds=rules.idle_seconds)
        self._sessions = Sessions(app, ledger, refusals, clock, idle_seconds=rules.idle_seconds)
        sizes = RequestSizes(
            self._sessions,
            refusals,
            most_body_bytes=rules.most_body_bytes,
            most_header_bytes=rules.most_header_bytes,
        )
        self._traffic = Traffic(sizes, refusals, most_requests=rules.most_requests)
        pages = OperatorPages(self._traffic, self._verdict, numbers)
        self._app = TrustedProxies(LivePage(HostCheck(pages, rules.hosts, refusals)), rules.proxies)
        if numbers is not None:
            numbers.watch("sessions", "Sessions of older clients.", ledger.__len__)
            numbers.watch("requests", "Requests in flight.", lambda: self._traffic.requests)
            numbers.watch("streams", "Clients that wait for news.", lambda: self._traffic.streams)
            numbers.watch("tasks", "Tasks of this process.", lambda: len(anyio.get_running_tasks()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._app(scope, receive, send)

    async def run(self) -> None:
        """Keep house, until cancelled."""
        await self._sessions.run()

    async def drain(self, seconds: float) -> None:
        """Let running requests finish for `seconds`, then answer what is left, and end it."""
        self._traffic.close()
        self._sessions.close()
        with anyio.move_on_after(seconds):
            await self._traffic.idle()
        if self._traffic.requests:
            _log.warning("%d requests did not finish in %g s", self._traffic.requests, seconds)
        # Also without requests: calls may go on whose clients will ask for the answer later.
        self._backstage.interrupt()
        with anyio.move_on_after(_ANSWER_SECONDS):
            await self._traffic.idle()
        with anyio.move_on_after(_ANSWER_SECONDS):
            await self._traffic.end_all()

    async def _verdict(self) -> Verdict:
        is_ending = self._traffic.is_closing
        if self._backstage.readiness is not None:
            return await self._backstage.readiness.verdict(is_ending=is_ending)
        return Verdict((Note("ending", "this crib is ending"),) if is_ending else (), ())
