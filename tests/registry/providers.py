"""A provider in memory for tests of calls: a real one, whose tools are Python functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolcrib_adapters.sources.source import ToolsOnly
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, ErrorKind, ToolError
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext

    Run = Callable[[JsonObject, CallContext], Awaitable[Result]]


async def echo(arguments: JsonObject, _context: CallContext) -> Result:
    """Give the arguments back."""
    return Result(data=arguments, has_data=True)


@dataclass
class MemoryProvider(ToolsOnly):
    """Tools by name; what was called is remembered."""

    tools: dict[str, Run] = field(default_factory=dict)
    called: list[tuple[str, JsonObject]] = field(default_factory=list)

    async def call(self, upstream_name: str, arguments: JsonObject, context: CallContext) -> Result:
        self.called.append((upstream_name, arguments))
        return await self.tools.get(upstream_name, echo)(arguments, context)


@dataclass
class MemoryProviders:
    """Providers by source."""

    by_source: dict[str, MemoryProvider] = field(default_factory=dict)

    def provider(self, source: str) -> MemoryProvider:
        if source not in self.by_source:
            raise ToolError(SOURCE_UNAVAILABLE, f"{source!r} does not run", ErrorKind.RETRYABLE)
        return self.by_source[source]
