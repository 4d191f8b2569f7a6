"""Groups as the operator makes them: sets of tools from any source.

A tool has one home group, its source's, and may be in any number of others. Pure; used by the
command line and by declarative files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from toolcrib_protocol.errors import CONFLICT, UNKNOWN_GROUP, ToolError
from toolcrib_protocol.names import check_group_name, nearest
from toolcrib_registry.changes import Change, DropGroup, PutGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.records import GroupRecord
    from toolcrib_registry.snapshot import Snapshot


def known_group(snapshot: Snapshot, name: str) -> GroupRecord:
    """The group of that name.

    Raises:
        ToolError: `unknown_group`, with the nearest names.
    """
    group = snapshot.groups.get(name)
    if group is None:
        close = ", ".join(nearest(name, snapshot.groups))
        hint = f"did you mean {close}?" if close else "`toolcrib groups` lists them"
        raise ToolError(UNKNOWN_GROUP, f"no group is called {name!r}; {hint}")
    return group


def create_group(snapshot: Snapshot, group: GroupRecord) -> list[Change]:
    """What changes when a new group is made.

    Raises:
        ToolError: `invalid_name`; `conflict` if there is one of that name.
    """
    check_group_name(group.name)
    if group.name in snapshot.groups:
        raise ToolError(
            CONFLICT,
            f"there is a group {group.name!r} already; `toolcrib group add` puts tools into it and "
            "`toolcrib group describe` changes its texts",
        )
    return [PutGroup(_without_own(group))]


def put_group(snapshot: Snapshot, group: GroupRecord) -> list[Change]:
    """What changes when the group shall be like this; none if it is."""
    group = _without_own(group)
    return [] if snapshot.groups.get(group.name) == group else [PutGroup(group)]


def add_members(snapshot: Snapshot, name: str, tools: Sequence[ToolId]) -> list[Change]:
    """What changes when tools come into a group; those in it stay where they are.

    Raises:
        ToolError: `unknown_group`.
    """
    group = known_group(snapshot, name)
    return put_group(snapshot, replace(group, members=(*group.members, *tools)))


def remove_members(snapshot: Snapshot, name: str, tools: Sequence[ToolId]) -> list[Change]:
    """What changes when tools leave a group.

    Raises:
        ToolError: `unknown_group`; `conflict` if a tool is at home there.
    """
    group = known_group(snapshot, name)
    at_home = next((tool for tool in tools if tool.group == name), None)
    if at_home is not None:
        raise ToolError(
            CONFLICT,
            f"{at_home} is at home in {name!r} and cannot leave it; "
            f"`toolcrib overlay {at_home} --hide` keeps it from being offered",
        )
    left = tuple(member for member in group.members if member not in tools)
    return put_group(snapshot, replace(group, members=left))


def drop_group(snapshot: Snapshot, name: str) -> list[Change]:
    """What changes when a group is dropped; its tools stay.

    Raises:
        ToolError: `unknown_group`; `conflict` if it is the home of a source's tools.
    """
    known_group(snapshot, name)
    source = home_of(snapshot, name)
    if source is not None:
        raise ToolError(
            CONFLICT,
            f"{name!r} is the home group of the source {source!r}; `toolcrib remove {source}` "
            "takes both out",
        )
    return [DropGroup(name)]


def home_of(snapshot: Snapshot, name: str) -> str | None:
    """The source whose tools are at home in a group; None if none's are."""
    return next((s.name for s in snapshot.sources.values() if s.group == name), None)


def _without_own(group: GroupRecord) -> GroupRecord:
    """The group with each foreign member once; its own tools need no mention."""
    members = dict.fromkeys(tool for tool in group.members if tool.group != group.name)
    return replace(group, members=tuple(members))
