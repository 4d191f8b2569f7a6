"""Laying an overlay over a tool, changing it, and taking it away.

What callers see changes at once, as a version of its own, whether the source runs or not: the
contract that the source offered is kept under the overlay. Pure; used by the command line and by
declarative files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_registry.acceptance import Acceptance
from toolcrib_registry.changes import AddVersion, Change, DropOverlay, PutOverlay
from toolcrib_registry.offers import Offers
from toolcrib_registry.records import OverlayRecord
from toolcrib_registry.retirement import is_offered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.names import ToolId
    from toolcrib_protocol.overlay import Overlay
    from toolcrib_registry.records import ToolRecord, VersionRecord
    from toolcrib_registry.snapshot import Snapshot


def put_overlay(
    snapshot: Snapshot, tool: ToolId, overlay: Overlay, now: str, *, is_strict: bool = True
) -> list[Change]:
    """What changes when `tool` gets this overlay; an empty one is none.

    A tool that no source offers yet may have one: it is laid when the tool comes. One that is not
    put strictly may not fit: the tool is held until it does.

    Raises:
        ToolError: `invalid_settings` if it does not fit the tool as its source offers it now.
    """
    if overlay == type(overlay)():
        return drop_overlay(snapshot, tool, now)
    record = OverlayRecord(tool, overlay)
    if snapshot.overlays.get(tool) == record:
        return []
    changes = _laid(snapshot, PutOverlay(record), tool, now, is_strict=is_strict)
    known = snapshot.overlays.get(tool)
    if is_strict and (known is None or known.overlay.examples != overlay.examples):
        _check_examples(changes, tool)
    return changes


def _check_examples(changes: Sequence[Change], tool: ToolId) -> None:
    """Refuse new examples that do not fit; those that fitted once are left out and told."""
    made = [change.record for change in changes if isinstance(change, AddVersion)]
    left_out = next((record.left_out for record in made if record.left_out), ())
    if left_out:
        raise ToolError(INVALID_SETTINGS, f"the overlay of {tool} cannot be laid: {left_out[0]}")


def drop_overlay(snapshot: Snapshot, tool: ToolId, now: str) -> list[Change]:
    """What changes when `tool` has no overlay any more: its contract is the source's own again."""
    if tool not in snapshot.overlays:
        return []
    return _laid(snapshot, DropOverlay(tool), tool, now)


def _laid(
    snapshot: Snapshot, change: Change, tool: ToolId, now: str, *, is_strict: bool = True
) -> list[Change]:
    after = snapshot.with_changes([change], snapshot.revision)
    known = after.tools.get(tool)
    offered = None if known is None else newest_offered(known)
    source = after.sources.get(offered.source) if offered else None
    if offered is None or source is None:
        return [change]
    offer = Offers(after, source, now).again(offered)
    if offer.misfit and is_strict:
        raise ToolError(INVALID_SETTINGS, f"the overlay of {tool} cannot be laid: {offer.misfit}")
    acceptance = Acceptance(after, source, now)
    acceptance.take(offer)
    return [change, *acceptance.changes]


def newest_offered(tool: ToolRecord) -> VersionRecord | None:
    """The version that the source of a tool offers now, also one that waits for its overlay."""
    if tool.head_version is not None and tool.is_live(tool.head_version):
        return tool.versions[tool.head_version]
    waiting = (version for version in tool.versions if is_offered(tool, version))
    newest = max(waiting, default=None)
    return None if newest is None else tool.versions[newest]
