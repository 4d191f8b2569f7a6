"""MCP servers over streamable HTTP, `/mcp` and below, for both generations, behind their edge.

What is answered is in `agent_surface.py`; who may ask, how much, and how it ends, in `edge/`.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.surfaces.edge.edge import Backstage, Edge, EdgeRules
from toolcrib_adapters.surfaces.edge.hosts import HostRules, checked_public_url, is_loopback
from toolcrib_adapters.surfaces.edge.proxies import read_networks
from toolcrib_adapters.surfaces.edge.traffic import MOST_REQUESTS
from toolcrib_adapters.surfaces.endpoint_router import EndpointRouter
from toolcrib_adapters.surfaces.endpoints import MCP_PATH
from toolcrib_adapters.surfaces.interaction.leaving import LeavingClients
from toolcrib_adapters.surfaces.listening import address, listening
from toolcrib_adapters.surfaces.stop_signals import stop_signals
from toolcrib_adapters.surfaces.stream_memory import RETRY_MILLISECONDS, ResumableSessions

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from starlette.types import ASGIApp

    from toolcrib_adapters.surfaces.endpoint_servers import Servers
    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_registry.ports import Clock

IDLE_SECONDS: Final = 1_800.0
"""A session of an older client that has asked nothing for so long is ended."""
MOST_SESSIONS: Final = 2_000
"""How many sessions of older clients are kept; an abandoned one holds about 40 kB until it expires.
"""
MOST_BODY_BYTES: Final = 8 * 1024 * 1024
MOST_HEADER_BYTES: Final = 32 * 1024
DRAIN_SECONDS: Final = 10.0
"""How long running calls may take to finish when the server is told to end."""
_CLOSE_SECONDS: Final = 1
_KEEP_SECONDS: Final = 75
"""Longer than proxies keep connections: one that we close first may just be carrying a request."""
_LONGEST_HEAD: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where and for whom the endpoint is.

    Attributes:
        host: the address to listen on.
        port: where to listen; 0 takes a free one.
        allowed_hosts: names, besides loopback and `host` itself, under which clients may address
            the server (`crib.example.org`, with or without a port); see `edge/hosts.py`.
        allowed_origins: web pages that may use the server (`https://app.example.org`).
        trusted_proxies: addresses and networks whose `X-Forwarded-*` headers are believed.
        public_url: where clients reach the server from outside, or "".
        most_body_bytes: the largest body of a request.
        most_header_bytes: the largest sum of its headers.
        most_requests: how many requests of one endpoint may run at once.
        idle_seconds: see `IDLE_SECONDS`.
        most_sessions: see `MOST_SESSIONS`.
        drain_seconds: see `DRAIN_SECONDS`.
    """

    host: str = "127.0.0.1"
    port: int = 0
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    public_url: str = ""
    most_body_bytes: int = MOST_BODY_BYTES
    most_header_bytes: int = MOST_HEADER_BYTES
    most_requests: int = MOST_REQUESTS
    idle_seconds: float = IDLE_SECONDS
    most_sessions: int = MOST_SESSIONS
    drain_seconds: float = DRAIN_SECONDS

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine come here: no other address, no proxy before it."""
        is_announced = bool(self.allowed_hosts or self.trusted_proxies or self.public_url)
        return is_loopback(self.host) and not is_announced

    @property
    def public_endpoint(self) -> str:
        """Where clients reach the endpoint from outside."""
        return f"{checked_public_url(self.public_url)}{MCP_PATH}"

    def rules(self) -> EdgeRules:
        """What the edge lets in.

        Raises:
            ToolError: `invalid_settings`, naming the entry.
        """
        public_url = checked_public_url(self.public_url) if self.public_url else ""
        return EdgeRules(
            HostRules.of(self.host, self.allowed_hosts, self.allowed_origins, public_url),
            read_networks(self.trusted_proxies),
            self.most_body_bytes,
            self.most_header_bytes,
            self.most_sessions,
            self.idle_seconds,
            self.most_requests,
        )


def build_app(servers: Servers) -> ASGIApp:
    """The ASGI application behind the edge; its lifespan runs the servers."""
    router = EndpointRouter(servers, _manager_of)
    paths = (MCP_PATH, f"{MCP_PATH}/{{endpoint:path}}")
    app = Starlette(
        routes=[Route(path, router) for path in paths], lifespan=lambda _app: router.running()
    )
    return LeavingClients(app)


def _manager_of(server: CribServer) -> StreamableHTTPSessionManager:
    # All of these are the edge's: it knows proxies, evicts instead of refusing, and says what to
    # change.
    kind = ResumableSessions if server.lets_go else StreamableHTTPSessionManager
    server.http_sessions = kind(
        server,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        retry_interval=RETRY_MILLISECONDS,
        session_idle_timeout=None,
        max_request_body_size=sys.maxsize,
        max_sessions=None,
    )
    return server.http_sessions


async def serve_http(
    servers: Servers,
    settings: HttpSettings,
    *,
    backstage: Backstage | None = None,
    clock: Clock | None = None,
    stop: anyio.Event | None = None,
    task_status: anyio.abc.TaskStatus[str] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until told to end.

    Args:
        servers: the servers of the endpoints; a single one is served at `/mcp`.
        settings: where and for whom.
        backstage: what the edge needs of the crib.
        clock: time, by which sessions expire.
        stop: ends it; None listens for SIGTERM and SIGINT (main thread only).
        task_status: gets the endpoint's URL once requests are accepted.

    Raises:
        ToolError: `invalid_settings` if the address cannot be listened on.
    """
    edge = Edge(build_app(servers), settings.rules(), clock or SystemClock(), backstage)
    with listening(settings.host, settings.port) as listener:
        if stop is not None:
            await _serve(edge, settings.drain_seconds, listener, stop, task_status)
            return
        async with stop_signals() as signalled:
            await _serve(edge, settings.drain_seconds, listener, signalled, task_status)


async def _serve(
    edge: Edge,
    drain_seconds: float,
    listener: socket.socket,
    stop: anyio.Event,
    task_status: anyio.abc.TaskStatus[str],
) -> None:
    config = uvicorn.Config(
        edge,
        http="h11",  # httptools, where it happens to be installed, has no limit for headers
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        timeout_keep_alive=_KEEP_SECONDS,
        proxy_headers=False,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
        server_header=False,
    )
    web = _Uvicorn(config)
    async with anyio.create_task_group() as housekeeping:
        housekeeping.start_soon(edge.run)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [listener])
            await web.accepting.wait()
            task_status.started(f"{address(listener)}{MCP_PATH}")
            await stop.wait()
            await edge.drain(drain_seconds)
            web.should_exit = True
        housekeeping.cancel_scope.cancel()


class _Uvicorn(uvicorn.Server):
    """Uvicorn that leaves signals to us and says when it accepts requests."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.accepting = anyio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing: `stop_signals` listens."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting, and say so."""
        await super().startup(sockets)
        self.accepting.set()
