"""What is written down of calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.cribs import desk, raw_tool
from toolcrib_protocol.call_rules import RuleScope
from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import (
    SOURCE_DISCONNECTED,
    STORE_BUSY,
    STORE_UNAVAILABLE,
    TOOL_FAILED,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import CALL_META, Result
from toolcrib_registry.call import Call
from toolcrib_registry.call_book import CallBook
from toolcrib_registry.call_rules import set_rules
from toolcrib_registry.calls import Calls
from toolcrib_registry.captures import Captures
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.memory_call_records import MemoryCallRecords
from toolcrib_registry.permissions import Caller
from toolcrib_registry.ports import CallQuery
from toolcrib_registry.redaction import Redactor
from toolcrib_registry.stages import Path
from toolcrib_registry.views import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.registry.providers import MemoryProvider
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.ports import CallContext, CallRecord, Capture
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work

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


@pytest.mark.promise("call-record")
async def test_a_call_leaves_a_record_of_who_what_how_and_how_long_without_what_was_said() -> None:
    made = await office()
    view = View("sales", None)
    asked = Call("desk/send", {"to": "bob@example.org", "size": "3"}, "^1", ANN, view=view)
    result = await made.calls.call(asked)
    record = await made.written()
    assert record.id == result.meta[CALL_META]
    assert (record.caller, record.asked, record.tool) == ("ann", "desk/send", "desk/send")
    assert (record.version, record.source, record.status, record.code) == (
        "1.0.0",
        "desk",
        "success",
        "",
    )
    facts = record.facts
    assert (facts["range"], facts["profile"], facts["attempts"]) == ("^1", "sales", 1)
    assert facts["repairs"] == ["/size"]
    assert facts["marks"] == ["repairs"]
    assert isinstance(facts["arguments"], dict)
    assert facts["arguments"]["bytes"] == len(dump_json(asked.arguments))
    assert [step["step"] for step in _steps(record)] == ["checked", "attempt", "outcome"]
    assert "bob" not in dump_json(facts)
    assert "example.org" not in dump_json(facts)


@pytest.mark.promise("call-record-refused")
async def test_calls_that_were_refused_are_recorded_with_what_they_asked_for() -> None:
    made = await office()
    result = await made.calls.call(Call("desk/sned\x00" + "x" * 500, {}))
    record = await made.written()
    assert result.meta == {CALL_META: record.id}
    assert (record.tool, record.source, record.code) == ("", "", "unknown_tool")
    assert len(record.asked) == 200
    await made.calls.call(Call("desk/send", {"size": "many"}))
    record = await made.written()
    assert (record.tool, record.version, record.source) == ("desk/send", "1.0.0", "desk")
    assert (record.status, record.code) == ("fatal_error", "invalid_arguments")
    assert record.facts["attempts"] == 0


async def test_a_call_that_never_left_is_told_apart_from_one_that_failed_there() -> None:
    made = await office()

    async def fails(_arguments: JsonObject, _context: CallContext) -> Result:
        return Result.failed(ToolError(TOOL_FAILED, "secret words of the tool"))

    made.provider.tools["send"] = fails
    await made.calls.call(Call("desk/send"))
    record = await made.written()
    assert (record.status, record.code, record.facts["attempts"]) == ("fatal_error", TOOL_FAILED, 1)
    assert "secret words" not in dump_json(record.facts)
    made.calls.interrupt()
    await made.calls.call(Call("desk/send"))
    record = await made.written()
    assert (record.code, record.facts["attempts"]) == ("source_unavailable", 0)


async def test_a_call_that_found_no_place_has_an_outcome_but_no_attempt() -> None:
    made = await office()
    entered, leave = anyio.Event(), anyio.Event()

    async def waits(_arguments: JsonObject, _context: CallContext) -> Result:
        entered.set()
        await leave.wait()
        raise ToolError(SOURCE_DISCONNECTED, "gone", details={"sent": True})

    made.provider.tools["send"] = waits
    view = View("one", calls_at_once=1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.calls.call, Call("desk/send", view=view))
        await entered.wait()
        refused = Call("desk/send", view=view, timeout_seconds=0.01)
        await made.calls.call(refused)
        record = await made.written()
        leave.set()
    assert (record.code, record.facts["attempts"]) == ("at_capacity", 0)
    assert [step["step"] for step in _steps(record)] == ["checked", "outcome"]
    outcome = _steps(await made.written())[-1]
    assert (outcome["code"], outcome["sent"]) == (SOURCE_DISCONNECTED, True)


@pytest.mark.promise("call-record-cancelled")
async def test_a_call_whose_caller_went_away_is_recorded_as_cancelled_after_being_sent() -> None:
    made = await office()

    async def hangs(_arguments: JsonObject, _context: CallContext) -> Result:
        scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    made.provider.tools["send"] = hangs
    with anyio.CancelScope() as scope:
        await made.calls.call(Call("desk/send"))
    record = await made.written()
    assert (record.status, record.code) == ("cancelled", "")
    assert (record.facts["attempts"], "result" in record.facts) == (1, False)


async def test_a_fault_inside_toolcrib_is_recorded_as_one() -> None:
    made = await office()

    async def breaks(_arguments: JsonObject, _context: CallContext) -> Result:
        raise ZeroDivisionError

    made.provider.tools["send"] = breaks
    with pytest.raises(ZeroDivisionError):
        await made.calls.call(Call("desk/send"))
    record = await made.written()
    assert (record.status, record.code) == ("fatal_error", "internal")


async def test_what_cannot_be_written_as_json_still_leaves_a_record() -> None:
    made = await office()

    async def odd(_arguments: JsonObject, _context: CallContext) -> Result:
        return Result(data={"odd": float("nan")}, has_data=True)

    made.provider.tools["send"] = odd
    await made.rule("group:desk", capture=True)
    await made.calls.call(Call("desk/send"))
    assert (await made.written()).facts["result"] == {"bytes": None, "tokens": None, "digest": None}
    assert (await made.captured())["answer"] == {"unwritable": True}


async def test_a_very_large_result_is_measured_without_being_written_once_more() -> None:
    made = await office()

    async def much(_arguments: JsonObject, _context: CallContext) -> Result:
        return Result(content=(text_block("x" * 1_000_000), text_block("y")))

    made.provider.tools["send"] = much
    await made.calls.call(Call("desk/send"))
    weighed = (await made.written()).facts["result"]
    # The word `text` of two blocks is counted with their texts.
    assert weighed == {"bytes": 1_000_009, "tokens": 250_003, "digest": None}


@pytest.mark.promise("call-record-waits")
async def test_waits_are_summed_and_steps_are_kept_short() -> None:
    made = await office()

    class Queues:
        async def carry(self, work: Work, onward: Onward) -> Result:
            work.trail.note("queued", waited_seconds=0.25, gate={"name": "g" * 200})
            work.trail.note("backed off", waited_seconds=0.5)
            return await onward(work)

    path = Path((Queues(),), recorder=made.book)
    await Calls(made.catalogue, Providing(made.provider), path=path).call(Call("desk/send"))
    record = await made.written()
    assert record.facts["waited_seconds"] == 0.75
    assert isinstance(record.facts["upstream_seconds"], float)
    assert [step["step"] for step in _steps(record)][1:3] == ["queued", "backed off"]
    assert len(str(_steps(record)[1]["gate"])) == 100


@pytest.mark.promise("call-record-background")
async def test_records_are_written_within_a_second_and_at_the_end() -> None:
    made = await office()
    async with made.book.writing():
        await made.calls.call(Call("desk/send"))
        await made.clock.sleeper(1.0)
        assert await made.records.find(CallQuery()) == []
        made.clock.advance(0.5)
        with anyio.fail_after(5):
            while not await made.records.find(CallQuery()):
                await anyio.lowlevel.checkpoint()
        await made.calls.call(Call("desk/send"))
    assert len(await made.records.find(CallQuery())) == 2


@pytest.mark.promise("call-record-drops")
async def test_a_store_that_cannot_keep_up_costs_records_that_are_counted_and_no_call() -> None:
    records = FullRecords()
    made = await office(records=records, most_unwritten=2)
    busy = ToolError(STORE_BUSY, "locked", ErrorKind.RETRYABLE)
    records.failures = [busy]
    for _ in range(3):
        assert not (await made.calls.call(Call("desk/send"))).is_error
    await made.book.write()
    assert (made.book.dropped, await records.find(CallQuery())) == (1, [])
    await made.book.write()
    assert (made.book.dropped, len(await records.find(CallQuery()))) == (1, 2)


async def test_a_store_that_is_gone_and_a_fault_of_ours_cost_the_batch_only() -> None:
    gone = ToolError(STORE_UNAVAILABLE, "the disk is full", ErrorKind.NEEDS_HUMAN)
    busy = ToolError(STORE_BUSY, "locked", ErrorKind.RETRYABLE)
    records = FullRecords(failures=[busy, ZeroDivisionError(), gone])
    made = await office(records=records)
    async with made.book.writing():
        for lost in (1, 2):
            await made.calls.call(Call("desk/send"))
            with anyio.fail_after(5):
                while made.book.dropped < lost:
                    made.clock.advance(0.5)
                    await anyio.lowlevel.checkpoint()
        await made.calls.call(Call("desk/send"))
        with anyio.fail_after(5):
            while not await records.find(CallQuery()):
                made.clock.advance(0.5)
                await anyio.lowlevel.checkpoint()
    assert len(await records.find(CallQuery())) == 1


@pytest.mark.promise("capture-opt-in")
async def test_only_what_the_operator_asks_for_is_captured_as_received_sent_and_answered() -> None:
    made = await office()
    await made.calls.call(Call("desk/send", {"to": "bob"}))
    assert await made.records.capture((await made.written()).id) is None
    await made.rule("group:desk", capture=True)
    await made.calls.call(Call("desk/send", {"to": "bob", "size": "3"}))
    seen = await made.captured()
    assert seen["arguments"] == {"value": {"to": "bob", "size": "3"}, "bytes": 23, "redacted": []}
    assert _value(seen, "sent") == {"to": "bob", "size": 3}
    assert _value(seen, "answer")["data"] == {"to": "bob", "size": 3}
    assert _value(seen, "delivered")["status"] == "success"
    assert seen["is_read_only"] is False
    assert (await made.written()).facts["captured"] is True


async def test_a_refused_call_is_captured_as_it_came() -> None:
    made = await office()
    await made.rule("group:desk", capture=True)
    await made.calls.call(Call("desk/send", {"size": "many"}))
    seen = await made.captured()
    assert (seen["sent"], seen["answer"]) == (None, None)
    assert _value(seen, "arguments") == {"size": "many"}
    error = _value(seen, "delivered")["error"]
    assert isinstance(error, dict)
    assert error["code"] == "invalid_arguments"


@pytest.mark.promise("capture-session")
async def test_a_debug_session_ends_by_itself_and_never_overrules_a_no() -> None:
    made = await office()
    now = made.clock.now().timestamp()
    await made.rule("source:desk", capture_until=now + 60)
    await made.calls.call(Call("desk/send"))
    assert await made.records.capture((await made.written()).id) is not None
    await made.rule("group:desk", capture=False)
    await made.calls.call(Call("desk/send"))
    made.clock.advance(1)
    assert "captured" not in (await made.written()).facts
    await made.rule("group:desk", capture=None)
    made.clock.advance(120)
    await made.calls.call(Call("desk/send"))
    assert "captured" not in (await made.written()).facts


@pytest.mark.promise("capture-redacts")
async def test_secrets_are_taken_out_of_captures_by_name_by_schema_and_by_form() -> None:
    properties: JsonObject = {
        "code": {"type": "string", "format": "password"},
        "answer": {"type": ["string", "null"], "writeOnly": True},
    }
    made = await office(raw_tool("send", properties))
    await made.rule("group:desk", capture=True)
    arguments: JsonObject = {
        "code": "1234",
        "answer": "Rex",
        "apiKey": "k-1",
        "kunden_nummer": "77",
        "deep": [{"Authorization": "Basic x", "next_page_token": "p2", "max_tokens": 5}],
        "text": "call with Bearer abcdefghijkl please",
        "url": "postgres://u:pw@host/db",
        "json": '{"password": "hunter2", "n": 1}',
        "plain": '{"n": 1}',
        "broken": '{"password: hunter3',
        "env": "DB_PASSWORD=hunter2 PORT=1",
        "secret": None,
        "is_secret": True,
    }
    await made.calls.call(Call("desk/send", arguments))
    seen = await made.captured()
    kept = _value(seen, "arguments")
    assert kept == {
        "code": "[redacted]",
        "answer": "[redacted]",
        "apiKey": "[redacted]",
        "kunden_nummer": "[redacted]",
        "deep": [{"Authorization": "[redacted]", "next_page_token": "p2", "max_tokens": 5}],
        "text": "call with [redacted] please",
        "url": "postgres://[redacted]@host/db",
        "json": '{"password":"[redacted]","n":1}',
        "plain": '{"n": 1}',
        "broken": '{"password: [redacted]',
        "env": "DB_PASSWORD=[redacted] PORT=1",
        "secret": None,
        "is_secret": True,
    }
    part = seen["arguments"]
    assert isinstance(part, dict)
    assert part["redacted"] == [
        "/code",
        "/answer",
        "/apiKey",
        "/kunden_nummer",
        "/deep/0/Authorization",
        "/text",
        "/url",
        "/json/password",
        "/broken",
        "/env",
    ]
    assert "hunter2" not in dump_json(seen)


@pytest.mark.promise("capture-bounded")
async def test_captures_are_cut_to_a_size_and_too_deep_values_are_taken_out() -> None:
    made = await office()
    await made.rule("group:desk", capture=True)
    deep: Json = "bottom"
    for _ in range(80):
        deep = [deep]
    await made.calls.call(Call("desk/send", {"to": "ü" * 1_000, "deep": deep}))
    part = (await made.captured())["arguments"]
    assert isinstance(part, dict)
    assert isinstance(part["start"], str)
    assert len(part["start"].encode()) <= 1_000
    assert "bottom" not in dump_json(part)


def test_only_so_much_of_a_huge_value_is_looked_at() -> None:
    redactor = Redactor()
    assert redactor.cleaned({"a": "x" * 300_000, "b": [1, 2]}) == {"a": "x" * 262_142, "b": "[cut]"}
    assert redactor.is_cut
    redactor = Redactor()
    redactor.cleaned([7] * 300_000)
    assert redactor.is_cut


async def test_a_capture_that_cannot_be_sealed_or_read_is_told_and_the_record_is_there() -> None:
    made = await office()
    book = CallBook(made.records, made.clock, Captures(NoKeys()))
    calls = Calls(made.catalogue, Providing(made.provider), path=Path(recorder=book))
    await made.rule("group:desk", capture=True)
    await calls.call(Call("desk/send"))
    await book.write()
    (record,) = await made.records.find(CallQuery())
    assert await made.records.capture(record.id) is None
    made.clock.advance(1)
    await made.calls.call(Call("desk/send", {"to": "x"}))
    record = await made.written()
    capture = await made.records.capture(record.id)
    assert capture is not None
    sealer = OpenSealer()
    broken = type(capture)(capture.call, capture.at, sealer.seal(b"[]", f"capture:{record.id}"))
    with pytest.raises(ToolError, match="no object"):
        made.captures.read(broken)


async def test_a_book_without_captures_writes_records_only() -> None:
    made = await office()
    book = CallBook(made.records, made.clock)
    calls = Calls(made.catalogue, Providing(made.provider), path=Path(recorder=book))
    await made.rule("group:desk", capture=True)
    await calls.call(Call("desk/send"))
    await book.write()
    assert len(await made.records.find(CallQuery())) == 1


def _steps(record: CallRecord) -> list[JsonObject]:
    steps = record.facts["steps"]
    assert isinstance(steps, list)
    return [step for step in steps if isinstance(step, dict)]


def _value(seen: JsonObject, part: str) -> JsonObject:
    found = seen[part]
    assert isinstance(found, dict)
    value = found["value"]
    assert isinstance(value, dict)
    return value
