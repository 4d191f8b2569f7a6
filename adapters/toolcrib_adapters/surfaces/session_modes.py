"""Which mode a connection has: the endpoint's, but never turned around inside a session.

A client that shook hands has read its list and told its model; if `auto` turned around under it,
the tools it works with would be gone. So a session keeps what it found. Callers of 2026-07-28 have
no session: all of them see the same list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from toolcrib_adapters.surfaces.endpoint_tools import EndpointTools
    from toolcrib_registry.records import EndpointMode

_KEPT: Final = "toolcrib.mode"


def mode_of(ctx: ServerRequestContext[Any, Any], tools: EndpointTools) -> EndpointMode | None:
    """The mode that the session of a request keeps; None: whatever the endpoint's is now."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS or not tools.decides_itself:
        return None
    # The SDK has no public place for what belongs to a connection.
    state = ctx.session._connection.state  # noqa: SLF001
    kept: EndpointMode = state.setdefault(_KEPT, tools.mode)
    return kept
