"""An endpoint without tools says why, wherever somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcp.client.client import Client

from tests.adapters.surfaces.bench import Bench
from toolcrib_adapters.surfaces.endpoints import MAIN, Endpoint, EndpointKind
from toolcrib_adapters.surfaces.no_tools import why_no_tools
from toolcrib_registry.changes import DropGroup, DropSource, PutProfile, PutSource
from toolcrib_registry.listing import Listing, accept_listing
from toolcrib_registry.ports import SourceState, SourceStatus
from toolcrib_registry.records import EndpointMode, ProfileRecord, SourceKind, SourceRecord
from toolcrib_registry.snapshot import Snapshot
from toolcrib_registry.views import Sight

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.changes import Change

GROUP = Endpoint(EndpointKind.GROUP, "play")
SINCE = "2026-12-01T00:00:00+00:00"


def source(name: str) -> PutSource:
    return PutSource(SourceRecord(name, SourceKind.MCP, {}, name))


def told(endpoint: Endpoint, *changes: Change, states: dict[str, SourceState] | None = None) -> str:
    snapshot = Snapshot().with_changes(changes, 1)
    return why_no_tools(endpoint, Sight(snapshot, endpoint.view(snapshot)), states or {})


def state(status: SourceStatus, reason: str = "") -> SourceState:
    return SourceState(status, SINCE, reason)


@pytest.mark.promise("endpoint-empty-says-why")
@pytest.mark.promise("field-o47-no-tools")
def test_the_likeliest_reason_is_told() -> None:
    mine = Endpoint(EndpointKind.PROFILE, "mine")
    profile = PutProfile(ProfileRecord("mine", groups=("a", "b")))
    sources = [source(name) for name in ("one", "two", "three", "four", "five")]
    states = {
        "one": state(SourceStatus.CONNECTING),
        "two": state(SourceStatus.FAILED, "no such command\nsecond line"),
        "three": state(SourceStatus.NEEDS_SIGN_IN),
        "four": state(SourceStatus.STOPPED),
        "five": state(SourceStatus.READY),
    }
    assert "no source is registered; `toolcrib import PATH`" in told(MAIN)
    assert "the group 'play' does not exist any more" in told(GROUP, source("one"))
    assert "the profile 'mine' does not exist any more" in told(mine, source("one"))
    assert "groups that do not exist: a, b" in told(mine, source("one"), profile)
    assert told(MAIN, *sources, states=states) == (
        "There are no tools here: of its sources, four is stopped, one is still connecting, "
        "three needs somebody to sign in and 1 more."
    )
    assert "two failed (no such command second line)" in told(MAIN, source("two"), states=states)
    assert "its sources list none" in told(MAIN, source("five"), states=states)


def test_tools_that_may_not_be_called_are_counted() -> None:
    snapshot = Snapshot().with_changes([source("play")], 1)
    tool: JsonObject = {"name": "t", "inputSchema": {"type": "object"}}
    for entries in ((tool,), ()):
        listing = Listing("play", entries)
        snapshot = snapshot.with_changes(accept_listing(snapshot, listing, SINCE), 1)
    assert "none of its 1 tools may be called now" in why_no_tools(MAIN, Sight(snapshot), {})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("wanted", list(EndpointMode))
@pytest.mark.promise("endpoint-empty-says-why")
@pytest.mark.promise("field-o47-no-tools")
async def test_in_every_mode_the_list_and_the_answers_say_why(
    mode: str, wanted: EndpointMode
) -> None:
    bench = await Bench.open()
    await bench.add("play", ())
    endpoint = Endpoint(EndpointKind.MAIN, mode=wanted)
    server = bench.server(endpoint=endpoint)
    server.tools.states = lambda: {"play": state(SourceStatus.FAILED, "it is broken")}
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        found = await client.call_tool("search_tools", {"queries": ["anything"]})
        called = await client.call_tool("other__thing", {})
        known = await client.call_tool("play__echo", {})
    why = "There are no tools here: of its sources, play failed (it is broken)."
    assert [tool.name for tool in listed.tools][:1] == ["search_tools"]
    assert why in (listed.tools[0].description or "")
    assert why in str(found.content)
    assert why in str(called.content)
    assert "it is retired" in str(known.content)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.promise("endpoint-empty-says-why")
async def test_a_group_that_is_removed_under_its_clients_says_so(mode: str) -> None:
    bench = await Bench.open()
    async with Client(bench.server(endpoint=GROUP), mode=mode) as client:
        before = await client.list_tools()
        await bench.add("play", ())
        await bench.catalogue.change(lambda _: [DropSource("play"), DropGroup("play")])
        await bench.add("post", ({"name": "t", "inputSchema": {"type": "object"}},))
        after = await client.list_tools(cache_mode="bypass")
        called = await client.call_tool("gone", {})
    assert len(before.tools) == 10
    assert after.tools == []
    why = "There are no tools here: the group 'play' does not exist any more."
    assert (after.meta or {})["io.toolcrib/no_tools"] == why
    assert why in str(called.content)
