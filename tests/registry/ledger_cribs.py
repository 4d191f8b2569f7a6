"""Cribs in memory that share one ledger, as processes share a database, before one shop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from tests.registry.cribs import NOW, listed, memory_catalogue, raw_tool
from tests.registry.providers import MemoryProvider, MemoryProviders
from toolcrib_adapters.sealing import RingSealer
from toolcrib_protocol.result import Result
from toolcrib_registry.call import Call
from toolcrib_registry.calls import Calls
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.ledger import Ledger
from toolcrib_registry.memory_ledger import MemoryLedger
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    import pathlib

    from tests.registry.providers import Run
    from toolcrib_protocol.errors import ToolError
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.ports import CallContext

READS: JsonObject = {"annotations": {"readOnlyHint": True}}
OFFERED: tuple[JsonObject, ...] = (
    raw_tool("order", {"item": {"type": "string"}, "many": {"type": "integer"}}),
    raw_tool("cancel", {"item": {"type": "string"}}),
    raw_tool("look", {"item": {"type": "string"}}, READS),
    raw_tool("set", {"item": {"type": "string"}}, {"annotations": {"idempotentHint": True}}),
)


@dataclass
class Office:
    """The owners of one computer, as seen by each other."""

    me: str
    dead: set[str] = field(default_factory=set)
    cannot_tell: bool = False

    def runs(self, owner: str) -> bool | None:
        return None if self.cannot_tell else owner not in self.dead


@dataclass
class Shop:
    """A source whose orders are counted; what it does is set by each test.

    Attributes:
        failure: raised after the effect.
        hold: if set, answers wait for it.
    """

    orders: list[JsonObject] = field(default_factory=list)
    contexts: list[CallContext] = field(default_factory=list)
    answer: Result | None = None
    failure: ToolError | None = None
    hold: anyio.Event | None = None
    came: anyio.Event = field(default_factory=anyio.Event)

    async def take(self, arguments: JsonObject, context: CallContext) -> Result:
        self.orders.append(arguments)
        self.contexts.append(context)
        number = len(self.orders)
        self.came.set()
        if self.hold is not None:
            await self.hold.wait()
        if self.failure is not None:
            raise self.failure
        return self.answer or Result(data={"order": number}, has_data=True)


@dataclass
class Street:
    """Several cribs before one shop, and one ledger for all of them."""

    home: pathlib.Path
    shop: Shop = field(default_factory=Shop)
    store: MemoryLedger = field(default_factory=MemoryLedger)
    clock: HandClock = field(default_factory=HandClock)
    offered: tuple[JsonObject | Contract, ...] = OFFERED
    dead: set[str] = field(default_factory=set)
    ledgers: list[Ledger] = field(default_factory=list)

    async def crib(self, name: str = "one", *, cannot_tell: bool = False) -> Calls:
        """One more crib, which calls itself `name`."""
        catalogue = await memory_catalogue()
        await listed(catalogue, "shop", *self.offered, now=NOW)
        tools: dict[str, Run] = {
            str(tool): self.shop.take for tool in ("order", "cancel", "look", "set")
        }
        sealer = RingSealer(self.home / "keys", self.clock)
        office = Office(name, self.dead, cannot_tell)
        self.ledgers.append(Ledger(self.store, office, sealer, self.clock))
        providers = MemoryProviders({"shop": MemoryProvider(tools)})
        return Calls(catalogue, providers, path=Path((self.ledgers[-1],)))


def order(key: str | None = None, *, tool: str = "order", **arguments: Json) -> Call:
    """A call of the shop."""
    return Call(f"shop/{tool}", arguments, key=key)
