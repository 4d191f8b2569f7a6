"""What is written down of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.office import (
    ANN,
    FullRecords,
    Providing,
    office,
    steps_of,
)
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
from toolcrib_registry.calls import Calls
from toolcrib_registry.ports import CallQuery
from toolcrib_registry.stages import Path
from toolcrib_registry.views import View

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work


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
    assert [step["step"] for step in steps_of(record)] == ["checked", "attempt", "outcome"]
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


async def test_a_call_that_found_no_place_has_no_attempt_and_one_that_was_sent_says_so() -> None:
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
    assert [step["step"] for step in steps_of(record)] == ["checked"]
    outcome = steps_of(await made.written())[-1]
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
    assert [step["step"] for step in steps_of(record)][1:3] == ["queued", "backed off"]
    assert len(str(steps_of(record)[1]["gate"])) == 100


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


async def test_a_book_without_captures_writes_records_only() -> None:
    made = await office()
    book = CallBook(made.records, made.clock)
    calls = Calls(made.catalogue, Providing(made.provider), path=Path(recorder=book))
    await made.rule("group:desk", capture=True)
    await calls.call(Call("desk/send"))
    await book.write()
    assert len(await made.records.find(CallQuery())) == 1
