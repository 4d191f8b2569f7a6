"""The MCP server over streamable HTTP: `/mcp` for both protocol generations, and `/livez`.

Ends gracefully: no new work, running calls get a bounded time, streams that only wait are closed.
What is answered is in `agent_surface.py`.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from toolcrib_adapters.surfaces.stop_signals import stop_signals
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from toolcrib_adapters.surfaces.mcp_server import CribServer

MCP_PATH: Final = "/mcp"
IDLE_SECONDS: Final = 1_800.0
"""A session of an older client that has asked nothing for so long is ended."""
MOST_SESSIONS: Final = 2_000
"""How many sessions of older clients are kept; an abandoned one holds about 40 kB until it expires.
"""
MOST_REQUEST_BYTES: Final = 8 * 1024 * 1024
DRAIN_SECONDS: Final = 10.0
"""How long running calls may take to finish when the server is told to end."""
_CLOSE_SECONDS: Final = 1
_BACKLOG: Final = 512
_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where and for whom the endpoint is.

    Attributes:
        host: the address to listen on.
        port: where to listen; 0 takes a free one.
        allowed_hosts: names, besides loopback and `host` itself, under which clients may address
            the server (`crib.example.org`, with or without a port); protection against DNS
            rebinding.
        idle_seconds: see `IDLE_SECONDS`.
        most_sessions: see `MOST_SESSIONS`.
        drain_seconds: see `DRAIN_SECONDS`.
    """

    host: str = "127.0.0.1"
    port: int = 0
    allowed_hosts: tuple[str, ...] = ()
    idle_seconds: float = IDLE_SECONDS
    most_sessions: int = MOST_SESSIONS
    drain_seconds: float = DRAIN_SECONDS


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def build_app(server: CribServer, settings: HttpSettings) -> ASGIApp:
    """The ASGI application of the endpoint; its lifespan runs the server."""
    return server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        max_request_body_size=MOST_REQUEST_BYTES,
        session_idle_timeout=settings.idle_seconds,
        max_sessions=settings.most_sessions,
        transport_security=_security(settings),
        custom_starlette_routes=[Route("/livez", _livez)],
    )


async def serve_http(
    server: CribServer,
    settings: HttpSettings,
    *,
    stop: anyio.Event | None = None,
    task_status: anyio.abc.TaskStatus[str] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until told to end.

    Args:
        server: what to serve.
        settings: where.
        stop: ends it; None listens for SIGTERM and SIGINT (main thread only).
        task_status: gets the endpoint's URL once requests are accepted.

    Raises:
        ToolError: `invalid_settings` if the address cannot be listened on.
    """
    with _listening(settings) as listener:
        if stop is not None:
            await _serve(server, settings, listener, stop, task_status)
            return
        async with stop_signals() as signalled:
            await _serve(server, settings, listener, signalled, task_status)


async def _serve(
    server: CribServer,
    settings: HttpSettings,
    listener: socket.socket,
    stop: anyio.Event,
    task_status: anyio.abc.TaskStatus[str],
) -> None:
    gate = _Gate(build_app(server, settings))
    config = uvicorn.Config(
        gate,
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_CLOSE_SECONDS,
        server_header=False,
    )
    web = _Uvicorn(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(web.serve, [listener])
        await web.accepting.wait()
        task_status.started(_url(listener))
        await stop.wait()
        gate.is_closing = True
        with anyio.move_on_after(settings.drain_seconds):
            await gate.idle()
        web.should_exit = True


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


class _Gate:
    """Counts running requests, and refuses new ones while the server ends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running = 0
        self._none_running = anyio.Event()
        self.is_closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A GET is a stream that waits for news: nothing is lost when it ends.
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        if self.is_closing:
            refusal = PlainTextResponse(
                "this server is ending; try again in a moment", 503, {"Retry-After": "2"}
            )
            await refusal(scope, receive, send)
            return
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1
            if self._running == 0:
                self._none_running.set()
                self._none_running = anyio.Event()

    async def idle(self) -> None:
        """Return as soon as no request runs."""
        while self._running:
            await self._none_running.wait()


async def _livez(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("ok")


def _security(settings: HttpSettings) -> TransportSecuritySettings:
    names = dict.fromkeys([*_LOOPBACK_NAMES, settings.host, *settings.allowed_hosts])
    hosts = [form for name in names for form in _with_any_port(name)]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def _with_any_port(name: str) -> Sequence[str]:
    has_port = name.rpartition(":")[2].isdigit() and not name.endswith("]")
    return (name,) if has_port else (name, f"{name}:*")


@contextmanager
def _listening(settings: HttpSettings) -> Iterator[socket.socket]:
    """A listening socket, bound before anything else starts: a taken port is told at once."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host.strip("[]"),
            settings.port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _cannot_listen(settings, error) from error
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError as error:
            raise _cannot_listen(settings, error) from error
        yield listener


def _cannot_listen(settings: HttpSettings, error: OSError) -> ToolError:
    where = f"{settings.host}:{settings.port}"
    if error.errno == errno.EADDRINUSE:
        text = (
            f"port {settings.port} on {settings.host} is in use, perhaps by another `toolcrib "
            "serve`; end that one or choose another port with --port (0 takes a free one)"
        )
    elif error.errno == errno.EACCES:
        text = f"this user may not listen on {where}; choose a port above 1023 with --port"
    else:
        text = f"cannot listen on {where}: {error.strerror or error}; check --host and --port"
    return ToolError(INVALID_SETTINGS, text, details={"host": settings.host, "port": settings.port})


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return (
        f"http://[{shown}]:{port}{MCP_PATH}" if ":" in shown else f"http://{shown}:{port}{MCP_PATH}"
    )
