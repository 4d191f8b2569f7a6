"""Connections of single callers, to servers that bind a connection to a credential.

An older server may tie a session to whoever opened it, so what one caller's headers opened must not
carry another's request: each set of forwarded values has a connection of its own, made when it is
first needed and ended when it was not needed for a while. Newer servers need none of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_adapters.sources.mcp_upstream.forwarding import forwarded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from toolcrib_adapters.sources.mcp_upstream.own_connections import OwnConnections
    from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec, StdioSpec
    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_adapters.sources.source import Source
    from toolcrib_registry.ports import CallContext


class PersonalConnections:
    """The connections of one upstream, by the headers that they carry."""

    def __init__(self, connections: OwnConnections) -> None:
        self._connections = connections
        self._forward: Mapping[str, str] = {}
        self._has_requests_apart = False

    def __len__(self) -> int:
        return len(self._connections)

    def running(self) -> AbstractAsyncContextManager[None]:
        """Connections can be made inside; all are closed at the end."""
        return self._connections.running()

    def follow(self, spec: StdioSpec | HttpSpec) -> None:
        """Do what these settings say."""
        self._forward = spec.forward_headers
        # The older SSE transport sends the same headers with every request.
        self._has_requests_apart = spec.transport == "http"

    def carried(self, wire: Wire, context: CallContext) -> Wire:
        """`wire`, or the same with the headers of this caller, where that binds nothing to them.

        Raises:
            ToolError: `invalid_arguments` if a header cannot be sent.
        """
        if context.own_headers and self._has_requests_apart:
            wire = wire.adding(context.own_headers)
        headers = forwarded(self._forward, context.caller_headers)
        return wire.carrying(headers) if headers and self._can_carry(wire) else wire

    def wanted(self, wire: Wire, context: CallContext) -> AbstractContextManager[Source] | None:
        """The connection that this caller's request needs instead of `wire`, or None.

        Raises:
            ToolError: `invalid_arguments` if a header cannot be sent.
        """
        headers = forwarded(self._forward, context.caller_headers)
        if not headers or self._can_carry(wire):
            return None
        return self._connections.of(frozenset(headers.items()), headers)

    def _can_carry(self, wire: Wire) -> bool:
        return wire.is_modern and self._has_requests_apart
