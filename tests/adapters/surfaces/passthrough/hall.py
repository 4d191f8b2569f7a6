"""A whole crib in this process over real upstreams that offer more than tools, and its clients."""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
from mcp.client.client import Client

from tests.adapters.surfaces.bench import _NothingCached
from tests.adapters.surfaces.doors import over_http
from tests.adapters.surfaces.interaction.counter import started
from tests.fake_upstreams import HERE
from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.search.index_file import IndexFile
from toolcrib_adapters.sources.mcp_upstream import McpUpstream
from toolcrib_adapters.sources.supervisor import Supervisor
from toolcrib_adapters.surfaces.endpoint_servers import EndpointServers
from toolcrib_adapters.surfaces.endpoints import MAIN, Endpoint, EndpointKind
from toolcrib_adapters.surfaces.mcp_server import build_server
from toolcrib_adapters.surfaces.passthrough.offerings import Offerings
from toolcrib_adapters.surfaces.passthrough.pass_through import PassThrough
from toolcrib_registry.calls import Calls
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import DropSource, PutSource
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.records import SourceKind, SourceRecord
from toolcrib_registry.search import Search

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp_types import CallToolResult

    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_protocol.json_value import JsonObject

PATIENCE = 30
UPSTREAMS = ("stdio", "http", "stdio legacy", "http legacy")
CALLERS = ("modern", "legacy")
OFFERING = "offering_server.py"


@dataclass
class Hall:
    """The crib."""

    catalogue: Catalogue
    servers: EndpointServers

    def group(self, name: str) -> Endpoint:
        return Endpoint(EndpointKind.GROUP, name)

    @asynccontextmanager
    async def client(
        self, caller: str, endpoint: Endpoint = MAIN, *, http: bool = False, **settings: Any
    ) -> AsyncIterator[Client]:
        """A client of an endpoint, in this process or over HTTP."""
        mode = "legacy" if caller == "legacy" else "auto"
        if http:
            async with over_http(self.servers) as url:
                path = f"{url.removesuffix('/mcp')}{endpoint.path}"
                async with Client(path, mode=mode, cache=None, **settings) as client:
                    yield client
            return
        async with Client(self.servers.at(endpoint), mode=mode, cache=None, **settings) as client:
            yield client

    async def call(self, source: str, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool of an upstream past all clients of the test."""
        async with Client(self.servers.at(MAIN)) as client:
            return await client.call_tool(f"{source}__{tool}", arguments)

    async def seen(self, source: str) -> dict[str, Any]:
        """What an upstream was asked."""
        seen: dict[str, Any] = (await self.call(source, "seen")).structured_content
        return seen

    async def remove(self, source: str) -> None:
        await self.catalogue.change(lambda _: [DropSource(source)])


@asynccontextmanager
async def hall(*, script: str = OFFERING, **upstreams: str) -> AsyncIterator[Hall]:
    """A crib whose sources are running upstreams: `desk="http legacy"`."""
    async with AsyncExitStack() as stack:
        records = []
        for name, kind in upstreams.items():
            transport, *words = kind.split()
            spec: JsonObject = {
                "transport": "stdio",
                "command": sys.executable,
                "args": ["-I", str(HERE / script), transport, *words],
                "env": {"DESK": name},
            }
            if transport == "http":
                url = await stack.enter_async_context(started(script, "http", *words))
                spec = {"transport": "http", "url": url}
            records.append(SourceRecord(name, SourceKind.MCP, spec, name))
        yield await stack.enter_async_context(over(records))


@asynccontextmanager
async def over(records: list[SourceRecord]) -> AsyncIterator[Hall]:
    """A crib over these sources, once all of them are ready."""
    clock, store = SystemClock(), MemoryStore()
    gate = anyio.CapacityLimiter(8)

    def open_mcp(record: SourceRecord) -> McpUpstream:
        return McpUpstream(record, environment=os.environ, clock=clock, connect_gate=gate)

    search = Search(None, IndexFile(Path("/nowhere"), "none", 0), _NothingCached())
    supervisor = Supervisor({SourceKind.MCP: open_mcp}, store, clock, crib="hall")
    catalogue = await Catalogue.open(store, (search, supervisor))
    await search.open(catalogue.snapshot)
    calls = Calls(catalogue, supervisor)
    offerings = Offerings(supervisor, supervisor, clock)

    def build(endpoint: Endpoint) -> CribServer:
        server = build_server(catalogue, calls, search, endpoint=endpoint)
        through = PassThrough(offerings, catalogue, endpoint, server.clients, clock)
        server.let_through(through)
        return server

    async with anyio.create_task_group() as tasks:
        await tasks.start(supervisor.run, catalogue)
        tasks.start_soon(offerings.run)
        await catalogue.change(lambda _: [PutSource(record) for record in records])
        with anyio.fail_after(PATIENCE):
            for record in records:
                while await supervisor.settled(record.name) is None:
                    await anyio.lowlevel.checkpoint()
        yield Hall(catalogue, EndpointServers(catalogue, build))
        tasks.cancel_scope.cancel()


@dataclass
class Heard:
    """What a client is told on its own."""

    messages: list[Any] = field(default_factory=list)
    _came: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self, message: object) -> None:
        self.messages.append(message)
        came, self._came = self._came, anyio.Event()
        came.set()

    def of(self, kind: type) -> list[Any]:
        return [message for message in self.messages if isinstance(message, kind)]

    async def until(self, is_there: Callable[[Heard], bool]) -> None:
        """Wait for what has to come."""
        with anyio.fail_after(PATIENCE):
            while not is_there(self):
                await self._came.wait()
