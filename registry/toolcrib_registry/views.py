"""What is visible where: the one decision that lists, searches, descriptions and calls ask for.

A `View` is what an endpoint shows to everybody; a `Policy` says what a caller may use; a `Sight` is
both at one state of the catalogue. What is outside a sight is unknown there: it is neither found,
nor described, nor called, nor named as something near. Endpoints and their paths are a matter of
the surfaces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import UNKNOWN_TOOL, ToolError
from toolcrib_protocol.names import Reference
from toolcrib_protocol.version import VersionRange
from toolcrib_registry.permissions import LOCAL_CALLER, AllowAll, Caller
from toolcrib_registry.records import EndpointMode, ProfileRecord

if TYPE_CHECKING:
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class View:
    """What an endpoint shows, and how much may be called through it.

    Attributes:
        name: of the profile whose limits these are; calls of one name share them.
        groups: the groups whose tools are shown; None: all tools.
        pins: tools that are shown besides, and listed natively in every mode.
        mode: which other tools are listed natively.
        timeout_seconds: the longest a call may take, or None.
        calls_at_once: how many calls may run at the same time, or None.
    """

    name: str = ""
    groups: tuple[str, ...] | None = None
    pins: tuple[ToolId, ...] = ()
    mode: EndpointMode = EndpointMode.AUTO
    timeout_seconds: float | None = None
    calls_at_once: int | None = None

    @classmethod
    def of(cls, profile: ProfileRecord) -> View:
        """The view that a profile describes."""
        return cls(
            profile.name,
            profile.groups,
            profile.pins,
            profile.mode,
            profile.timeout_seconds,
            profile.calls_at_once,
        )

    def allows(self, snapshot: Snapshot, tool: ToolId) -> bool:
        """Whether the tool is shown."""
        return Sight(snapshot, self).allows(tool)


_ALLOW_ALL: Final = AllowAll()
WHOLE: Final = View()
"""Everything, without limits of its own."""


@dataclass(frozen=True)
class Sight:
    """What one caller sees through one view, at one state of the catalogue."""

    snapshot: Snapshot
    view: View = WHOLE
    policy: Policy = _ALLOW_ALL
    caller: Caller = LOCAL_CALLER

    @property
    def is_whole(self) -> bool:
        """Whether nothing is hidden, so that nobody has to ask about each tool."""
        return self.view.groups is None and type(self.policy) is AllowAll

    def allows(self, tool: ToolId) -> bool:
        """Whether the caller sees the tool here and may call it."""
        return self._is_shown(tool) and self.policy.allows(self.caller, tool)

    def knows(self, tool: ToolId) -> bool:
        """Whether the caller sees the tool and it is not hidden; it may be out of use."""
        record = self.snapshot.tools.get(tool)
        return record is not None and not record.is_hidden and self.allows(tool)

    def _is_shown(self, tool: ToolId) -> bool:
        groups = self.view.groups
        return groups is None or tool.group in groups or tool in self._guests

    @cached_property
    def _guests(self) -> frozenset[ToolId]:
        """The tools that are shown although their home group is not."""
        groups = (self.snapshot.groups.get(name) for name in self.view.groups or ())
        members = {tool for group in groups if group is not None for tool in group.members}
        return frozenset({*members, *self.view.pins})

    @cached_property
    def heads(self) -> tuple[VersionRecord, ...]:
        """The head of every visible tool that may be called, in order of identity."""
        tools = self.snapshot.tools
        # Filtered before they are sorted: an endpoint of few tools must not sort thousands.
        shown = sorted(tool for tool in tools if self.allows(tool))
        return tuple(head for tool in shown if (head := tools[tool].head) is not None)

    def resolve(self, text: str, version: str | None = None) -> VersionRecord:
        """The version that answers a published name or reference, narrowed by the range `version`.

        Raises:
            ToolError: `unknown_tool` (also for what is not visible), `no_such_version`,
                `invalid_version`.
        """
        try:
            reference = self.snapshot.identify(text)
            if version:
                reference = Reference(reference.tool, VersionRange.parse(version))
            if self.allows(reference.tool):
                return self.snapshot.resolve(reference)
        except ToolError as error:
            if error.code != UNKNOWN_TOOL:
                raise
        # Hidden and unknown look the same from outside, and neither names what is not visible.
        raise self.unknown(text)

    def unknown(self, text: str) -> ToolError:
        """The error for a name that nothing here answers to, with the nearest that do."""
        tools = {id_: tool for id_, tool in self.snapshot.tools.items() if self.allows(id_)}
        return replace(self.snapshot, tools=tools).unknown(text)
