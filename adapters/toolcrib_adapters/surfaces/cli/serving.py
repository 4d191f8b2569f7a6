"""Puts a running crib on its endpoint, HTTP or standard streams.

Loaded by `serve` alone: it is heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from toolcrib_adapters.key_ring import KeyRing
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.surfaces.edge.hosts import is_loopback
from toolcrib_adapters.surfaces.endpoint_servers import EndpointServers
from toolcrib_adapters.surfaces.endpoints import MAIN, EndpointKind
from toolcrib_adapters.surfaces.http_app import HttpSettings, serve_http
from toolcrib_adapters.surfaces.mcp_server import build_server
from toolcrib_adapters.surfaces.publish_method import PublishParams, as_json
from toolcrib_adapters.surfaces.publisher import CribPublisher
from toolcrib_adapters.surfaces.stdio import serve_stdio

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_adapters.main import Crib
    from toolcrib_adapters.settings import CribSettings
    from toolcrib_adapters.surfaces import endpoints
    from toolcrib_adapters.surfaces.interaction.sealing import Keys
    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_protocol.json_value import JsonObject


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a crib is served.

    Attributes:
        stdio: on the standard streams instead of HTTP.
        host: the address to listen on.
        port: 0 takes a free one.
        allowed_hosts: names under which clients may address it.
        allow_publish: whether clients may publish tools; None: only who is on this machine.
    """

    stdio: bool = False
    host: str = "127.0.0.1"
    port: int = 8765
    allowed_hosts: tuple[str, ...] = ()
    allow_publish: bool | None = None

    @property
    def takes_publications(self) -> bool:
        """Whether `toolcrib/publish` is carried out."""
        if self.allow_publish is None:
            return self.stdio or is_loopback(self.host)
        return self.allow_publish


async def serve(settings: CribSettings, endpoint: Endpoint, say: Callable[[str], None]) -> None:
    """Serve until told to end; `say` gets one line once clients may come.

    Raises:
        ToolError: the store or the address cannot be used.
    """
    async with open_crib(settings) as crib:
        ring = KeyRing.open(settings.keys_file, crib.clock.now())
        publisher = publisher_of(crib) if endpoint.takes_publications else None
        servers = servers_of(crib, publisher, ring.secrets)
        if endpoint.stdio:
            say(f"toolcrib: {counts(crib)} on standard input and output")
            await serve_stdio(servers.at(MAIN))
        else:
            await _serve_http(crib, servers, endpoint, say)


async def _serve_http(
    crib: Crib, servers: EndpointServers, endpoint: Endpoint, say: Callable[[str], None]
) -> None:
    settings = HttpSettings(endpoint.host, endpoint.port, endpoint.allowed_hosts)

    async def listen(*, task_status: anyio.abc.TaskStatus[str]) -> None:
        await serve_http(servers, settings, task_status=task_status)

    async with anyio.create_task_group() as tasks:
        url = await tasks.start(listen)
        say(f"toolcrib: {counts(crib)} at {url}")


def servers_of(
    crib: Crib, publisher: CribPublisher | None, keys: Keys | None = None
) -> EndpointServers:
    """The servers of all endpoints of a running crib; only the plain one takes publications."""

    def build(endpoint: endpoints.Endpoint) -> CribServer:
        taker = publisher if endpoint.kind is EndpointKind.MAIN else None
        server = build_server(
            crib.catalogue, crib.calls, crib.search, publisher=taker, endpoint=endpoint
        )
        server.keys = keys or server.keys
        return server

    return EndpointServers(crib.catalogue, build)


def counts(crib: Crib) -> str:
    """How much there is, in words."""
    snapshot = crib.catalogue.snapshot
    tools = sum(1 for tool in snapshot.tools.values() if tool.head is not None)
    return f"{_number(tools, 'tool')} of {_number(len(snapshot.sources), 'source')}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def publisher_of(crib: Crib) -> CribPublisher:
    """The publisher into a running crib."""
    return CribPublisher(crib.catalogue, crib.supervisor, crib.clock)


async def publish_into(crib: Crib, wish: JsonObject) -> JsonObject:
    """The receipt of `toolcrib/publish` for these parameters.

    Raises:
        ToolError: it cannot be published.
    """
    params = PublishParams.model_validate(wish)
    return as_json(await publisher_of(crib)(params.wish()))
