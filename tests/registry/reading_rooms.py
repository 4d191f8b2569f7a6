"""A crib with one library, whose answers each test chooses, and one stage in the path of calls."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio

from tests.registry.cribs import NOW, listed, memory_catalogue, raw_tool
from tests.registry.providers import MemoryProvider, MemoryProviders
from toolcrib_protocol.call_rules import RuleScope
from toolcrib_protocol.result import Result
from toolcrib_registry.call import Call
from toolcrib_registry.call_rules import set_rules
from toolcrib_registry.calls import Calls
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.permissions import Caller
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.errors import ToolError
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.ports import CallContext, Clock
    from toolcrib_registry.stages import Stage

READS: JsonObject = {"annotations": {"readOnlyHint": True}}
BOOK: JsonObject = {"book": {"type": "string"}}
NEEDS_BOOK: JsonObject = {
    "inputSchema": {"type": "object", "properties": BOOK, "required": ["book"]}
}
SCOPE = "source:library"


def shelf(description: str = "") -> list[JsonObject]:
    """What the library lists: a tool that reads, one that writes."""
    reads = {**READS, "description": description} if description else READS
    return [
        raw_tool("look", more={**NEEDS_BOOK, **reads}),
        raw_tool("lend", more=NEEDS_BOOK),
    ]


@dataclass
class Library:
    """What the library does; answers count up unless a test says what comes.

    Attributes:
        answers: given in this order; afterwards the last one for ever.
        hold: if set, answers wait for it.
        asks: whether the caller is asked in the middle.
    """

    answers: list[Result | ToolError] = field(default_factory=list)
    hold: anyio.Event | None = None
    came: anyio.Event = field(default_factory=anyio.Event)
    asked: list[JsonObject] = field(default_factory=list)

    async def take(self, arguments: JsonObject, _context: CallContext) -> Result:
        self.asked.append(arguments)
        self.came.set()
        number = len(self.asked)
        if self.hold is not None:
            await self.hold.wait()
        if not self.answers:
            return Result(data={"number": number}, has_data=True)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Result):
            return answer
        raise answer


@dataclass
class Room:
    """A crib before the library."""

    calls: Calls
    catalogue: Catalogue
    library: Library
    clock: HandClock
    provider: MemoryProvider
    session: str = "s"

    async def rules(self, **values: Json) -> None:
        """Set rules for the library."""
        scope = RuleScope.parse(SCOPE)
        await self.catalogue.change(lambda snapshot: set_rules(snapshot, scope, values))

    async def call(self, tool: str = "look", book: Json = "Emma", **more: object) -> Result:
        """Call a tool of the library."""
        call = Call(f"library/{tool}", {"book": book}, session=self.session)
        return await self.calls.call(replace(call, **more))  # type: ignore[arg-type]

    async def is_at(self, spec: JsonObject) -> None:
        """The library is somewhere else now."""
        record = SourceRecord("library", SourceKind.MCP, spec, "library")
        await register(self.catalogue, record)


def of(caller: str) -> Caller:
    """Somebody."""
    return Caller(caller)


async def reading_room(
    stage: Callable[[Catalogue, Clock], Stage], *, policy: Policy | None = None
) -> Room:
    """A crib whose path of calls has this one stage."""
    catalogue, clock, library = await memory_catalogue(), HandClock(), Library()
    await listed(catalogue, "library", *shelf(), now=NOW)
    provider = MemoryProvider({"look": library.take, "lend": library.take})
    providers = MemoryProviders({"library": provider})
    path = Path((stage(catalogue, clock),))
    calls = Calls(catalogue, providers, policy=policy, path=path)
    return Room(calls, catalogue, library, clock, provider)
