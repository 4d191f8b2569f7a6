"""What a source says it offers, turned into changes of the catalogue.

Each entry is judged alone: accepted, repaired and marked, or quarantined with a reason; its
siblings never suffer. An unchanged entry makes no change, a changed one becomes the next version, a
missing one is retired. Pure: snapshot and listing in, changes out. Used by the supervisor of
sources and by publishing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolcrib_protocol.foreign_tool import Quarantined, judge
from toolcrib_protocol.names import ToolId, published_name
from toolcrib_protocol.tool import Behaviour, Contract, Icon
from toolcrib_protocol.version import FIRST_VERSION
from toolcrib_registry.changes import (
    AddVersion,
    AllocateName,
    Change,
    DropGroup,
    DropSource,
    PutGroup,
    SetHead,
    SetQuarantine,
    SetStatus,
)
from toolcrib_registry.records import (
    GroupRecord,
    QuarantineRecord,
    SourceRecord,
    StatusRecord,
    ToolRecord,
    VersionRecord,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from toolcrib_protocol.foreign_tool import Adopted
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.version import Version
    from toolcrib_registry.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything a source offers at one moment.

    Attributes:
        source: the source's name.
        entries: in the source's order; raw JSON as an MCP `tools/list` has it (at home in the
            source's group), or our own contracts (at home in the group that they name).
        title: the source's own title, for its home group.
        description: what the source says about itself (instructions), for its home group.
        quarantined: entries that could not even be read as one of the two, already judged.
    """

    source: str
    entries: tuple[Json | Contract, ...]
    title: str = ""
    description: str = ""
    quarantined: tuple[QuarantineRecord, ...] = ()


NOT_LISTED = "its source does not list it any more"
REPLACED = "its source offers a newer contract"
SOURCE_REMOVED = "its source was removed"
_COMES_BACK = frozenset({NOT_LISTED, REPLACED, SOURCE_REMOVED})
"""Reasons of a retirement that end by themselves when the source offers the same contract again."""


def accept_listing(snapshot: Snapshot, listing: Listing, now: str) -> list[Change]:
    """What the catalogue has to change so that it agrees with `listing`.

    Args:
        snapshot: the catalogue as it is.
        listing: the complete list of one source; tools it leaves out are retired.
        now: UTC, ISO 8601, for new rows.
    """
    source = snapshot.sources.get(listing.source)
    if source is None:
        return []
    acceptance = _Acceptance(snapshot, source, now)
    for position, entry in enumerate(listing.entries):
        acceptance.consider(position, entry)
    acceptance.quarantined.extend(listing.quarantined)
    acceptance.retire_the_rest()
    return [*_home_group(snapshot, source, listing), *acceptance.all_changes()]


def remove_source(snapshot: Snapshot, name: str, now: str) -> list[Change]:
    """What has to change so that a source is gone: its tools are retired, their names stay theirs.

    Raises:
        ToolError: `unknown_source`.
    """
    source = snapshot.source(name)
    changes = [
        change
        for tool in snapshot.tools.values()
        for change in _retirement(tool, source.name, SOURCE_REMOVED, now)
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


def _retirement(tool: ToolRecord, source: str, reason: str, now: str) -> list[Change]:
    mine = [
        version
        for version, record in tool.versions.items()
        if record.source == source and tool.is_callable(version)
    ]
    if not mine:
        return []
    retired = StatusRecord("retired", reason, now)
    left = [v for v in tool.versions if v not in mine and tool.is_callable(v)]
    changes: list[Change] = [SetStatus(tool.id, version, retired) for version in mine]
    if tool.head_version in mine:
        changes.append(SetHead(tool.id, max(left, default=None)))
    return changes


def _home_group(snapshot: Snapshot, source: SourceRecord, listing: Listing) -> Iterator[Change]:
    known = snapshot.groups.get(source.group)
    if known is None:
        yield PutGroup(GroupRecord(source.group, listing.title, listing.description))
    elif not known.description and listing.description:
        yield PutGroup(
            replace(known, title=known.title or listing.title, description=listing.description)
        )


class _Acceptance:
    """One pass over a listing: what is accepted so far, and what has to change."""

    def __init__(self, snapshot: Snapshot, source: SourceRecord, now: str) -> None:
        self.quarantined: list[QuarantineRecord] = []
        self._snapshot = snapshot
        self._source = source
        self._now = now
        self._changes: list[Change] = []
        self._seen: set[ToolId] = set()
        # Names given out in this pass; those given out before are in the snapshot.
        self._new_names: set[str] = set()

    def all_changes(self) -> list[Change]:
        before = self._snapshot.quarantined.get(self._source.name, ())
        now = tuple(self.quarantined)
        return (
            self._changes
            if now == before
            else [*self._changes, SetQuarantine(self._source.name, now)]
        )

    def consider(self, position: int, entry: Json | Contract) -> None:
        offer = self._offer(position, entry)
        if isinstance(offer, QuarantineRecord):
            self.quarantined.append(offer)
            return
        record, declared = offer
        problem = self._problem(record, declared)
        if problem is None:
            self._seen.add(record.tool)
            self._accept(record, declared)
        else:
            raw = entry if isinstance(entry, dict) else record.contract.as_json()
            self.quarantined.append(
                QuarantineRecord(
                    self._source.name, position, record.upstream_name, "/name", problem, raw
                )
            )

    def retire_the_rest(self) -> None:
        name = self._source.name
        for tool in self._snapshot.tools.values():
            # Cheapest first: this looks at all tools of all sources.
            is_mine = any(record.source == name for record in tool.versions.values())
            if is_mine and tool.id not in self._seen:
                self._changes.extend(_retirement(tool, name, NOT_LISTED, self._now))

    def _offer(
        self, position: int, entry: Json | Contract
    ) -> tuple[VersionRecord, Version | None] | QuarantineRecord:
        """The entry as a record and the version it declares (None: it leaves that to us)."""
        if isinstance(entry, Contract):
            declared = entry.version if entry.declares_version else None
            return self._record(entry, entry.name), declared
        known = self._known(entry)
        if known is not None:
            return known, None
        verdict = judge(entry)
        if isinstance(verdict, Quarantined):
            raw: JsonObject = (
                verdict.raw if isinstance(verdict.raw, dict) else {"entry": verdict.raw}
            )
            return QuarantineRecord(
                self._source.name, position, verdict.name, verdict.pointer, verdict.reason, raw
            )
        repairs = tuple(str(repair) for repair in verdict.repairs)
        contract = _foreign_contract(self._source.group, verdict)
        return self._record(contract, verdict.name, verdict.raw, repairs), None

    def _known(self, entry: Json) -> VersionRecord | None:
        """The version that exactly this entry became before, so that it is not judged again.

        Judging compiles schemas, which takes milliseconds, and at every start every source lists
        mostly what it listed before. A release that judges differently empties the stored entries
        when it migrates.
        """
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            return None
        tool = self._snapshot.tools.get(ToolId(self._source.group, name))
        mine = [r for r in tool.versions.values() if r.source == self._source.name] if tool else []
        made = (record for record in mine if record.came_from(entry))
        return max(made, key=lambda record: record.version, default=None)

    def _record(
        self,
        contract: Contract,
        upstream_name: str,
        raw: JsonObject | None = None,
        repairs: tuple[str, ...] = (),
    ) -> VersionRecord:
        offer = VersionRecord.of(contract, self._source.name, upstream_name, raw)
        return replace(offer, repairs=repairs, created_at=self._now)

    def _problem(self, offer: VersionRecord, declared: Version | None) -> str | None:
        """Why an entry that is well formed cannot be accepted, or None."""
        if offer.tool in self._seen:
            return f"the source lists {offer.upstream_name!r} twice; the first one is used"
        tool = self._snapshot.tools.get(offer.tool)
        if tool is None:
            return None
        others = {r.source for v, r in tool.versions.items() if tool.is_callable(v)} - {
            self._source.name
        }
        if others:
            return f"{offer.tool} is provided by the source {min(others)!r} already"
        return _version_problem(tool, offer, declared)

    def _accept(self, offer: VersionRecord, declared: Version | None) -> None:
        tool = self._snapshot.tools.get(offer.tool)
        if tool is None:
            self._allocate(offer.tool)
            self._add(offer, declared or FIRST_VERSION)
            return
        same = [
            version
            for version, record in tool.versions.items()
            if record.fingerprint == offer.fingerprint
            and record.source == offer.source
            and declared in {None, version}
        ]
        if same:
            self._keep(tool, max(same))
        else:
            self._add(offer, declared or _next_version(tool, offer.contract))
            self._retire_replaced(tool, offer)

    def _allocate(self, tool: ToolId) -> None:
        name = published_name(tool, _Either(self._snapshot.by_published_name, self._new_names))
        self._new_names.add(name)
        self._changes.append(AllocateName(tool, name))

    def _add(self, offer: VersionRecord, version: Version) -> None:
        status = StatusRecord(
            "deprecated" if offer.contract.deprecation else "active", "", self._now
        )
        self._changes += [
            AddVersion(replace(offer, version=version)),
            SetStatus(offer.tool, version, status),
            SetHead(offer.tool, version),
        ]

    def _keep(self, tool: ToolRecord, version: Version) -> None:
        """A known contract is offered: it answers, unless a person has decided otherwise."""
        status = tool.statuses[version]
        if status.status == "retired" and status.reason in _COMES_BACK:
            deprecated = tool.versions[version].contract.deprecation is not None
            again = StatusRecord("deprecated" if deprecated else "active", "", self._now)
            self._changes.append(SetStatus(tool.id, version, again))
        elif not tool.is_callable(version) or tool.head_version == version:
            return
        self._changes.append(SetHead(tool.id, version))
        others = [v for v in tool.versions if v != version and tool.is_callable(v)]
        self._changes += [self._replaced(tool.id, other) for other in others]

    def _retire_replaced(self, tool: ToolRecord, offer: VersionRecord) -> None:
        """A source serves one contract at a time: callers of an old one would reach the new one."""
        for version, record in tool.versions.items():
            if tool.is_callable(version) and not _differs_in_text_only(
                record.contract, offer.contract
            ):
                self._changes.append(self._replaced(tool.id, version))

    def _replaced(self, tool: ToolId, version: Version) -> SetStatus:
        return SetStatus(tool, version, StatusRecord("retired", REPLACED, self._now))


@dataclass(frozen=True, slots=True)
class _Either:
    """Membership in one of two collections, without joining them."""

    first: Container[str]
    second: Container[str]

    def __contains__(self, name: object) -> bool:
        return name in self.first or name in self.second


def _version_problem(
    tool: ToolRecord, offer: VersionRecord, declared: Version | None
) -> str | None:
    newest = max(tool.versions, default=None)
    if declared is None or newest is None or declared > newest:
        return None
    taken = tool.versions.get(declared)
    if taken is not None and (taken.fingerprint, taken.source) == (offer.fingerprint, offer.source):
        return None
    return (
        f"version {declared} of {offer.tool} cannot be published: published versions "
        "never change and the "
        f"newest is {newest}; declare a version above it"
    )


def _next_version(tool: ToolRecord, contract: Contract) -> Version:
    newest = max(tool.versions, default=None)
    if newest is None:
        return FIRST_VERSION
    # Whether another change breaks callers is not known, and not known counts as breaking.
    is_text = _differs_in_text_only(tool.versions[newest].contract, contract)
    return newest.next_patch() if is_text else newest.next_major()


_TEXT = frozenset(
    {
        "version",
        "title",
        "description",
        "when_to_use",
        "when_not_to_use",
        "examples",
        "tags",
        "icons",
        "meta",
    }
)


def _differs_in_text_only(old: Contract, new: Contract) -> bool:
    exclude = set(_TEXT)
    return old.model_dump(mode="json", exclude=exclude) == new.model_dump(
        mode="json", exclude=exclude
    )


def _foreign_contract(group: str, tool: Adopted) -> Contract:
    """The contract of a tool that declares no more than MCP lets it; the rest stays unknown."""
    return Contract(
        group=group,
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        behaviour=Behaviour(
            read_only=tool.read_only,
            destructive=tool.destructive,
            idempotent=tool.idempotent,
            open_world=tool.open_world,
        ),
        icons=tuple(Icon.model_validate(icon) for icon in tool.icons),
        meta=tool.meta,
    )
