"""The endpoints of a crib: which path is which, what each shows, whose tools those are.

`/mcp` is the plain one, `/mcp/{group}` the fixed list of one group, `/mcp/profile/{name}` what one
kind of client sees. Values only; `endpoint_servers.py` makes their servers, `endpoint_router.py`
finds them by path.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, UNKNOWN_GROUP, UNKNOWN_PROFILE, ToolError
from toolcrib_protocol.names import nearest
from toolcrib_registry.records import DEFAULT_PROFILE, EndpointMode, ProfileRecord
from toolcrib_registry.views import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_registry.records import SourceRecord
    from toolcrib_registry.snapshot import Snapshot

MCP_PATH: Final = "/mcp"
_PROFILES: Final = "profile/"
_NO_PROFILE: Final = View(groups=())
"""What a profile that was removed shows to those who are still connected."""


class EndpointKind(StrEnum):
    """Which of the three kinds of path an endpoint has."""

    MAIN = "main"
    GROUP = "group"
    PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint.

    Attributes:
        kind: which kind of path it has.
        name: of its group or profile.
        mode: what `serve --mode` says instead of the profile's own mode, or None.
    """

    kind: EndpointKind
    name: str = DEFAULT_PROFILE
    mode: EndpointMode | None = None

    @property
    def path(self) -> str:
        """Where it is, for URLs."""
        match self.kind:
            case EndpointKind.MAIN:
                return MCP_PATH
            case EndpointKind.GROUP:
                return f"{MCP_PATH}/{self.name}"
            case EndpointKind.PROFILE:
                return f"{MCP_PATH}/{_PROFILES}{self.name}"

    @property
    def is_group(self) -> bool:
        """Whether tools, resources and prompts are shown under the names that sources give them."""
        return self.kind is EndpointKind.GROUP

    def exists(self, snapshot: Snapshot) -> bool:
        """Whether there is such a group or profile now; the plain endpoint always is."""
        match self.kind:
            case EndpointKind.MAIN:
                return True
            case EndpointKind.GROUP:
                return is_group(self.name, snapshot)
            case EndpointKind.PROFILE:
                return self.name == DEFAULT_PROFILE or self.name in snapshot.profiles

    def view(self, snapshot: Snapshot) -> View:
        """What it shows at this state of the catalogue."""
        if self.is_group:
            return View(groups=(self.name,), mode=EndpointMode.FULL)
        if not self.exists(snapshot):
            return _NO_PROFILE
        view = View.of(snapshot.profiles.get(self.name, ProfileRecord(self.name)))
        return view if self.mode is None else replace(view, mode=self.mode)

    def sources(self, snapshot: Snapshot) -> tuple[SourceRecord, ...]:
        """The sources whose resources and prompts it shows, in order of their names.

        Those at home in a group that it shows: a tool that was put into a group brings nothing but
        itself.
        """
        groups = self.view(snapshot).groups
        ordered = (snapshot.sources[name] for name in sorted(snapshot.sources))
        return tuple(s for s in ordered if groups is None or s.group in groups)


def is_group(name: str, snapshot: Snapshot) -> bool:
    """Whether there is a group of that name; a source that never listed has no record of it yet."""
    return name in snapshot.groups or name in {s.group for s in snapshot.sources.values()}


MAIN: Final = Endpoint(EndpointKind.MAIN)


def endpoint_at(path: str) -> Endpoint:
    """The endpoint that a decoded URL path means, whether there is such a one or not."""
    rest = path.removeprefix(MCP_PATH).strip("/")
    if not rest:
        return MAIN
    if rest.startswith(_PROFILES):
        return Endpoint(EndpointKind.PROFILE, rest.removeprefix(_PROFILES))
    return Endpoint(EndpointKind.GROUP, rest)


def shown(group: str | None, profile: str | None, mode: str | None) -> Endpoint:
    """The endpoint that a client asks for with `--group`, `--profile` and `--mode`.

    Raises:
        ToolError: `invalid_settings`: they exclude each other, or there is no such mode.
    """
    if group is not None and (profile is not None or mode is not None):
        raise ToolError(
            INVALID_SETTINGS,
            "a group is always listed in full; give --group alone, or --profile and --mode",
        )
    if group is not None:
        return Endpoint(EndpointKind.GROUP, group)
    try:
        chosen = None if mode is None else EndpointMode(mode)
    except ValueError as error:
        modes = ", ".join(EndpointMode)
        raise ToolError(INVALID_SETTINGS, f"no mode is called {mode!r}; use {modes}") from error
    if profile is not None:
        return Endpoint(EndpointKind.PROFILE, profile, chosen)
    return replace(MAIN, mode=chosen)


def not_there(endpoint: Endpoint, names: Sequence[str]) -> ToolError:
    """The refusal of a group or profile that does not exist; `names` are those that may be told."""
    close = nearest(endpoint.name, names)
    kind = endpoint.kind.value
    hint = (
        f"did you mean {' or '.join(_where(endpoint, name) for name in close)}?"
        if close
        else f"`toolcrib {_LISTED_BY[endpoint.kind]}` lists those there are"
    )
    return ToolError(
        _CODES[endpoint.kind],
        f"no {kind} is called {endpoint.name[:200]!r}; {hint}",
        details={"nearest": [*close]},
    )


_CODES: Final = {EndpointKind.GROUP: UNKNOWN_GROUP, EndpointKind.PROFILE: UNKNOWN_PROFILE}
_LISTED_BY: Final = {EndpointKind.GROUP: "groups", EndpointKind.PROFILE: "profile list"}


def _where(endpoint: Endpoint, name: str) -> str:
    return f"{name} ({replace(endpoint, name=name).path})"
