"""A small crib in memory: a catalogue with sources listed into it, and calls over a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.registry.providers import MemoryProvider, MemoryProviders
from toolcrib_registry.calls import Calls
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.listing import Listing, accept_listing
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.snapshot import Snapshot

NOW: Final = "2026-01-01T00:00:00+00:00"
LATER: Final = "2026-02-02T00:00:00+00:00"


def raw_tool(
    name: str, properties: JsonObject | None = None, more: JsonObject | None = None
) -> JsonObject:
    """An entry of `tools/list` with the given properties, all optional."""
    schema: JsonObject = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **(more or {})}


async def listed(
    catalogue: Catalogue, source: str, *entries: Json | Contract, now: str = NOW, group: str = ""
) -> Snapshot:
    """Register `source` if it is new, and take in what it lists."""
    await register(catalogue, SourceRecord(source, SourceKind.MCP, {}, group or source))
    listing = Listing(source, tuple(entries), "Title", "What it is for.")
    return await catalogue.change(lambda snapshot: accept_listing(snapshot, listing, now))


async def memory_catalogue() -> Catalogue:
    """An empty catalogue."""
    return await Catalogue.open(MemoryStore())


async def desk(
    *entries: Json | Contract, policy: Policy | None = None, source: str = "desk"
) -> tuple[Calls, MemoryProvider, Catalogue]:
    """Calls over one source with these tools."""
    catalogue = await memory_catalogue()
    await listed(catalogue, source, *entries)
    provider = MemoryProvider()
    return Calls(catalogue, MemoryProviders({source: provider}), policy=policy), provider, catalogue
