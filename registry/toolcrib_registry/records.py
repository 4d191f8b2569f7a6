"""What the catalogue keeps: sources, tools with their versions, groups, profiles, quarantine.

Frozen values. A version record never changes once it is committed; what may change (status, head)
stands beside it. Nothing here knows how records are stored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.status import CALLABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_protocol.status import VersionStatus
    from toolcrib_protocol.tool import Contract
    from toolcrib_protocol.version import Version


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
    retired.
    """

    id: ToolId
    published_name: str
    head_version: Version | None
    versions: Mapping[Version, VersionRecord]
    statuses: Mapping[Version, StatusRecord]

    @property
    def head(self) -> VersionRecord | None:
        """The version that answers when none is asked for, or None if it may not be called."""
        if self.head_version is None or not self.is_callable(self.head_version):
            return None
        return self.versions[self.head_version]

    def is_callable(self, version: Version) -> bool:
        """Whether `version` exists and may be called."""
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
