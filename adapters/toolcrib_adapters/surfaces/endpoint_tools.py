"""What one endpoint shows: its sight, its tool list in each mode, and its names for tools.

Everything is made anew only when the catalogue has moved, and definitions only for the page that
somebody reads. The same for every connection of the endpoint; what differs is told by `mode`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from toolcrib_adapters.surfaces.group_summary import summary, visible_groups
from toolcrib_adapters.surfaces.meta_tools import READ_RESULT, definition_of, definitions
from toolcrib_adapters.surfaces.native_tools import NativeTool, definition_tokens
from toolcrib_adapters.surfaces.no_tools import why_no_tools
from toolcrib_adapters.surfaces.shown_names import bare_names
from toolcrib_protocol.errors import UNKNOWN_TOOL, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.names import nearest
from toolcrib_registry.modes import MOST_FULL_TOKENS, settled_mode
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.records import EndpointMode
from toolcrib_registry.views import Sight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from toolcrib_adapters.surfaces.endpoints import Endpoint
    from toolcrib_adapters.surfaces.group_summary import GroupView
    from toolcrib_adapters.surfaces.passthrough.links import Links
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.ports import SourceState


@dataclass(frozen=True, slots=True)
class ToolList:
    """What is listed: meta-tools as they are, then native tools; `stamp` tells lists apart."""

    entries: tuple[JsonObject | NativeTool, ...]
    stamp: str


@dataclass(frozen=True)
class Shown:
    """What an endpoint shows at one state of the catalogue."""

    endpoint: Endpoint
    sight: Sight
    states: Callable[[], Mapping[str, SourceState]]

    @cached_property
    def groups(self) -> tuple[GroupView, ...]:
        """The groups that have a callable tool here."""
        return visible_groups(self.sight)

    @cached_property
    def allowed(self) -> frozenset[ToolId] | None:
        """The tools that a search may find; None: all."""
        if self.sight.is_whole:
            return None
        return frozenset(tool for tool in self.sight.snapshot.tools if self.sight.allows(tool))

    @cached_property
    def native(self) -> dict[str, NativeTool]:
        """Every callable tool by the name it has here, in the order of the list."""
        if self.endpoint.is_group:
            bare = bare_names(self.sight, self.endpoint.name)
            return {name: NativeTool(name, record, is_exact=True) for name, record in bare.items()}
        named = ((self._published_name(head.tool), head) for head in self.sight.heads)
        return {name: NativeTool(name, record) for name, record in sorted(named, key=_first)}

    @cached_property
    def full_list(self) -> ToolList:
        """All tools, and, where sources share the endpoint, what reads their large results."""
        if self.endpoint.is_group:
            return _stamped(self.native.values())
        return _stamped([*self.native.values(), definition_of(READ_RESULT)])

    @property
    def why_empty(self) -> str:
        """Why there is no tool, as sources are doing now; empty if there is one."""
        return "" if self.sight.heads else why_no_tools(self.endpoint, self.sight, self.states())

    @property
    def empty_list(self) -> ToolList:
        """The meta-tools of an endpoint without tools: they say why."""
        return _stamped(definitions(self.why_empty))

    @cached_property
    def dynamic_list(self) -> ToolList:
        """The meta-tools, and the pinned tools in the order of the pins."""
        names = (self._published_name(pin) for pin in self.sight.view.pins)
        pinned = [self.native[name] for name in dict.fromkeys(names) if name in self.native]
        return _stamped([*definitions(summary(self.groups)), *pinned])

    def _published_name(self, tool: ToolId) -> str:
        record = self.sight.snapshot.tools.get(tool)
        return record.published_name if record is not None else ""

    def called(self, name: str) -> str:
        """The published name or reference that a name means here.

        Raises:
            ToolError: `unknown_tool`, with the nearest names of this endpoint.
        """
        native = self.native.get(name) if self.endpoint.is_group else None
        if native is not None:
            return self._published_name(native.record.tool)
        if self.endpoint.is_group or not self.sight.heads:
            self._check_known(name)
        return name

    def _check_known(self, name: str) -> None:
        try:
            self.sight.resolve(name)
        except ToolError as error:
            if error.code != UNKNOWN_TOOL:
                raise
            close = nearest(name, self.native)
            hint = f"the nearest names are {', '.join(close)}" if close else "`tools/list` has all"
            text = f"no tool here is called {name[:200]!r}; {self.why_empty or hint}"
            raise ToolError(UNKNOWN_TOOL, text, details={"nearest": [*close]}) from None


class EndpointTools:
    """Follows the catalogue for one endpoint; used from one event loop."""

    def __init__(self, catalogue: Catalogue, endpoint: Endpoint, policy: Policy) -> None:
        """What `endpoint` shows to whom `policy` allows it."""
        self._catalogue = catalogue
        self._endpoint = endpoint
        self._policy = policy
        self.states: Callable[[], Mapping[str, SourceState]] = dict
        """What the sources of this process are doing."""
        self.has_replicas = False
        """Whether others serve the same list: all must come to one mode, each by itself."""
        self.links: Links | None = None
        """Makes what tools link to readable here."""
        self._shown: Shown | None = None
        self._mode: EndpointMode | None = None
        self._tokens: dict[str, int] = {}

    @property
    def endpoint(self) -> Endpoint:
        """Whose tools these are."""
        return self._endpoint

    def shown(self) -> Shown:
        """What callers see now."""
        snapshot = self._catalogue.snapshot
        if self._shown is None or self._shown.sight.snapshot is not snapshot:
            view = self._endpoint.view(snapshot)
            sight = Sight(snapshot, view, self._policy, LOCAL_CALLER)
            self._shown = Shown(self._endpoint, sight, self.states)
            self._mode = self._settled(self._shown)
        return self._shown

    @property
    def decides_itself(self) -> bool:
        """Whether the mode follows from the tools, so that it may turn around by itself."""
        return self.shown().sight.view.mode is EndpointMode.AUTO

    @property
    def mode(self) -> EndpointMode:
        """`full` or `dynamic`, as it is for callers without a session."""
        self.shown()
        return self._mode or EndpointMode.DYNAMIC

    def tool_list(self, mode: EndpointMode | None = None) -> ToolList:
        """The list in `mode`, or in the present one."""
        shown = self.shown()
        mode = mode or self.mode
        if not shown.sight.heads and not self._endpoint.is_group:
            return shown.empty_list
        return shown.full_list if mode is EndpointMode.FULL else shown.dynamic_list

    def stamp(self, kept: EndpointMode | None) -> str:
        """What tells the list of a session that keeps a mode from others."""
        return self.tool_list(kept if self.decides_itself else None).stamp

    def _settled(self, shown: Shown) -> EndpointMode:
        wanted = shown.sight.view.mode
        if wanted is not EndpointMode.AUTO:
            return wanted
        # Whoever comes before the first tool must not be held to a list of thousands later.
        has_tools = bool(shown.sight.heads)
        # What a process remembers, its replicas cannot know: with them, the lower bound decides.
        before = None if self.has_replicas else self._mode
        return settled_mode(self._cost(shown), before) if has_tools else EndpointMode.DYNAMIC

    def _cost(self, shown: Shown) -> int:
        """What all definitions cost; beyond the bound nobody needs to know how much."""
        known, self._tokens, total = self._tokens, {}, 0
        for head in shown.sight.heads:
            cost = known.get(head.fingerprint)
            if cost is None:
                cost = definition_tokens(head)
            self._tokens[head.fingerprint] = cost
            total += cost
            if total > MOST_FULL_TOKENS:
                break
        return total


def _first(pair: tuple[str, object]) -> str:
    return pair[0]


def _stamped(entries: Iterable[JsonObject | NativeTool]) -> ToolList:
    kept = tuple(entries)
    digest = hashlib.sha256()
    for entry in kept:
        told = (
            f"{entry.name} {entry.record.version} {entry.record.fingerprint}"
            if isinstance(entry, NativeTool)
            else dump_json(entry)
        )
        digest.update(f"{len(told)}:{told}".encode())
    return ToolList(kept, digest.hexdigest())
