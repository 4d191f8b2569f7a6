"""Who shares what a server keeps between calls: all callers, nobody, or not even two calls.

A setting of a source (`affinity`). A browser, a working folder, a login is shared by everybody, or
each caller's session has a connection (a process) of its own, or each call has a fresh one. Lists
and notices always come from the common connection.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.sources.mcp_upstream.own_connections import Bounds, OwnConnections
from toolcrib_adapters.sources.mcp_upstream.spec import read_spec
from toolcrib_adapters.sources.mcp_upstream.watched_resources import SUBSCRIBE, UNSUBSCRIBE
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractContextManager

    from toolcrib_adapters.sources.mcp_upstream.own_connections import Make
    from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec, StdioSpec
    from toolcrib_adapters.sources.source import Source, SourceHost
    from toolcrib_registry.ports import CallContext, Clock
    from toolcrib_registry.records import SourceRecord

IDLE_SECONDS: Final = 300.0
"""How long a connection of one owner is kept that nobody uses."""
_NO_SETTINGS: Final = Bounds(1, IDLE_SECONDS)
_COMMON: Final = frozenset({SUBSCRIBE, UNSUBSCRIBE})


class Apart:
    """The connections of callers, or of calls, whose state is nobody else's."""

    def __init__(self, record: SourceRecord, clock: Clock, make: Make) -> None:
        spec = _spec(record)
        self._affinity = "shared" if spec is None else spec.affinity
        self._connections = connections_of(record, clock, make)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connections can be made inside; all are closed at the end."""
        if self._affinity == "shared":
            yield
            return
        async with self._connections.running():
            yield

    def wanted(
        self, context: CallContext, method: str = ""
    ) -> AbstractContextManager[Source] | None:
        """The connection that a call, or another request, needs; None for the common one."""
        if self._affinity == "shared" or method in _COMMON or method.endswith("/list"):
            return None
        if self._affinity == "per_call":
            return self._connections.for_once()
        return self._connections.of((context.caller.id, context.session), {})


def connections_of(record: SourceRecord, clock: Clock, make: Make) -> OwnConnections:
    """Connections with owners, as many as the settings of the source allow."""
    spec, bounds = _spec(record), _NO_SETTINGS
    if spec is not None:
        bounds = Bounds(spec.own_connections, spec.idle_seconds or IDLE_SECONDS)
    return OwnConnections(record.name, clock, make, bounds)


def of_one_caller(record: SourceRecord) -> SourceRecord:
    """The same source, for one owner: it shares with nobody, and connects at once."""
    own = {"affinity": "shared", "start": "eager", "idle_seconds": None}
    return replace(record, spec={**record.spec, **own})


def starts_late(record: SourceRecord, host: SourceHost) -> bool:
    """Whether the source need not be connected before its first call."""
    spec = _spec(record)
    is_lazy = spec is not None and spec.start == "lazy"
    return is_lazy and host.is_known() and not host.is_hot()


def _spec(record: SourceRecord) -> StdioSpec | HttpSpec | None:
    try:
        return read_spec(record.spec)
    except ToolError:
        return None  # the attempt to connect tells what is wrong
