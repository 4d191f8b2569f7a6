"""A tool that runs until it is let go, behind the gates of a small crib."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from tests.registry.cribs import listed, memory_catalogue, raw_tool
from tests.registry.providers import MemoryProvider, MemoryProviders
from toolcrib_protocol.call_rules import RuleScope
from toolcrib_protocol.result import Result
from toolcrib_registry.call_rules import set_rules
from toolcrib_registry.calls import Calls
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.limits import Gates
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.changes import Change
    from toolcrib_registry.limits import Leases
    from toolcrib_registry.ports import CallContext
    from toolcrib_registry.snapshot import Snapshot
    from toolcrib_registry.stages import Stage

WAIT: Final = raw_tool("wait", {"n": {"type": "integer"}, "by": {"type": "string"}})


class Hall:
    """A tool whose calls stay inside until the test opens it; it counts them."""

    def __init__(self) -> None:
        self.inside = self.most = self.begun = 0
        self.opened = anyio.Event()
        self.came = anyio.Event()

    async def visit(self, arguments: JsonObject, _context: CallContext) -> Result:
        self.inside += 1
        self.begun += 1
        self.most = max(self.most, self.inside)
        came, self.came = self.came, anyio.Event()
        came.set()
        try:
            await self.opened.wait()
        finally:
            self.inside -= 1
        return Result(data=arguments, has_data=True)

    async def filled(self, visitors: int) -> None:
        """Wait until so many have come in."""
        with anyio.fail_after(20):
            while self.begun < visitors:
                await self.came.wait()


async def gated(
    *entries: Json | Contract,
    rules: dict[str, JsonObject] | None = None,
    leases: Leases | None = None,
    outer: tuple[Stage, ...] = (),
    inner: tuple[Stage, ...] = (),
) -> tuple[Calls, MemoryProvider, Gates, Catalogue]:
    """Calls behind gates, over one source `desk` with these tools."""
    catalogue = await memory_catalogue()
    await listed(catalogue, "desk", *(entries or (WAIT,)))
    await ruled(catalogue, rules or {})
    provider = MemoryProvider()
    gates = Gates(catalogue, HandClock(), leases)
    path = Path((*outer, gates, *inner))
    calls = Calls(catalogue, MemoryProviders({"desk": provider}), path=path)
    return calls, provider, gates, catalogue


async def ruled(catalogue: Catalogue, rules: dict[str, JsonObject]) -> None:
    """Set rules by scope."""
    for scope, values in rules.items():
        await catalogue.change(partial(_set, RuleScope.parse(scope), values))


def _set(scope: RuleScope, values: JsonObject, snapshot: Snapshot) -> list[Change]:
    return set_rules(snapshot, scope, values)
