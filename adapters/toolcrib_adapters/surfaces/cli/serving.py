"""Puts a running crib on its endpoint, HTTP or standard streams.

Loaded by `serve` alone: it is heavy.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.declarations.following import following
from toolcrib_adapters.surfaces.backstage import backstage_of
from toolcrib_adapters.surfaces.cli.running_crib import counts, open_ready
from toolcrib_adapters.surfaces.cli.shared_crib import listening, take_over
from toolcrib_adapters.surfaces.endpoints import MAIN, MCP_PATH
from toolcrib_adapters.surfaces.group_summary import one_line, visible_groups
from toolcrib_adapters.surfaces.http_app import HttpSettings, serve_http
from toolcrib_adapters.surfaces.listening import listening as bound
from toolcrib_adapters.surfaces.stdio import serve_stdio
from toolcrib_registry.views import Sight

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from toolcrib_adapters.declarations.following import FollowedFile
    from toolcrib_adapters.main import Crib
    from toolcrib_adapters.settings import CribSettings
    from toolcrib_adapters.surfaces import endpoints
    from toolcrib_adapters.surfaces.attach.listener import Listener
    from toolcrib_adapters.surfaces.endpoint_servers import EndpointServers


_GROUPS_LENGTH: Final = 300


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a crib is served.

    Attributes:
        http: where and for whom over HTTP; None: on the standard streams.
        allow_publish: whether clients may publish tools; None: only who is on this machine.
        shown: what the standard streams show; its mode is that of the plain endpoint everywhere.
        attach: whether clients of this home on standard streams may share the crib.
    """

    http: HttpSettings | None
    allow_publish: bool | None = None
    shown: endpoints.Endpoint = MAIN
    attach: bool = True

    @property
    def takes_publications(self) -> bool:
        """Whether `toolcrib/publish` is carried out."""
        if self.allow_publish is None:
            return self.http is None or self.http.is_local
        return self.allow_publish


async def serve(
    settings: CribSettings,
    endpoint: Endpoint,
    say: Callable[[str], None],
    followed: FollowedFile | None = None,
) -> None:
    """Serve until told to end; `say` gets one line once clients may come.

    Args:
        settings: the crib.
        endpoint: where it is served.
        say: where sentences for the operator go.
        followed: the file whose changes the crib follows, already applied once; None: none.

    Raises:
        ToolError: the store or the address cannot be used.
    """
    with ExitStack() as locks:
        is_shared = (
            endpoint.http is not None
            and endpoint.attach
            and await _takes_clients(settings, endpoint.http, locks, say)
        )
        async with open_ready(settings) as ready, following(followed, ready.crib.catalogue):
            servers = ready.servers(publishes=endpoint.takes_publications, mode=endpoint.shown.mode)
            if endpoint.http is None:
                say(f"toolcrib: {counts(ready.crib)} on standard input and output")
                await serve_stdio(servers.at(endpoint.shown), interrupt=ready.crib.calls.interrupt)
                return
            may_publish = endpoint.allow_publish is not False
            socket = partial(listening, ready, settings, publishes=may_publish)
            served = _Served(ready.crib, servers, endpoint.http, socket if is_shared else None)
            await _serve_http(served, say)


async def _takes_clients(
    settings: CribSettings, http: HttpSettings, locks: ExitStack, say: Callable[[str], None]
) -> bool:
    """Whether clients on standard streams attach to us; held in `locks`."""
    with bound(http.host, http.port):
        # A port that is taken is told before a crib that clients started makes way for nothing.
        pass
    there = await take_over(settings, locks)
    if there is None:
        return True
    say(
        f"toolcrib: another crib of {settings.home} is served at {there.url or 'its socket'} "
        f"(process {there.pid}); clients on standard streams attach to that one, and both run the "
        "sources"
    )
    return False


@dataclass(frozen=True, slots=True)
class _Served:
    """What is served over HTTP; `socket` opens the local socket beside it."""

    crib: Crib
    servers: EndpointServers
    http: HttpSettings
    socket: Callable[[str], AbstractAsyncContextManager[Listener]] | None


async def _serve_http(served: _Served, say: Callable[[str], None]) -> None:
    crib, http, ended = served.crib, served.http, anyio.Event()

    async def listen(*, task_status: anyio.abc.TaskStatus[str]) -> None:
        await serve_http(
            served.servers,
            http,
            backstage=backstage_of(crib),
            clock=crib.clock,
            task_status=task_status,
        )
        ended.set()

    async with anyio.create_task_group() as tasks, AsyncExitStack() as stack:
        url = await tasks.start(listen)
        if served.socket is not None:
            await stack.enter_async_context(served.socket(url))
        groups = visible_groups(Sight(crib.catalogue.snapshot))
        if groups:
            names = one_line(", ".join(group.name for group in groups), _GROUPS_LENGTH)
            say(f"toolcrib: each group alone at {MCP_PATH}/GROUP: {names}")
        public = f", from outside {http.public_endpoint}" if http.public_url else ""
        say(f"toolcrib: {counts(crib)}{public} at {url}")
        await ended.wait()
