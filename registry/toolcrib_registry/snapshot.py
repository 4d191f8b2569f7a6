"""The catalogue at one revision: an immutable value, read without I/O or locks.

`Snapshot.with_changes` gives the next one. Nothing here decides what should change (`listing.py`,
`publishing`) or where it is kept (`ports.CatalogueStore`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

from toolcrib_protocol.errors import (
    CONFLICT,
    NO_SUCH_VERSION,
    UNKNOWN_SOURCE,
    UNKNOWN_TOOL,
    ToolError,
)
from toolcrib_protocol.names import Reference, ToolId, nearest
from toolcrib_protocol.version import VersionRange
from toolcrib_registry.changes import (
    AddVersion,
    AllocateName,
    AskAgain,
    Change,
    DropDeclaration,
    DropGroup,
    DropOverlay,
    DropProfile,
    DropRules,
    DropSource,
    PutDeclaration,
    PutGroup,
    PutOverlay,
    PutProfile,
    PutRules,
    PutSource,
    SetHead,
    SetQuarantine,
    SetStatus,
    name_taken,
    version_taken,
)
from toolcrib_registry.records import (
    DeclarationRecord,
    GroupRecord,
    OverlayRecord,
    ProfileRecord,
    QuarantineRecord,
    RulesRecord,
    SourceRecord,
    ToolRecord,
    VersionRecord,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolcrib_protocol.call_rules import RuleScope
    from toolcrib_protocol.version import Version


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot:
    """Everything the crib knows, at `revision`.

    The mappings are never changed after construction.
    """

    revision: int = 0
    sources: Mapping[str, SourceRecord] = field(default_factory=dict)
    tools: Mapping[ToolId, ToolRecord] = field(default_factory=dict)
    by_published_name: Mapping[str, ToolId] = field(default_factory=dict)
    groups: Mapping[str, GroupRecord] = field(default_factory=dict)
    quarantined: Mapping[str, tuple[QuarantineRecord, ...]] = field(default_factory=dict)
    profiles: Mapping[str, ProfileRecord] = field(default_factory=dict)
    overlays: Mapping[ToolId, OverlayRecord] = field(default_factory=dict)
    declarations: Mapping[str, DeclarationRecord] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    """How often each source was asked for its list anew."""
    rules: Mapping[RuleScope, RulesRecord] = field(default_factory=dict)

    def __repr__(self) -> str:
        # asyncio writes down what its tasks return: the repr of 4,000 tools took half a second and
        # 140 MB at the end of each command.
        return f"<Snapshot {self.revision}: {len(self.tools)} tools>"

    def with_changes(self, changes: Iterable[Change], revision: int) -> Snapshot:
        """The state after `changes`; applying a change twice is the same as once.

        Raises:
            ToolError: `conflict` for a change to what is published for ever, or of a tool or
                version there is not.
        """
        draft = _Draft(self)
        for change in changes:
            draft.apply(change)
        return draft.finished(revision)

    def source(self, name: str) -> SourceRecord:
        """The source of that name.

        Raises:
            ToolError: `unknown_source`, with the nearest names.
        """
        record = self.sources.get(name)
        if record is None:
            close = nearest(name, self.sources)
            hint = f"did you mean {', '.join(close)}?" if close else "`toolcrib sources` lists them"
            raise ToolError(
                UNKNOWN_SOURCE,
                f"no source is called {name!r}; {hint}",
                details={"nearest": [*close]},
            )
        return record

    def live_tools(self) -> Iterable[VersionRecord]:
        """The head of every tool that may be called, in order of identity."""
        # By key: comparing thousands of identities themselves takes seven times as long.
        ordered = sorted(self.tools.values(), key=lambda tool: (tool.id.group, tool.id.name))
        return (head for tool in ordered if (head := tool.head) is not None)

    def members(self, group: str) -> frozenset[ToolId]:
        """The tools of a group: those at home there and those that were put into it."""
        listed = self.groups[group].members if group in self.groups else ()
        return frozenset(listed) | {tool for tool in self.tools if tool.group == group}

    def identify(self, text: str) -> Reference:
        """The reference that a published name or a written reference means.

        Raises:
            ToolError: `unknown_tool`, with the nearest names; `invalid_version` for a bad range.
        """
        published = self.by_published_name.get(text)
        if published is not None:
            return Reference(published)
        try:
            return Reference.parse(text)
        except ToolError as error:
            raise self.unknown(text) from error

    def resolve(self, reference: Reference) -> VersionRecord:
        """The version that answers `reference`.

        Without a range that is the head; with one, the newest callable version inside it.

        Raises:
            ToolError: `unknown_tool` with the nearest names, also for what is hidden, or
                `no_such_version` with those there are.
        """
        tool = self.tools.get(reference.tool)
        if tool is None or tool.is_hidden:
            raise self.unknown(str(reference.tool))
        if reference.range == VersionRange() and tool.head is not None:
            return tool.head
        usable = [version for version in tool.versions if tool.is_callable(version)]
        version = reference.range.newest(usable)
        if version is None:
            raise _no_version(tool, reference, [str(version) for version in sorted(usable)])
        return tool.versions[version]

    def unknown(self, text: str) -> ToolError:
        """The error for a name that nothing here answers to, with the nearest that do."""
        live = {
            name: record.published_name
            for record in self.tools.values()
            if record.head is not None
            for name in (record.published_name, str(record.id), record.id.name)
        }
        close = list(dict.fromkeys(live[name] for name in nearest(text, live, limit=6)))[:3]
        hint = (
            f"the nearest names are {', '.join(close)}"
            if close
            else "a search finds tools by what they do"
        )
        return ToolError(
            UNKNOWN_TOOL, f"no tool is called {text[:200]!r}; {hint}", details={"nearest": [*close]}
        )


def _no_version(tool: ToolRecord, reference: Reference, usable: list[str]) -> ToolError:
    if usable:
        return ToolError(
            NO_SUCH_VERSION,
            f"{tool.id} has no callable version in {reference.range.text!r}; "
            f"callable are {', '.join(usable)}",
            details={"versions": [*usable]},
        )
    latest = max(tool.statuses, default=None)
    status = tool.statuses[latest] if latest is not None else None
    why = f": it is {status.status} ({status.reason or 'no reason given'})" if status else ""
    return ToolError(NO_SUCH_VERSION, f"no version of {tool.id} may be called{why}")


class _Draft:
    """A snapshot being changed: shallow copies, made once a commit."""

    def __init__(self, before: Snapshot) -> None:
        self._sources = dict(before.sources)
        self._tools = dict(before.tools)
        self._names = dict(before.by_published_name)
        self._groups = dict(before.groups)
        self._quarantined = dict(before.quarantined)
        self._profiles = dict(before.profiles)
        self._overlays = dict(before.overlays)
        self._declarations = dict(before.declarations)
        self._asked = dict(before.asked)
        self._rules = dict(before.rules)

    def finished(self, revision: int) -> Snapshot:
        return Snapshot(
            revision,
            self._sources,
            self._tools,
            self._names,
            self._groups,
            self._quarantined,
            self._profiles,
            self._overlays,
            self._declarations,
            self._asked,
            self._rules,
        )

    def apply(self, change: Change) -> None:
        match change:
            case AllocateName() | AddVersion() | SetStatus() | SetHead():
                self._apply_to_tool(change)
            case PutOverlay(record):
                self._overlays[record.tool] = record
                self._show(record.tool)
            case DropOverlay(tool):
                self._overlays.pop(tool, None)
                self._show(tool)
            case PutRules(record):
                self._rules[record.scope] = record
            case DropRules(scope):
                self._rules.pop(scope, None)
            case SetQuarantine():
                self._set_quarantine(change)
            case PutSource() | DropSource() | AskAgain():
                self._apply_to_source(change)
            case _:
                self._apply_to_names(change)

    def _apply_to_source(self, change: PutSource | DropSource | AskAgain) -> None:
        match change:
            case PutSource(source):
                self._sources[source.name] = source
            case DropSource(name):
                self._sources.pop(name, None)
                self._asked.pop(name, None)
            case AskAgain(name, number):
                self._asked[name] = number
            case _:
                assert_never(change)

    def _apply_to_names(
        self,
        change: PutGroup | DropGroup | PutProfile | DropProfile | PutDeclaration | DropDeclaration,
    ) -> None:
        match change:
            case PutGroup():
                self._groups[change.group.name] = change.group
            case DropGroup():
                self._groups.pop(change.name, None)
            case PutProfile():
                self._profiles[change.profile.name] = change.profile
            case DropProfile():
                self._profiles.pop(change.name, None)
            case PutDeclaration(declaration):
                self._declarations[declaration.name] = declaration
            case DropDeclaration(name):
                self._declarations.pop(name, None)
            case _:
                assert_never(change)

    def _show(self, tool: ToolId) -> None:
        """Make a tool hidden, or show it, as its overlay says."""
        laid, known = self._overlays.get(tool), self._tools.get(tool)
        is_hidden = laid is not None and laid.overlay.hidden
        if known is not None and known.is_hidden != is_hidden:
            self._tools[tool] = replace(known, is_hidden=is_hidden)

    def _set_quarantine(self, change: SetQuarantine) -> None:
        if change.entries:
            self._quarantined[change.source] = change.entries
        else:
            self._quarantined.pop(change.source, None)

    def _apply_to_tool(self, change: AllocateName | AddVersion | SetStatus | SetHead) -> None:
        match change:
            case AllocateName():
                self._allocate(change)
            case AddVersion(record):
                tool = self._tool(record.tool)
                if tool.versions.get(record.version, record) != record:
                    raise version_taken(record.tool, record.version)
                versions = {**tool.versions, record.version: record}
                self._tools[record.tool] = replace(tool, versions=versions)
            case SetStatus():
                tool = self._tool(change.tool, change.version)
                statuses = {**tool.statuses, change.version: change.status}
                self._tools[change.tool] = replace(tool, statuses=statuses)
            case SetHead():
                tool = self._tool(change.tool, change.version)
                self._tools[change.tool] = replace(tool, head_version=change.version)
            case _:
                assert_never(change)

    def _tool(self, tool: ToolId, version: Version | None = None) -> ToolRecord:
        record = self._tools.get(tool)
        if record is None:
            raise ToolError(CONFLICT, f"{tool} has no published name yet; that comes first")
        if version is not None and version not in record.versions:
            raise ToolError(CONFLICT, f"{tool} has no version {version} yet; that comes first")
        return record

    def _allocate(self, change: AllocateName) -> None:
        name = change.published_name
        tool = self._tools.get(change.tool, ToolRecord(change.tool, name, None, {}, {}))
        if self._names.get(name, change.tool) != change.tool or tool.published_name != name:
            raise name_taken(change.tool, name)
        self._names[name] = change.tool
        self._tools[change.tool] = tool
        self._show(change.tool)
