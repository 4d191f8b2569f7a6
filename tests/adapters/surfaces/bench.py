"""A crib for the tests of the surfaces: a catalogue in memory and a source that runs in this
process.

The source is a real `Provider`, made to show what a surface has to carry: blocks of every kind, big
numbers, progress, failures, calls that wait for each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from toolcrib_adapters.search.index_file import IndexFile
from toolcrib_adapters.sources.source import ToolsOnly
from toolcrib_adapters.surfaces.endpoint_servers import EndpointServers
from toolcrib_adapters.surfaces.endpoints import MAIN, Endpoint
from toolcrib_adapters.surfaces.mcp_server import CribServer, build_server
from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import TOOL_FAILED, ErrorKind, ToolError
from toolcrib_protocol.result import Result
from toolcrib_registry.calls import Calls
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import Change, PutGroup, PutSource
from toolcrib_registry.listing import Listing, accept_listing
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.ports import CallContext, Progress
from toolcrib_registry.records import EndpointMode, GroupRecord, SourceKind, SourceRecord
from toolcrib_registry.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from toolcrib_adapters.surfaces.publish_method import Publisher
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.snapshot import Snapshot

PLAIN = replace(MAIN, mode=EndpointMode.DYNAMIC)
"""The plain endpoint with the meta-tools, although there are few tools."""
NOW = "2026-12-01T00:00:00+00:00"
ANY_OBJECT: JsonObject = {"type": "object", "properties": {}, "additionalProperties": True}
BLOCKS: JsonObject = {
    "content": [
        {"type": "text", "text": "a", "_meta": {"k": 1, "none": None}, "odd": 1},
        {
            "type": "image",
            "data": "iVBORw0KGgo=",
            "mimeType": "image/png",
            "annotations": {"audience": ["user"], "priority": 0.5},
        },
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {
            "type": "resource_link",
            "uri": "file:///r.csv",
            "name": "r",
            "size": 12,
            "description": "d",
        },
        {"type": "resource", "resource": {"uri": "mem://1", "mimeType": "text/plain", "text": "t"}},
    ],
    "structuredContent": {"rows": [None, {"id": 9007199254740993}], "none": None},
    "_meta": {"k": 1, "example.org/none": None},
}
TOOLS: tuple[JsonObject, ...] = (
    {
        "name": "echo",
        "description": "Sends back what it gets. Second sentence.",
        "inputSchema": ANY_OBJECT,
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "send_mail",
        "title": "Send mail",
        "description": "Sends a letter to one address.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "to": {"type": "string", "minLength": 3},
                "subject": {"type": "string"},
                "priority": {"enum": ["low", "high"]},
            },
            "required": ["to"],
        },
    },
    {"name": "blocks", "description": "Shows a block of each kind.", "inputSchema": ANY_OBJECT},
    {"name": "answer", "description": "Answers exactly `result`.", "inputSchema": ANY_OBJECT},
    {"name": "fail", "description": "Fails.", "inputSchema": ANY_OBJECT},
    {"name": "crash", "description": "Raises.", "inputSchema": ANY_OBJECT},
    {"name": "meet", "description": "Waits for its company.", "inputSchema": ANY_OBJECT},
    {"name": "count", "description": "Reports progress.", "inputSchema": ANY_OBJECT},
    {"name": "hang", "description": "Never ends.", "inputSchema": ANY_OBJECT},
    {"name": "print", "description": "Prints on standard output.", "inputSchema": ANY_OBJECT},
)


@dataclass
class Playground(ToolsOnly):
    """The source `play`: one method a tool."""

    meeting: anyio.Event = field(default_factory=anyio.Event)
    arrived: int = 0
    hanging: anyio.Event = field(default_factory=anyio.Event)
    cancelled: anyio.Event = field(default_factory=anyio.Event)
    seen: list[tuple[str, JsonObject, CallContext]] = field(default_factory=list)

    async def call(self, upstream_name: str, arguments: JsonObject, context: CallContext) -> Result:
        self.seen.append((upstream_name, arguments, context))
        method = getattr(self, f"_{upstream_name}", None)
        return await method(arguments, context) if method else _echoed(arguments)

    async def _blocks(self, arguments: JsonObject, context: CallContext) -> Result:
        return Result.from_mcp(BLOCKS)

    async def _answer(self, arguments: JsonObject, context: CallContext) -> Result:
        answer = arguments["result"]
        assert isinstance(answer, dict)
        return Result.from_mcp(answer)

    async def _fail(self, arguments: JsonObject, context: CallContext) -> Result:
        return Result.from_mcp({"content": [text_block("the tool's own words")], "isError": True})

    async def _crash(self, arguments: JsonObject, context: CallContext) -> Result:
        raise RuntimeError("a bug")

    async def _meet(self, arguments: JsonObject, context: CallContext) -> Result:
        """Returns only when as many calls run at once as `company` says."""
        self.arrived += 1
        if self.arrived == arguments["company"]:
            self.meeting.set()
        await self.meeting.wait()
        return _echoed(arguments)

    async def _count(self, arguments: JsonObject, context: CallContext) -> Result:
        if context.report_progress is None:
            return _echoed({"asked_for_progress": False})
        for step in (1, 2, 3):
            await context.report_progress(Progress(step, 3, f"step {step}"))
        return _echoed({"asked_for_progress": True})

    async def _hang(self, arguments: JsonObject, context: CallContext) -> Result:
        self.hanging.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        raise ToolError(TOOL_FAILED, "unreachable", ErrorKind.FATAL)

    async def _print(self, arguments: JsonObject, context: CallContext) -> Result:
        print("printed by a tool", flush=True)
        return _echoed(arguments)

    def provider(self, source: str) -> Playground:
        return self


def _echoed(arguments: JsonObject) -> Result:
    return Result(data=arguments, has_data=True, content=(text_block("echoed"),))


class _NothingCached:
    """A vector cache for searches without vectors."""

    def get(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        return {}

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        raise AssertionError("no encoder, no vectors")

    def prune(self, live: Callable[[], Collection[str]]) -> None:
        raise AssertionError("no encoder, no vectors")


@dataclass
class Bench:
    """A crib over a playground."""

    catalogue: Catalogue
    playground: Playground
    calls: Calls
    search: Search

    @classmethod
    async def open(cls, policy: Policy | None = None) -> Bench:
        search = Search(None, IndexFile(Path("/nowhere"), "none", 0), _NothingCached())
        catalogue = await Catalogue.open(MemoryStore(), (search,))
        await search.open(catalogue.snapshot)
        playground = Playground()
        bench = cls(catalogue, playground, Calls(catalogue, playground, policy=policy), search)
        await bench.add("play", TOOLS, description="Toys for tests. Not for work.")
        return bench

    async def add(
        self, source: str, tools: tuple[JsonObject | Contract, ...], description: str = ""
    ) -> None:
        """Make the catalogue agree with what `source` offers."""

        def decide(snapshot: Snapshot) -> list[Change]:
            changes: list[Change] = [
                PutSource(SourceRecord(source, SourceKind.SNAPSHOT, {}, source)),
                PutGroup(GroupRecord(source, "", description, refuses_unknown_arguments=False)),
            ]
            ready = snapshot.with_changes(changes, snapshot.revision)
            return [*changes, *accept_listing(ready, Listing(source, tools), NOW)]

        await self.catalogue.change(decide)

    def server(
        self,
        policy: Policy | None = None,
        publisher: Publisher | None = None,
        endpoint: Endpoint = PLAIN,
    ) -> CribServer:
        return build_server(
            self.catalogue,
            self.calls,
            self.search,
            policy=policy,
            publisher=publisher,
            endpoint=endpoint,
        )

    def servers(self, policy: Policy | None = None) -> EndpointServers:
        """The servers of all endpoints."""
        return EndpointServers(
            self.catalogue,
            lambda endpoint: self.server(policy, endpoint=endpoint),
            policy=policy,
        )
