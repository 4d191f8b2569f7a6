"""Takes offers into the catalogue: which become versions, which answers, which have to wait.

One pass over one source. An offer that says the same as a known version makes no change; another
one becomes the next version, and versions that the source no longer serves are retired. Used by
`listing` (a whole list) and `overlaying` (one tool, again).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolcrib_protocol.names import ToolId, published_name
from toolcrib_protocol.version import FIRST_VERSION
from toolcrib_registry.changes import (
    AddVersion,
    AllocateName,
    Change,
    SetHead,
    SetQuarantine,
    SetStatus,
)
from toolcrib_registry.records import QuarantineRecord, SourceRecord, StatusRecord
from toolcrib_registry.retirement import (
    COMES_BACK,
    MISFIT,
    NOT_LISTED,
    REPLACED,
    is_misfit,
    is_offered,
    retired,
)
from toolcrib_registry.version_steps import (
    declared_problem,
    is_known_as,
    may_stand_beside,
    next_version,
)

if TYPE_CHECKING:
    from collections.abc import Container

    from toolcrib_protocol.json_value import Json
    from toolcrib_protocol.tool import Contract
    from toolcrib_protocol.version import Version
    from toolcrib_registry.offers import Offer
    from toolcrib_registry.records import ToolRecord, VersionRecord
    from toolcrib_registry.snapshot import Snapshot


class Acceptance:
    """What is accepted so far, and what has to change."""

    def __init__(self, snapshot: Snapshot, source: SourceRecord, now: str) -> None:
        self.quarantined: list[QuarantineRecord] = []
        self.changes: list[Change] = []
        self._snapshot = snapshot
        self._source = source
        self._now = now
        self._seen: set[ToolId] = set()
        # Names given out in this pass; those given out before are in the snapshot.
        self._new_names: set[str] = set()

    def consider(
        self, position: int, entry: Json | Contract, offer: Offer | QuarantineRecord
    ) -> None:
        """Take what the entry at `position` offers, or quarantine it."""
        if isinstance(offer, QuarantineRecord):
            self.quarantined.append(offer)
            return
        record = offer.record
        problem = self._problem(offer)
        if problem is None:
            self.take(offer)
        else:
            raw = entry if isinstance(entry, dict) else record.offered.as_json()
            self.quarantined.append(
                QuarantineRecord(
                    self._source.name, position, record.upstream_name, "/name", problem, raw
                )
            )

    def retire_the_rest(self) -> None:
        """Retire what the source provided and did not list in this pass."""
        name = self._source.name
        for tool in self._snapshot.tools.values():
            # Cheapest first: this looks at all tools of all sources.
            is_mine = any(record.source == name for record in tool.versions.values())
            if is_mine and tool.id not in self._seen:
                self.changes.extend(retired(tool, name, NOT_LISTED, self._now))

    def settle_quarantine(self) -> None:
        """Say which entries are quarantined, if that is new."""
        before = self._snapshot.quarantined.get(self._source.name, ())
        if tuple(self.quarantined) != before:
            self.changes.append(SetQuarantine(self._source.name, tuple(self.quarantined)))

    def take(self, offer: Offer) -> None:
        """Make the offer what the tool answers with."""
        record = offer.record
        self._seen.add(record.tool)
        tool = self._snapshot.tools.get(record.tool)
        if tool is None:
            self._allocate(record.tool)
            self._add(offer, offer.declared or FIRST_VERSION)
            return
        same = [version for version, known in tool.versions.items() if _is_same(known, offer)]
        if same:
            self._keep(tool, max(same), offer.misfit)
        else:
            self._add(offer, self._number(tool, offer))
            self._retire_replaced(tool, offer)

    def _problem(self, offer: Offer) -> str | None:
        """Why an entry that is well formed cannot be accepted, or None."""
        record = offer.record
        if record.tool in self._seen:
            return f"the source lists {record.upstream_name!r} twice; the first one is used"
        tool = self._snapshot.tools.get(record.tool)
        if tool is None:
            return None
        others = {r.source for v, r in tool.versions.items() if is_offered(tool, v)} - {
            self._source.name
        }
        if others:
            return f"{record.tool} is provided by the source {min(others)!r} already"
        return declared_problem(tool, record, offer.declared)

    def _number(self, tool: ToolRecord, offer: Offer) -> Version:
        newest = max(tool.versions, default=None)
        if offer.declared is not None and (newest is None or offer.declared > newest):
            return offer.declared
        return next_version(tool, offer.record)

    def _allocate(self, tool: ToolId) -> None:
        name = published_name(tool, _Either(self._snapshot.by_published_name, self._new_names))
        self._new_names.add(name)
        self.changes.append(AllocateName(tool, name))

    def _add(self, offer: Offer, version: Version) -> None:
        record = offer.record
        self.changes += [
            AddVersion(replace(record, version=version)),
            SetStatus(record.tool, version, self._status(record, offer.misfit)),
            SetHead(record.tool, None if offer.misfit else version),
        ]

    def _status(self, record: VersionRecord, misfit: str) -> StatusRecord:
        if misfit:
            return StatusRecord("held", MISFIT + misfit, self._now)
        return StatusRecord(
            "deprecated" if record.contract.deprecation else "active", "", self._now
        )

    def _keep(self, tool: ToolRecord, version: Version, misfit: str) -> None:
        """A known contract is offered: it answers, unless a person has decided otherwise."""
        is_live = tool.is_live(version)
        if is_live and not misfit and tool.head_version == version:
            # The usual case at every start. To read all contracts would cost a second and 50 MB.
            return
        status = tool.statuses[version]
        if not is_live and not _comes_back(status):
            return
        if misfit or not is_live:
            wanted = self._status(tool.versions[version], misfit)
            if (status.status, status.reason) == (wanted.status, wanted.reason):
                return  # held already, for the same reason
            self.changes.append(SetStatus(tool.id, version, wanted))
        self.changes.append(SetHead(tool.id, None if misfit else version))
        others = [v for v in tool.versions if v != version and is_offered(tool, v)]
        self.changes += [self._replaced(tool.id, other) for other in others]

    def _retire_replaced(self, tool: ToolRecord, offer: Offer) -> None:
        for version, record in tool.versions.items():
            may_stay = tool.is_live(version) and may_stand_beside(record, offer.record)
            if is_offered(tool, version) and (offer.misfit or not may_stay):
                self.changes.append(self._replaced(tool.id, version))

    def _replaced(self, tool: ToolId, version: Version) -> SetStatus:
        return SetStatus(tool, version, StatusRecord("retired", REPLACED, self._now))


def _comes_back(status: StatusRecord) -> bool:
    """Whether a version that is not live becomes so when its source offers it."""
    return is_misfit(status) or (status.status == "retired" and status.reason in COMES_BACK)


def _is_same(known: VersionRecord, offer: Offer) -> bool:
    if known is offer.record:
        return True
    return known.says_the_same(offer.record) and is_known_as(known, offer.record, offer.declared)


@dataclass(frozen=True, slots=True)
class _Either:
    """Membership in one of two collections, without joining them."""

    first: Container[str]
    second: Container[str]

    def __contains__(self, name: object) -> bool:
        return name in self.first or name in self.second
