"""The changes a catalogue knows: values that `Snapshot.with_changes` applies and stores keep.

A change says what is true afterwards, so applying the same change twice gives the same state:
followers may read a change again after a crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcrib_protocol.errors import CONFLICT, ToolError

if TYPE_CHECKING:
    from toolcrib_protocol.call_rules import RuleScope
    from toolcrib_protocol.names import ToolId
    from toolcrib_protocol.version import Version
    from toolcrib_registry.records import (
        DeclarationRecord,
        GroupRecord,
        OverlayRecord,
        ProfileRecord,
        QuarantineRecord,
        RulesRecord,
        SourceRecord,
        StatusRecord,
        VersionRecord,
    )


@dataclass(frozen=True, slots=True)
class PutSource:
    """A source is registered, or its settings are replaced."""

    source: SourceRecord


@dataclass(frozen=True, slots=True)
class DropSource:
    """A source is gone. Its versions' statuses are changes of their own."""

    name: str


@dataclass(frozen=True, slots=True)
class AllocateName:
    """A tool exists from now on and is published under this name, for ever."""

    tool: ToolId
    published_name: str


@dataclass(frozen=True, slots=True)
class AddVersion:
    """A version exists from now on and never changes.

    Its tool has a name (`AllocateName` came before).
    """

    record: VersionRecord


@dataclass(frozen=True, slots=True)
class SetStatus:
    """A version has this status now."""

    tool: ToolId
    version: Version
    status: StatusRecord


@dataclass(frozen=True, slots=True)
class SetHead:
    """This version answers when none is asked for; None when no version may."""

    tool: ToolId
    version: Version | None


@dataclass(frozen=True, slots=True)
class PutGroup:
    """A group exists with these members, or is replaced."""

    group: GroupRecord


@dataclass(frozen=True, slots=True)
class DropGroup:
    """A group is gone; its tools stay."""

    name: str


@dataclass(frozen=True, slots=True)
class PutProfile:
    """A profile exists with these settings, or is replaced."""

    profile: ProfileRecord


@dataclass(frozen=True, slots=True)
class DropProfile:
    """A profile is gone."""

    name: str


@dataclass(frozen=True, slots=True)
class PutOverlay:
    """A tool has this overlay now. The versions it makes are changes of their own."""

    record: OverlayRecord


@dataclass(frozen=True, slots=True)
class DropOverlay:
    """A tool has no overlay now."""

    tool: ToolId


@dataclass(frozen=True, slots=True)
class PutRules:
    """A scope has exactly these rules now."""

    record: RulesRecord


@dataclass(frozen=True, slots=True)
class DropRules:
    """A scope has no rules now."""

    scope: RuleScope


@dataclass(frozen=True, slots=True)
class PutDeclaration:
    """A declarative file put exactly these parts into the catalogue."""

    declaration: DeclarationRecord


@dataclass(frozen=True, slots=True)
class DropDeclaration:
    """A declarative file puts nothing into the catalogue any more."""

    name: str


@dataclass(frozen=True, slots=True)
class AskAgain:
    """A source is asked for its list for the `number`-th time; whoever runs it asks it now."""

    source: str
    number: int


@dataclass(frozen=True, slots=True)
class SetQuarantine:
    """These, and only these, entries of a source's list are quarantined."""

    source: str
    entries: tuple[QuarantineRecord, ...]


Change = (
    PutSource
    | DropSource
    | AllocateName
    | AddVersion
    | SetStatus
    | SetHead
    | PutGroup
    | DropGroup
    | PutProfile
    | DropProfile
    | PutOverlay
    | DropOverlay
    | PutRules
    | DropRules
    | PutDeclaration
    | DropDeclaration
    | AskAgain
    | SetQuarantine
)


def name_taken(tool: ToolId, name: str) -> ToolError:
    """The refusal of a published name that is another tool's, or a second one for the same tool."""
    what = f"{tool} cannot be published as {name!r}"
    return ToolError(CONFLICT, f"{what}: a tool keeps its published name, and a name its tool")


def version_taken(tool: ToolId, version: Version) -> ToolError:
    """The refusal to change a version that is published."""
    what = f"version {version} of {tool} is published with other content"
    return ToolError(CONFLICT, f"{what}; published versions never change: choose the next version")
