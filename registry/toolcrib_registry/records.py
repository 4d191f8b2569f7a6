"""What the catalogue keeps: sources, tools with their versions, groups, profiles, quarantine.

Frozen values. A version record never changes once it is committed; what may change (status, head)
stands beside it. Nothing here knows how records are stored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.status import CALLABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_protocol.call_rules import CallRules, RuleScope
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_protocol.overlay import Laid, Overlay
    from toolcrib_protocol.status import VersionStatus
    from toolcrib_protocol.tool import Contract
    from toolcrib_protocol.version import Version
    from toolcrib_registry.contract_text import Underlay


class SourceKind(StrEnum):
    """What a source is made of; the composition root has one opener a kind."""

    MCP = "mcp"
    PYTHON = "python"
    SNAPSHOT = "snapshot"
    """Catalogued for reading: a stored list or contract file; calls are refused."""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Something that offers tools.

    Attributes:
        name: unique; a group name.
        kind: which opener understands the spec.
        spec: the opener's own settings as JSON; `${NAME}` stays unexpanded, so no secret is stored.
        group: the home group of its tools (default: the source's name).
    """

    name: str
    kind: SourceKind
    spec: JsonObject
    group: str


@dataclass(frozen=True)
class VersionRecord:
    """One immutable version of a tool.

    The contract is kept as text and parsed when somebody needs it: a catalogue of thousands of
    tools then loads in a tenth of a second, and most tools are never looked at.

    Attributes:
        tool: the identity.
        version: the version number.
        written: the contract as JSON text in ASCII.
        fingerprint: `contract.fingerprint()`.
        source: the name of the source that provides this version.
        upstream_name: the tool's exact name at its source.
        raw: the entry as the source sent it, as JSON text in ASCII (empty for our own forms).
        repairs: what was mended so that the entry could be accepted, in sentences.
        created_at: UTC, ISO 8601.
        under: what is under its overlay, as JSON text in ASCII; empty if no overlay changed it.
    """

    tool: ToolId
    version: Version
    written: str
    fingerprint: str
    source: str
    upstream_name: str
    raw: str = ""
    repairs: tuple[str, ...] = ()
    created_at: str = ""
    under: str = ""

    @cached_property
    def contract(self) -> Contract:
        """The contract of this version."""
        from toolcrib_registry.contract_text import read_contract  # noqa: PLC0415 - it says why

        return read_contract(self.written).model_copy(update={"version": self.version})

    @property
    def description(self) -> str:
        """The contract's description, without reading the rest of it."""
        read = self.__dict__.get("contract")
        if read is not None:
            return str(read.description)
        return str(json.loads(self.written).get("description", ""))

    @cached_property
    def underlay(self) -> Underlay | None:
        """What is under the overlay of this version; None if none changed it."""
        from toolcrib_registry.contract_text import read_underlay  # noqa: PLC0415 - it says why

        return read_underlay(self.under) if self.under else None

    @property
    def offered(self) -> Contract:
        """The contract as the source offered it; it declares a version only if the author did."""
        from toolcrib_registry.contract_text import read_contract  # noqa: PLC0415 - it says why

        return self.underlay.offered if self.underlay else read_contract(self.written)

    @property
    def presets(self) -> JsonObject:
        """Arguments that every call of this version is sent with."""
        return self.underlay.presets if self.underlay else {}

    @property
    def reserved(self) -> tuple[str, ...]:
        """Names of arguments that callers of this version may not give."""
        return self.underlay.reserved if self.underlay else ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """What of the overlay does not fit this version, in sentences."""
        return self.underlay.left_out if self.underlay else ()

    def says_the_same(self, other: VersionRecord) -> bool:
        """Whether both stand for one contract, from one source, with the same presets."""
        return (self.source, self.fingerprint, self._offered_fingerprint) == (
            other.source,
            other.fingerprint,
            other._offered_fingerprint,
        ) and (self.presets, self.reserved, self.left_out) == (
            other.presets,
            other.reserved,
            other.left_out,
        )

    def is_offered_as(self, other: VersionRecord) -> bool:
        """Whether the source offered the same contract for both, whatever was laid over it."""
        return (self.source, self._offered_fingerprint) == (
            other.source,
            other._offered_fingerprint,
        )

    @property
    def _offered_fingerprint(self) -> str:
        return self.underlay.fingerprint if self.underlay else self.fingerprint

    def with_overlay(self, laid: Laid) -> VersionRecord:
        """This record of an offered contract with an overlay on it."""
        written = _text(laid.contract.as_json())
        if written == self.written and not laid.reserved and not laid.left_out:
            return self
        under: JsonObject = {
            "offered": json.loads(self.written),
            "fingerprint": self.fingerprint,
            "presets": laid.presets,
            "reserved": [*laid.reserved],
            "left_out": [*laid.left_out],
        }
        fingerprint = laid.contract.fingerprint()
        return replace(self, written=written, fingerprint=fingerprint, under=_text(under))

    def without_overlay(self) -> VersionRecord:
        """This record as it would be if no overlay had been laid."""
        if self.underlay is None:
            return self
        written = _text(self.underlay.offered.as_json())
        return replace(self, written=written, fingerprint=self.underlay.fingerprint, under="")

    @classmethod
    def of(
        cls, contract: Contract, source: str, upstream_name: str, raw: Json = None
    ) -> VersionRecord:
        """The record of a contract that `source` offers; `raw` is the entry it came from."""
        return cls(
            contract.id,
            contract.version,
            _text(contract.as_json()),
            contract.fingerprint(),
            source,
            upstream_name,
            "" if raw is None else _text(raw),
        )

    def came_from(self, raw: Json) -> bool:
        """Whether exactly this entry, as its source sent it, became this version."""
        try:
            return self.raw == _text(raw)
        except (ValueError, RecursionError):
            # Not JSON, or nested without end: no such entry ever became a version.
            return False


def _text(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class StatusRecord:
    """Where a version is in its life, since when (UTC, ISO 8601) and why."""

    status: VersionStatus
    reason: str = ""
    since: str = ""

    @property
    def is_callable(self) -> bool:
        """Whether calls may reach a version of this status."""
        return self.status in CALLABLE


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """A tool: its names, its versions with their status, and which version is the head.

    A tool record is never deleted: its published name stays allocated when all its versions are
    retired. A hidden one (its overlay says so) lives on, but is neither found nor called.
    """

    id: ToolId
    published_name: str
    head_version: Version | None
    versions: Mapping[Version, VersionRecord]
    statuses: Mapping[Version, StatusRecord]
    is_hidden: bool = False

    @property
    def head(self) -> VersionRecord | None:
        """The version that answers when none is asked for, or None if it may not be called."""
        if self.head_version is None or not self.is_callable(self.head_version):
            return None
        return self.versions[self.head_version]

    def is_callable(self, version: Version) -> bool:
        """Whether `version` exists and may be called."""
        return not self.is_hidden and self.is_live(version)

    def is_live(self, version: Version) -> bool:
        """Whether `version` exists and has a status in which it may be called."""
        status = self.statuses.get(version)
        return status is not None and status.is_callable and version in self.versions


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A named set of tools; a home group holds its source's tools without listing them.

    Attributes:
        name: unique; a group name.
        title: for people.
        description: what the tools are for; shown to models.
        members: tools of other home groups that also belong here.
        refuses_unknown_arguments: whether a call with an argument name that the schema does not
            know is refused (True), or let through and reported in the result's `_meta` (False).
    """

    name: str
    title: str = ""
    description: str = ""
    members: tuple[ToolId, ...] = ()
    refuses_unknown_arguments: bool = True


class EndpointMode(StrEnum):
    """Which tools an endpoint lists natively; every tool it shows can be called in each mode."""

    AUTO = "auto"
    """All of them while their definitions are few tokens, the meta-tools beyond that."""
    DYNAMIC = "dynamic"
    """The meta-tools, and the tools that are pinned."""
    FULL = "full"
    """All of them, and no meta-tool."""


DEFAULT_PROFILE: Final = "default"
"""The profile of the plain endpoint, `/mcp` and standard streams."""


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """What one kind of client sees, and how much it may do at once.

    Attributes:
        name: unique; spelt like a group name.
        title: for people.
        description: for people.
        groups: the groups whose tools it shows, those that do not exist yet included; None: all.
        pins: tools that are listed natively in every mode, in this order.
        mode: which other tools are listed natively.
        timeout_seconds: the longest a call may take; None: no limit of this profile's own.
        calls_at_once: how many calls of this profile may run at the same time; None: any number.
    """

    name: str
    title: str = ""
    description: str = ""
    groups: tuple[str, ...] | None = None
    pins: tuple[ToolId, ...] = ()
    mode: EndpointMode = EndpointMode.AUTO
    timeout_seconds: float | None = None
    calls_at_once: int | None = None


@dataclass(frozen=True, slots=True)
class OverlayRecord:
    """What the operator lays over a tool, also over one that no source offers yet."""

    tool: ToolId
    overlay: Overlay


@dataclass(frozen=True, slots=True)
class RulesRecord:
    """What the operator set for the calls of a scope, also of one that does not exist yet.

    Attributes:
        scope: what they are for.
        rules: what holds.
        unreadable: why what was kept cannot be read, all or some of it; `rules` are then the
            careful ones in its place.
    """

    scope: RuleScope
    rules: CallRules
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class DeclarationRecord:
    """What a declarative file put into the catalogue, so that the next one can take it out again.

    Attributes:
        name: what the file calls itself.
        parts: pairs of a kind (`source`, `group`, `overlay`, `profile`, `rules`) and a name,
            sorted.
    """

    name: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class QuarantineRecord:
    """An entry of a source's list that could not be accepted, and why.

    Attributes:
        source: who listed it.
        position: its index in the list.
        name: its name, where it had a readable one.
        pointer: JSON Pointer to the fault inside the entry.
        reason: a sentence.
        raw: the entry as JSON.
    """

    source: str
    position: int
    name: str | None
    pointer: str
    reason: str
    raw: JsonObject = field(default_factory=dict)
