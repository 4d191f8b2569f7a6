"""Puts a running crib on its endpoint, HTTP or standard streams.

Loaded by `serve` alone: it is heavy.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.key_ring import KeyRing
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.surfaces.backstage import backstage_of
from toolcrib_adapters.surfaces.endpoint_servers import EndpointServers
from toolcrib_adapters.surfaces.endpoints import MAIN, MCP_PATH, EndpointKind
from toolcrib_adapters.surfaces.group_summary import one_line, visible_groups
from toolcrib_adapters.surfaces.http_app import HttpSettings, serve_http
from toolcrib_adapters.surfaces.mcp_server import build_server
from toolcrib_adapters.surfaces.passthrough.offerings import Offerings
from toolcrib_adapters.surfaces.passthrough.pass_through import PassThrough
from toolcrib_adapters.surfaces.publish_method import PublishParams, as_json
from toolcrib_adapters.surfaces.publisher import CribPublisher
from toolcrib_adapters.surfaces.stdio import serve_stdio
from toolcrib_registry.views import Sight

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_adapters.main import Crib
    from toolcrib_adapters.settings import CribSettings
    from toolcrib_adapters.surfaces import endpoints
    from toolcrib_adapters.surfaces.interaction.sealing import Keys
    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.records import EndpointMode


_GROUPS_LENGTH: Final = 300
_HEAD_START_SECONDS: Final = 0.3
"""What a client asks first is answered in a tenth of that, if nothing else runs."""
_OBJECTS_A_COLLECTION: Final = 50_000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a crib is served.

    Attributes:
        http: where and for whom over HTTP; None: on the standard streams.
        allow_publish: whether clients may publish tools; None: only who is on this machine.
        shown: what the standard streams show; its mode is that of the plain endpoint everywhere.
    """

    http: HttpSettings | None
    allow_publish: bool | None = None
    shown: endpoints.Endpoint = MAIN

    @property
    def takes_publications(self) -> bool:
        """Whether `toolcrib/publish` is carried out."""
        if self.allow_publish is None:
            return self.http is None or self.http.is_local
        return self.allow_publish


async def serve(settings: CribSettings, endpoint: Endpoint, say: Callable[[str], None]) -> None:
    """Serve until told to end; `say` gets one line once clients may come.

    Raises:
        ToolError: the store or the address cannot be used.
    """
    async with (
        open_crib(settings, head_start_seconds=_HEAD_START_SECONDS) as crib,
        anyio.create_task_group() as tasks,
    ):
        ring = KeyRing.open(settings.keys_file, crib.clock.now())
        publisher = publisher_of(crib) if endpoint.takes_publications else None
        offerings = Offerings(crib.supervisor, crib.supervisor, crib.clock)
        tasks.start_soon(offerings.run)
        servers = servers_of(crib, publisher, offerings, ring.secrets, mode=endpoint.shown.mode)
        # What was made until now stays: nothing in it is garbage.
        gc.freeze()
        gc.set_threshold(_OBJECTS_A_COLLECTION)
        if endpoint.http is None:
            server = servers.at(endpoint.shown)
            say(f"toolcrib: {counts(crib)} on standard input and output")
            await serve_stdio(server, interrupt=crib.calls.interrupt)
        else:
            await _serve_http(crib, servers, endpoint.http, say)
        tasks.cancel_scope.cancel()


async def _serve_http(
    crib: Crib, servers: EndpointServers, settings: HttpSettings, say: Callable[[str], None]
) -> None:
    async def listen(*, task_status: anyio.abc.TaskStatus[str]) -> None:
        await serve_http(
            servers,
            settings,
            backstage=backstage_of(crib),
            clock=crib.clock,
            task_status=task_status,
        )

    async with anyio.create_task_group() as tasks:
        url = await tasks.start(listen)
        public = f", from outside {settings.public_endpoint}" if settings.public_url else ""
        groups = visible_groups(Sight(crib.catalogue.snapshot))
        if groups:
            names = one_line(", ".join(group.name for group in groups), _GROUPS_LENGTH)
            say(f"toolcrib: each group alone at {MCP_PATH}/GROUP: {names}")
        say(f"toolcrib: {counts(crib)} at {url}{public}")


def servers_of(
    crib: Crib,
    publisher: CribPublisher | None,
    offerings: Offerings,
    keys: Keys | None = None,
    *,
    mode: EndpointMode | None = None,
) -> EndpointServers:
    """The servers of all endpoints of a running crib; only the plain one takes publications."""

    def build(endpoint: endpoints.Endpoint) -> CribServer:
        taker = publisher if endpoint.kind is EndpointKind.MAIN else None
        server = build_server(
            crib.catalogue, crib.calls, crib.search, publisher=taker, endpoint=endpoint
        )
        server.keys = keys or server.keys
        server.tools.states = lambda: crib.supervisor.states
        server.let_through(
            PassThrough(offerings, crib.catalogue, endpoint, server.clients, crib.clock)
        )
        return server

    return EndpointServers(crib.catalogue, build, mode=mode)


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
