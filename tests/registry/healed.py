"""A crib in memory whose calls are healed: several sources, a hand-driven clock, no chance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio.lowlevel

from tests.registry.cribs import listed, memory_catalogue
from tests.registry.providers import MemoryProvider, MemoryProviders, echo
from toolcrib_protocol.call_rules import CallRules, RuleScope
from toolcrib_protocol.errors import ErrorKind, ToolError
from toolcrib_registry.breaker import Breaker
from toolcrib_registry.call import Call
from toolcrib_registry.calls import Calls
from toolcrib_registry.changes import PutGroup, PutRules
from toolcrib_registry.checkers import Checkers
from toolcrib_registry.fallback import Fallbacks
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.healing import Healing
from toolcrib_registry.mending import ArgumentMending
from toolcrib_registry.records import GroupRecord, RulesRecord
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.registry.providers import Run
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_protocol.result import Result
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.ports import CallContext


class WillingClock(HandClock):
    """A clock on which whoever sleeps wakes at once, later; what was slept is remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        await anyio.lowlevel.checkpoint()
        self.slept.append(seconds)
        self.advance(seconds)


@dataclass
class Infirmary:
    """Calls with all of healing, and their parts."""

    calls: Calls
    catalogue: Catalogue
    clock: WillingClock
    breaker: Breaker
    sources: dict[str, MemoryProvider]
    chance: list[float] = field(default_factory=lambda: [0.5])

    async def call(self, tool: str, arguments: Json = None, **more: object) -> Result:
        """What a call of `tool` brings back."""
        return await self.calls.call(Call(tool, arguments, **more))  # type: ignore[arg-type]

    async def rule(self, scope: str, **values: Json) -> None:
        """Set rules."""
        record = RulesRecord(RuleScope.parse(scope), CallRules.read(values, scope))
        await self.catalogue.change(lambda _: [PutRules(record)])

    async def group(self, name: str, *members: ToolId) -> None:
        """Put tools into a group."""
        await self.catalogue.change(lambda _: [PutGroup(GroupRecord(name, members=members))])


async def infirmary(
    policy: Policy | None = None, **sources: Sequence[JsonObject | Contract]
) -> Infirmary:
    """A crib with these tools by source."""
    catalogue = await memory_catalogue()
    for name, tools in sources.items():
        await listed(catalogue, name, *tools)
    providers = {name: MemoryProvider() for name in sources}
    clock, checkers, chance = WillingClock(), Checkers(), [0.5]
    breaker = Breaker(clock, roll=lambda: chance[0])
    healing = Healing(
        clock,
        Fallbacks(catalogue),
        mending=ArgumentMending(checkers),
        roll=lambda: chance[0],
    )
    calls = Calls(
        catalogue,
        MemoryProviders(dict(providers)),
        policy=policy,
        checkers=checkers,
        path=Path((healing, breaker)),
    )
    return Infirmary(calls, catalogue, clock, breaker, providers, chance)


def faulty(*faults: ToolError | Result, then: Run = echo) -> Run:
    """A tool that fails so, one fault a call, and then does as `then` does."""
    left = list(faults)

    async def run(arguments: JsonObject, context: CallContext) -> Result:
        if not left:
            return await then(arguments, context)
        fault = left.pop(0)
        if isinstance(fault, ToolError):
            raise fault
        return fault

    return run


def always(fault: ToolError | Result) -> Run:
    """A tool that never works."""

    async def run(_arguments: JsonObject, _context: CallContext) -> Result:
        if isinstance(fault, ToolError):
            raise ToolError(fault.code, fault.message, fault.kind, fault.details)
        return fault

    return run


def fault(code: str, kind: ErrorKind = ErrorKind.RETRYABLE, **details: Json) -> ToolError:
    """A failure with details."""
    return ToolError(code, f"it failed: {code}", kind, dict(details))
