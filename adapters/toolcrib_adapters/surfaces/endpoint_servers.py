"""The MCP servers of a crib, one an endpoint: made when somebody first asks, then kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from toolcrib_adapters.surfaces.endpoints import EndpointKind, not_there
from toolcrib_adapters.surfaces.group_summary import visible_groups
from toolcrib_registry.permissions import AllowAll
from toolcrib_registry.records import DEFAULT_PROFILE
from toolcrib_registry.views import Sight

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_adapters.surfaces.endpoints import Endpoint
    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.records import EndpointMode


class Servers(Protocol):
    """Whoever has the server of each endpoint; a `CribServer` alone is that of `/mcp`."""

    def at(self, endpoint: Endpoint) -> CribServer:
        """The server of an endpoint.

        Raises:
            ToolError: `unknown_group` or `unknown_profile`, with the nearest names.
        """
        ...


class EndpointServers:
    """Servers that share catalogue, calls and search."""

    def __init__(
        self,
        catalogue: Catalogue,
        build: Callable[[Endpoint], CribServer],
        *,
        mode: EndpointMode | None = None,
        policy: Policy | None = None,
    ) -> None:
        """No servers yet.

        Args:
            catalogue: what there is.
            build: makes the server of an endpoint.
            mode: that of the plain endpoint, unless it is asked for with another one; None: as its
                profile says.
            policy: whose groups may be named to callers; all by default.
        """
        self._catalogue = catalogue
        self._mode = mode
        self._policy = policy or AllowAll()
        self._build = build
        self._servers: dict[Endpoint, CribServer] = {}

    def at(self, endpoint: Endpoint) -> CribServer:
        """The server of an endpoint that exists now.

        Raises:
            ToolError: `unknown_group` or `unknown_profile`, with the nearest names.
        """
        if endpoint.kind is EndpointKind.MAIN:
            endpoint = replace(endpoint, mode=endpoint.mode or self._mode)
        snapshot = self._catalogue.snapshot
        if not endpoint.exists(snapshot):
            raise not_there(endpoint, self._names(endpoint))
        server = self._servers.get(endpoint)
        if server is None:
            server = self._servers[endpoint] = self._build(endpoint)
        return server

    def _names(self, endpoint: Endpoint) -> list[str]:
        snapshot = self._catalogue.snapshot
        if endpoint.kind is EndpointKind.PROFILE:
            return [DEFAULT_PROFILE, *snapshot.profiles]
        return [group.name for group in visible_groups(Sight(snapshot, policy=self._policy))]
