"""Making the catalogue what a declarative file says, in one commit, touching only what differs.

What an earlier file of the same name put in and this one does not name is taken out again; anything
else stays, unless it shall be pruned. Pure: snapshot and declaration in, changes and differences
out. Knows nothing of files; adapters read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from toolcrib_protocol.call_rules import RuleScope
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.changes import (
    DropDeclaration,
    DropGroup,
    DropProfile,
    DropRules,
    PutDeclaration,
    PutGroup,
    PutProfile,
    PutRules,
    PutSource,
)
from toolcrib_registry.differences import (
    Difference,
    group_facts,
    profile_facts,
    source_facts,
)
from toolcrib_registry.groups import home_of, put_group
from toolcrib_registry.overlaying import drop_overlay, put_overlay
from toolcrib_registry.records import DeclarationRecord, GroupRecord, RulesRecord, SourceRecord
from toolcrib_registry.retirement import remove_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolcrib_protocol.call_rules import CallRules
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_protocol.overlay import Overlay
    from toolcrib_registry.changes import Change
    from toolcrib_registry.records import ProfileRecord
    from toolcrib_registry.snapshot import Snapshot

    Part = tuple[str, str]

SOURCE: Final = "source"
GROUP: Final = "group"
OVERLAY: Final = "overlay"
PROFILE: Final = "profile"
RULES: Final = "rules"


@dataclass(frozen=True, slots=True)
class DeclaredGroup:
    """What is said about a group; None leaves that as it is."""

    name: str
    title: str | None = None
    description: str | None = None
    members: tuple[ToolId, ...] | None = None
    refuses_unknown_arguments: bool | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """Everything that one file says about the catalogue.

    Attributes:
        name: what the file calls itself; it owns what it puts in.
        sources: by name.
        groups: by name.
        overlays: by tool; the tools need not exist yet.
        profiles: by name.
        rules: by scope; the scopes need not exist yet.
    """

    name: str
    sources: Mapping[str, SourceRecord] = field(default_factory=dict)
    groups: Mapping[str, DeclaredGroup] = field(default_factory=dict)
    overlays: Mapping[ToolId, Overlay] = field(default_factory=dict)
    profiles: Mapping[str, ProfileRecord] = field(default_factory=dict)
    rules: Mapping[RuleScope, CallRules] = field(default_factory=dict)

    @property
    def parts(self) -> frozenset[Part]:
        """What it names, as pairs of a kind and a name."""
        return frozenset(
            [
                *((SOURCE, name) for name in self.sources),
                *((GROUP, name) for name in self.groups),
                *((OVERLAY, str(tool)) for tool in self.overlays),
                *((PROFILE, name) for name in self.profiles),
                *((RULES, str(scope)) for scope in self.rules),
            ]
        )


class DeclarationError(ToolError):
    """A part of a declaration that cannot be carried out; its reader knows where it stands."""

    def __init__(self, kind: str, name: str, error: ToolError) -> None:
        super().__init__(error.code, error.message, error.kind, error.details)
        self.part = (kind, name)


@dataclass(frozen=True, slots=True)
class Decision:
    """What has to change, and how it differs from what there is, for people."""

    changes: tuple[Change, ...]
    differences: tuple[Difference, ...]


def declare(
    snapshot: Snapshot, declaration: Declaration, now: str, *, prune: bool = False
) -> Decision:
    """How the catalogue becomes what `declaration` says; no changes if it is that already.

    Args:
        snapshot: the catalogue as it is.
        declaration: what shall be.
        now: UTC, ISO 8601, for new rows.
        prune: also take out what no file put in.

    Raises:
        DeclarationError: a part that cannot be; nothing is to be changed then.
    """
    plan = _Plan(snapshot, now)
    for part in _surplus(snapshot, declaration, prune=prune):
        plan.remove(*part)
    for source in declaration.sources.values():
        plan.put_source(source)
    for group in declaration.groups.values():
        plan.put_group(group)
    for profile in declaration.profiles.values():
        plan.put_profile(profile)
    for tool, overlay in declaration.overlays.items():
        plan.put_overlay(tool, overlay)
    for scope, rules in declaration.rules.items():
        plan.put_rules(scope, rules)
    plan.own(declaration)
    return Decision(tuple(plan.changes), tuple(plan.differences))


def _surplus(snapshot: Snapshot, declaration: Declaration, *, prune: bool) -> Sequence[Part]:
    """What shall go: overlays first, sources (with their home groups) before other groups."""
    owned = {name: frozenset(d.parts) for name, d in snapshot.declarations.items()}
    mine = owned.pop(declaration.name, frozenset())
    others = frozenset().union(*owned.values())
    going = mine | _all_parts(snapshot) if prune else mine
    order = (RULES, OVERLAY, PROFILE, SOURCE, GROUP)
    return sorted(going - declaration.parts - others, key=lambda part: (order.index(part[0]), part))


def _all_parts(snapshot: Snapshot) -> frozenset[Part]:
    return frozenset(
        [
            *((SOURCE, name) for name in snapshot.sources),
            *((GROUP, name) for name in snapshot.groups if home_of(snapshot, name) is None),
            *((OVERLAY, str(tool)) for tool in snapshot.overlays),
            *((PROFILE, name) for name in snapshot.profiles),
            *((RULES, str(scope)) for scope in snapshot.rules),
        ]
    )


class _Plan:
    """Changes so far, and the catalogue as they leave it."""

    def __init__(self, snapshot: Snapshot, now: str) -> None:
        self.changes: list[Change] = []
        self.differences: list[Difference] = []
        self._now = now
        self._snapshot = snapshot
        self._replaced: set[str] = set()
        self._as_it_was: set[Part] = set()

    def remove(self, kind: str, name: str) -> None:
        """Take out a part, if it is there."""
        match kind:
            case "source" if name in self._snapshot.sources:
                self._do(remove_source(self._snapshot, name, self._now))
            case "group" if name in self._snapshot.groups:
                self._remove_group(name)
            case "overlay" if (tool := _tool(self._snapshot, name)) is not None:
                self._do(drop_overlay(self._snapshot, tool, self._now))
            case "profile" if name in self._snapshot.profiles:
                self._do([DropProfile(name)])
            case "rules" if (scope := RuleScope.parse(name)) in self._snapshot.rules:
                self._do([DropRules(scope)])
            case _:
                return
        self.differences.append(Difference("remove", kind, name))

    def _remove_group(self, name: str) -> None:
        if home_of(self._snapshot, name) is None:
            self._do([DropGroup(name)])
        else:
            # Its source's tools stay at home in it; only what was said about it goes.
            self._do([PutGroup(GroupRecord(name))])

    def put_source(self, source: SourceRecord) -> None:
        known = self._snapshot.sources.get(source.name)
        facts = source_facts(source)
        old = None if known is None else source_facts(known)
        # Settings that say nothing are none: a source is not connected anew for them.
        if old == facts:
            return
        if known is not None and known.kind is not source.kind:
            self._do(remove_source(self._snapshot, known.name, self._now))
        self._do([PutSource(source)])
        self._replaced.add(source.name)
        self._note(SOURCE, source.name, old, facts)

    def put_group(self, declared: DeclaredGroup) -> None:
        known = self._snapshot.groups.get(declared.name)
        wanted = _group(known or GroupRecord(declared.name), declared)
        old = None if known is None else group_facts(known)
        changes = put_group(self._snapshot, wanted)
        if changes:
            self._do(changes)
            self._note(GROUP, declared.name, old, group_facts(wanted))
        elif home_of(self._snapshot, declared.name) is not None:
            self._as_it_was.add((GROUP, declared.name))

    def put_profile(self, profile: ProfileRecord) -> None:
        known = self._snapshot.profiles.get(profile.name)
        old = None if known is None else profile_facts(known)
        if known != profile:
            self._do([PutProfile(profile)])
            self._note(PROFILE, profile.name, old, profile_facts(profile))

    def put_rules(self, scope: RuleScope, rules: CallRules) -> None:
        known = self._snapshot.rules.get(scope)
        old = None if known is None else known.rules.as_json()
        if known is None or known.unreadable or old != rules.as_json():
            self._do([PutRules(RulesRecord(scope, rules))])
            self._note(RULES, str(scope), old, rules.as_json())

    def put_overlay(self, tool: ToolId, overlay: Overlay) -> None:
        known = self._snapshot.overlays.get(tool)
        old = None if known is None else known.overlay.as_json()
        try:
            changes = put_overlay(
                self._snapshot, tool, overlay, self._now, is_strict=not self._may_differ(tool)
            )
        except ToolError as error:
            raise DeclarationError(OVERLAY, str(tool), error) from error
        if changes:
            self._do(changes)
            self._note(OVERLAY, str(tool), old, overlay.as_json())

    def _may_differ(self, tool: ToolId) -> bool:
        """Whether the source of a tool changes now, so that what it will offer is not known yet."""
        known = self._snapshot.tools.get(tool)
        sources = {record.source for record in known.versions.values()} if known else set()
        return not self._replaced.isdisjoint(sources)

    def own(self, declaration: Declaration) -> None:
        """Remember what the file put in; that alone is no difference to tell."""
        known = self._snapshot.declarations.get(declaration.name)
        before = frozenset(known.parts) if known is not None else frozenset()
        # What a source says of its own group was not put in by the file that says the same.
        parts = declaration.parts - (self._as_it_was - before)
        record = DeclarationRecord(declaration.name, tuple(sorted(parts)))
        if record.parts and known != record:
            self._do([PutDeclaration(record)])
        elif known is not None and not record.parts:
            self._do([DropDeclaration(declaration.name)])

    def _do(self, changes: Sequence[Change]) -> None:
        self.changes += changes
        self._snapshot = self._snapshot.with_changes(changes, self._snapshot.revision)

    def _note(self, kind: str, name: str, old: JsonObject | None, new: JsonObject) -> None:
        action: Literal["add", "change"] = "add" if old is None else "change"
        self.differences.append(Difference.between(action, kind, name, old or {}, new))


def _tool(snapshot: Snapshot, name: str) -> ToolId | None:
    return next((tool for tool in snapshot.overlays if str(tool) == name), None)


def _group(known: GroupRecord, declared: DeclaredGroup) -> GroupRecord:
    members = known.members if declared.members is None else declared.members
    refuses = declared.refuses_unknown_arguments
    return replace(
        known,
        title=known.title if declared.title is None else declared.title,
        description=known.description if declared.description is None else declared.description,
        # Which members, not in which order, is what a file says.
        members=known.members if set(members) == set(known.members) else members,
        refuses_unknown_arguments=known.refuses_unknown_arguments if refuses is None else refuses,
    )
