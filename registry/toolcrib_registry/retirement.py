"""Versions that stop answering, and why.

Used when a list is accepted, an overlay is changed and a source is removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_registry.changes import (
    Change,
    DropGroup,
    DropSource,
    SetHead,
    SetQuarantine,
    SetStatus,
)
from toolcrib_registry.records import StatusRecord

if TYPE_CHECKING:
    from toolcrib_protocol.version import Version
    from toolcrib_registry.records import ToolRecord
    from toolcrib_registry.snapshot import Snapshot

NOT_LISTED: Final = "its source does not list it any more"
REPLACED: Final = "its source offers a newer contract"
SOURCE_REMOVED: Final = "its source was removed"
COMES_BACK: Final = frozenset({NOT_LISTED, REPLACED, SOURCE_REMOVED})
"""Reasons of a retirement that end by themselves when the source offers the same contract again."""


MISFIT: Final = "its overlay does not fit: "
"""How the reason begins of a version that is held until its overlay fits again."""


def is_misfit(status: StatusRecord) -> bool:
    """Whether a version is held because its overlay does not fit."""
    return status.status == "held" and status.reason.startswith(MISFIT)


def is_offered(tool: ToolRecord, version: Version) -> bool:
    """Whether the source offers a version, be it that it may be called or waits for its overlay."""
    return tool.is_live(version) or is_misfit(tool.statuses[version])


def retired(tool: ToolRecord, source: str, reason: str, now: str) -> list[Change]:
    """The changes that retire what `source` provides of a tool; none if nothing of it is live."""
    mine = [
        version
        for version, record in tool.versions.items()
        if record.source == source and is_offered(tool, version)
    ]
    if not mine:
        return []
    status = StatusRecord("retired", reason, now)
    left = [v for v in tool.versions if v not in mine and tool.is_live(v)]
    changes: list[Change] = [SetStatus(tool.id, version, status) for version in mine]
    if tool.head_version in mine:
        changes.append(SetHead(tool.id, max(left, default=None)))
    return changes


def remove_source(snapshot: Snapshot, name: str, now: str) -> list[Change]:
    """What has to change so that a source is gone: its tools are retired, their names stay theirs.

    Raises:
        ToolError: `unknown_source`.
    """
    source = snapshot.source(name)
    changes = [
        change
        for tool in snapshot.tools.values()
        for change in retired(tool, source.name, SOURCE_REMOVED, now)
    ]
    if name in snapshot.quarantined:
        changes.append(SetQuarantine(name, ()))
    shares_group = any(
        s.group == source.group for s in snapshot.sources.values() if s is not source
    )
    group = snapshot.groups.get(source.group)
    if group is not None and not group.members and not shares_group:
        changes.append(DropGroup(group.name))
    return [*changes, DropSource(name)]
