"""Groups of tools from any source, as the operator makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registry.cribs import listed, memory_catalogue, raw_tool
from toolcrib_protocol.errors import CONFLICT, INVALID_NAME, UNKNOWN_GROUP, ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_registry.changes import DropGroup, PutGroup
from toolcrib_registry.groups import (
    add_members,
    create_group,
    drop_group,
    put_group,
    remove_members,
)
from toolcrib_registry.records import GroupRecord
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_registry.changes import Change

SEND, READ, EVENTS = ToolId("mail", "send"), ToolId("mail", "read"), ToolId("calendar", "events")


async def office(*members: ToolId) -> Snapshot:
    catalogue = await memory_catalogue()
    await listed(catalogue, "mail", raw_tool("send"), raw_tool("read"))
    await listed(catalogue, "calendar", raw_tool("events"))
    return await catalogue.change(
        lambda snapshot: create_group(snapshot, GroupRecord("office", members=members))
    )


@pytest.mark.promise("groups-across-sources")
async def test_a_group_holds_tools_of_several_sources_each_once() -> None:
    snapshot = await office(SEND)
    after = snapshot.with_changes(add_members(snapshot, "office", [EVENTS, SEND, EVENTS]), 9)
    assert after.groups["office"].members == (SEND, EVENTS)
    assert after.members("office") == {SEND, EVENTS}
    assert add_members(after, "office", [SEND]) == []
    assert remove_members(after, "office", [SEND, READ]) == [
        PutGroup(GroupRecord("office", members=(EVENTS,)))
    ]


async def test_tools_at_home_in_a_group_need_no_mention_and_cannot_leave() -> None:
    snapshot = await office()
    assert add_members(snapshot, "mail", [SEND]) == []
    with pytest.raises(ToolError, match="at home in 'mail'") as refusal:
        remove_members(snapshot, "mail", [SEND])
    assert refusal.value.code == CONFLICT


async def test_a_dropped_group_leaves_its_tools_and_a_home_group_cannot_be_dropped() -> None:
    snapshot = await office(SEND)
    assert drop_group(snapshot, "office") == [DropGroup("office")]
    with pytest.raises(ToolError, match="home group of the source 'mail'"):
        drop_group(snapshot, "mail")


async def test_names_that_are_taken_unknown_or_no_names_are_refused() -> None:
    snapshot = await office()
    refused: tuple[tuple[Callable[[], list[Change]], str], ...] = (
        (lambda: create_group(snapshot, GroupRecord("office")), CONFLICT),
        (lambda: create_group(snapshot, GroupRecord("no name")), INVALID_NAME),
        (lambda: add_members(snapshot, "ofice", [SEND]), UNKNOWN_GROUP),
        (lambda: drop_group(Snapshot(), "office"), UNKNOWN_GROUP),
    )
    for change, code in refused:
        with pytest.raises(ToolError) as refusal:
            change()
        assert refusal.value.code == code
    assert put_group(snapshot, snapshot.groups["office"]) == []
