"""A crib over one real upstream that asks questions, and clients that can answer them.

The crib is in this process, the upstream in one of its own; requests go over HTTP both ways unless
the name of the upstream says otherwise.
"""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from anyio.streams.text import TextReceiveStream
from mcp.client.client import Client

from tests.adapters.sources.listening_host import ListeningHost, running
from tests.adapters.surfaces.bench import NOW, _NothingCached
from tests.adapters.surfaces.doors import over_http
from tests.fake_upstreams import HERE
from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.search.index_file import IndexFile
from toolcrib_adapters.sources.mcp_upstream import McpUpstream
from toolcrib_adapters.surfaces.mcp_server import CribServer, build_server
from toolcrib_registry.calls import Calls
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import Change, PutGroup, PutSource
from toolcrib_registry.listing import accept_listing
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.records import GroupRecord, SourceKind, SourceRecord
from toolcrib_registry.search import Search

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.client.session import ClientRequestContext

    from toolcrib_adapters.surfaces.interaction.sealing import Keys
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.snapshot import Snapshot

PATIENCE = 30
UPSTREAMS = ("stdio", "http", "stdio legacy", "http legacy")
CALLERS = ("modern", "legacy")
ASKING = "asking_server.py"


@dataclass
class Counter:
    """The crib."""

    upstream: McpUpstream
    catalogue: Catalogue
    calls: Calls
    search: Search

    def server(self, keys: Keys | None = None) -> CribServer:
        server = build_server(self.catalogue, self.calls, self.search)
        server.keys = keys or server.keys
        return server

    async def seen(self) -> dict[str, Any]:
        """What the upstream saw so far."""
        async with Client(self.server()) as client:
            data: dict[str, Any] = (await client.call_tool("desk__seen", {})).structured_content
            return data


@asynccontextmanager
async def counter(upstream: str, **settings: Any) -> AsyncIterator[Counter]:
    """A crib over `upstream`, one of `UPSTREAMS`."""
    transport, _, generation = upstream.partition(" ")
    words = [generation] if generation else []
    if transport == "http":
        async with started(ASKING, "http", *words) as url, behind({"url": url}, settings) as made:
            yield made
        return
    command: JsonObject = {
        "command": sys.executable,
        "args": ["-I", str(HERE / ASKING), "stdio", *words],
    }
    async with behind(command, settings) as made:
        yield made


@asynccontextmanager
async def started(script: str, *words: str) -> AsyncIterator[str]:
    """The URL of a server of `tests/fake_upstreams`, started over HTTP."""
    command = [sys.executable, "-I", str(HERE / script), *words]
    async with await anyio.open_process(command, env={**os.environ}) as process:
        assert process.stdout is not None
        try:
            with anyio.fail_after(PATIENCE):
                url = (await TextReceiveStream(process.stdout).receive()).strip()
            yield url
        finally:
            if process.returncode is None:
                process.kill()


@asynccontextmanager
async def behind(where: JsonObject, settings: JsonObject) -> AsyncIterator[Counter]:
    """A crib whose one source is `desk` with these settings."""
    spec = {"transport": "http" if "url" in where else "stdio", **where, **settings}
    record = SourceRecord("desk", SourceKind.MCP, spec, "desk")
    source, host = made_upstream(record), ListeningHost()
    async with running(source, host):
        state = await host.settled()
        assert host.listings, state
        yield await _over(source, record, host)


def made_upstream(record: SourceRecord) -> McpUpstream:
    return McpUpstream(
        record,
        environment=os.environ,
        clock=SystemClock(),
        connect_gate=anyio.CapacityLimiter(4),
    )


async def _over(source: McpUpstream, record: SourceRecord, host: ListeningHost) -> Counter:
    search = Search(None, IndexFile(Path("/nowhere"), "none", 0), _NothingCached())
    catalogue = await Catalogue.open(MemoryStore(), (search,))
    await search.open(catalogue.snapshot)

    def decide(snapshot: Snapshot) -> list[Change]:
        group = GroupRecord("desk", refuses_unknown_arguments=False)
        changes: list[Change] = [PutSource(record), PutGroup(group)]
        ready = snapshot.with_changes(changes, snapshot.revision)
        return [*changes, *accept_listing(ready, host.listings[-1], NOW)]

    await catalogue.change(decide)
    return Counter(source, catalogue, Calls(catalogue, _Only(source)), search)


@dataclass
class _Only:
    source: McpUpstream

    def provider(self, source: str) -> McpUpstream:
        return self.source


@dataclass
class Person:
    """Somebody who answers questions at a client."""

    name: str = "Ada"
    asked: list[Any] = field(default_factory=list)
    waits: bool = False
    says_no: bool = False
    fails: bool = False
    reached: anyio.Event = field(default_factory=anyio.Event)
    withdrawn: anyio.Event = field(default_factory=anyio.Event)

    async def elicited(
        self, _ctx: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        self.asked.append(params)
        self.reached.set()
        if self.waits:
            try:
                await anyio.sleep_forever()
            finally:
                self.withdrawn.set()
        if self.says_no:
            return types.ElicitResult(action="decline")
        if "age" in params.message or "old" in params.message:
            return types.ElicitResult(action="accept", content={"age": 36})
        content = None if params.mode == "url" else {"name": self.name}
        return types.ElicitResult(action="accept", content=content)

    async def sampled(
        self, _ctx: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        self.asked.append(params)
        if self.fails:
            return types.ErrorData(code=-1, message="User rejected the request")
        text = types.TextContent(type="text", text=f"hello from {self.name}")
        return types.CreateMessageResult(role="assistant", content=text, model="m")

    async def folders(self, _ctx: ClientRequestContext) -> types.ListRootsResult:
        self.asked.append("roots")
        root = types.Root(uri=f"file:///{self.name}", name=self.name)
        return types.ListRootsResult(roots=[root])


@asynccontextmanager
async def client_of(
    server: CribServer, generation: str, person: Person | None, **settings: Any
) -> AsyncIterator[Client]:
    """A client over HTTP, at which `person` answers; nobody does if it is None."""
    async with over_http(server) as url, client_at(url, generation, person, **settings) as client:
        yield client


@asynccontextmanager
async def client_at(
    url: str, generation: str, person: Person | None, **settings: Any
) -> AsyncIterator[Client]:
    answering: dict[str, Any] = {}
    if person is not None:
        answering = {
            "elicitation_callback": person.elicited,
            "sampling_callback": person.sampled,
            "list_roots_callback": person.folders,
        }
    mode = "legacy" if generation == "legacy" else "auto"
    async with Client(url, mode=mode, **answering, **settings) as client:
        yield client


@dataclass
class Noted:
    """Waits for the first progress of a call."""

    came: anyio.Event = field(default_factory=anyio.Event)

    async def note(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        self.came.set()
