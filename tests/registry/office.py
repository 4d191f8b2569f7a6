"""A small crib whose calls are written down, and captured where a rule says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.registry.cribs import desk, raw_tool
from toolcrib_protocol.call_rules import RuleScope
from toolcrib_protocol.errors import (
    ToolError,
)
from toolcrib_registry.call_book import CallBook
from toolcrib_registry.call_rules import set_rules
from toolcrib_registry.calls import Calls
from toolcrib_registry.captures import Captures
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.memory_call_records import MemoryCallRecords
from toolcrib_registry.permissions import Caller
from toolcrib_registry.ports import CallQuery
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.registry.providers import MemoryProvider
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.ports import CallRecord, Capture

ANN = Caller("ann")
SEND: JsonObject = {"to": {"type": "string"}, "size": {"type": "integer"}}


class OpenSealer:
    """A `Sealer` that only turns the bytes round: what is sealed is a matter of its own tests."""

    def seal(self, plain: bytes, purpose: str) -> bytes:
        return purpose.encode() + b"\0" + plain[::-1]

    def open(self, sealed: bytes, purpose: str) -> bytes:
        told, _, body = sealed.partition(b"\0")
        if told != purpose.encode():
            raise ToolError("invalid_settings", "sealed for something else")
        return body[::-1]


class NoKeys(OpenSealer):
    """A `Sealer` without a key."""

    def seal(self, plain: bytes, purpose: str) -> bytes:
        raise ToolError("invalid_settings", "there is no key")


@dataclass
class FullRecords(MemoryCallRecords):
    """Records that cannot be written for a while."""

    failures: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    async def write(self, records: Sequence[CallRecord], captures: Sequence[Capture]) -> None:
        if self.failures:
            raise self.failures.pop()
        await super().write(records, captures)


@dataclass
class Office:
    """Calls of one source, and the book in which they are written down."""

    calls: Calls
    provider: MemoryProvider
    catalogue: Catalogue
    book: CallBook
    records: MemoryCallRecords
    captures: Captures
    clock: HandClock

    async def written(self) -> CallRecord:
        """The record of the last call."""
        await self.book.write()
        # What comes next begins later.
        self.clock.advance(1)
        return (await self.records.find(CallQuery(limit=1)))[0]

    async def captured(self) -> JsonObject:
        """What was captured of the last call."""
        record = await self.written()
        capture = await self.records.capture(record.id)
        assert capture is not None
        return self.captures.read(capture)

    async def rule(self, scope: str, **values: Json) -> None:
        """Set rules."""
        await self.catalogue.change(
            lambda snapshot: set_rules(snapshot, RuleScope.parse(scope), values)
        )


async def office(
    *entries: Json, records: MemoryCallRecords | None = None, most_unwritten: int = 100
) -> Office:
    _, provider, catalogue = await desk(*(entries or (raw_tool("send", SEND),)))
    clock, kept = HandClock(), records or MemoryCallRecords()
    captures = Captures(OpenSealer(), names=["Kunden-Nummer"], most_bytes=1_000)
    book = CallBook(kept, clock, captures, most_unwritten=most_unwritten)
    calls = Calls(catalogue, Providing(provider), path=Path(recorder=book))
    return Office(calls, provider, catalogue, book, kept, captures, clock)


@dataclass
class Providing:
    """One provider for every source."""

    only: MemoryProvider

    def provider(self, source: str) -> MemoryProvider:
        del source
        return self.only


def steps_of(record: CallRecord) -> list[JsonObject]:
    steps = record.facts["steps"]
    assert isinstance(steps, list)
    return [step for step in steps if isinstance(step, dict)]


def value_of(seen: JsonObject, part: str) -> JsonObject:
    found = seen[part]
    assert isinstance(found, dict)
    value = found["value"]
    assert isinstance(value, dict)
    return value
