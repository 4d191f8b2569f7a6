"""How long a call may take, who decides it, and what extends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.healed import infirmary
from toolcrib_protocol.errors import OUTCOME_UNKNOWN, TOOL_TIMED_OUT
from toolcrib_protocol.result import Result
from toolcrib_protocol.tool import Contract
from toolcrib_registry.changes import PutSource
from toolcrib_registry.patience import Patience
from toolcrib_registry.ports import Progress
from toolcrib_registry.records import SourceKind, SourceRecord
from toolcrib_registry.views import View

if TYPE_CHECKING:
    from tests.registry.healed import Infirmary
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.ports import CallContext


async def timed(**limits: Json) -> tuple[Infirmary, list[float]]:
    """A tool whose contract sets these limits, and the time that each of its calls had."""
    tool = Contract.model_validate({"group": "desk", "name": "t", "limits": limits})
    ward = await infirmary(desk=[tool])
    seen: list[float] = []

    async def note(_arguments: JsonObject, context: CallContext) -> Result:
        seen.append(context.timeout_seconds)
        return Result()

    ward.sources["desk"].tools = {"t": note}
    return ward, seen


@pytest.mark.promise("healing-time-limits")
async def test_the_caller_decides_then_the_tool_its_group_its_source_and_the_default() -> None:
    ward, seen = await timed()
    await ward.call("desk/t")
    spec = SourceRecord("desk", SourceKind.MCP, {"timeout_seconds": 20}, "desk")
    await ward.catalogue.change(lambda _: [PutSource(spec)])
    await ward.call("desk/t")
    await ward.rule("source:desk", timeout_seconds=21)
    await ward.call("desk/t")
    await ward.rule("group:desk", timeout_seconds=22)
    await ward.call("desk/t")
    await ward.rule("tool:desk/t", timeout_seconds=23)
    await ward.call("desk/t")
    await ward.call("desk/t", timeout_seconds=24)
    assert seen == pytest.approx([30, 20, 21, 22, 23, 24], abs=0.5)


async def test_a_contract_stands_before_the_group_and_a_rule_for_the_tool_before_the_contract() -> (
    None
):
    ward, seen = await timed(timeout_seconds=5)
    await ward.rule("group:desk", timeout_seconds=22)
    await ward.call("desk/t")
    await ward.rule("tool:desk/t", timeout_seconds=60)
    await ward.call("desk/t")
    assert seen == pytest.approx([5, 60], abs=0.5)


@pytest.mark.promise("healing-time-limits")
async def test_nothing_goes_beyond_the_caps() -> None:
    ward, seen = await timed(timeout_seconds=800)
    await ward.call("desk/t", timeout_seconds=100_000)
    await ward.rule("group:desk", timeout_cap_seconds=50)
    await ward.call("desk/t")
    await ward.call("desk/t", timeout_seconds=60)
    await ward.call("desk/t", timeout_seconds=60, view=View("small", timeout_seconds=10))
    assert seen == pytest.approx([900, 50, 50, 10], abs=0.5)


SOME_TIME = 0.02
"""More than passes by itself between two lines of a test."""


async def left_after_progress(ward: Infirmary, told: list[Progress] | None) -> tuple[float, float]:
    """How much time the source has before and after it reports progress; `told`: who wants it."""
    seen: list[float] = []

    async def run(_arguments: JsonObject, context: CallContext) -> Result:
        begun = anyio.current_time()
        while anyio.current_time() - begun < SOME_TIME:
            await anyio.lowlevel.checkpoint()
        seen.append(context.patience_of_source().left)
        if context.report_progress is not None:
            await context.report_progress(Progress(1))
        seen.append(context.patience_of_source().left)
        return Result()

    async def tell(progress: Progress) -> None:
        if told is not None:
            told.append(progress)

    ward.sources["desk"].tools = {"t": run}
    await ward.call("desk/t", report_progress=None if told is None else tell)
    return seen[0], seen[1]


@pytest.mark.promise("field-o30-progress")
async def test_progress_begins_the_time_anew_where_that_is_set_up_to_the_cap() -> None:
    ward, _ = await timed()
    told: list[Progress] = []
    before, after = await left_after_progress(ward, told)
    assert after < before
    rule: JsonObject = {"timeout_seconds": 5, "extend_on_progress": True}
    await ward.rule("tool:desk/t", **rule)
    before, after = await left_after_progress(ward, told)
    assert before < after <= 5
    before, after = await left_after_progress(ward, None)
    assert before < after  # also where the caller does not want to know
    assert told == [Progress(1), Progress(1)]
    await ward.rule("tool:desk/t", **rule, timeout_cap_seconds=5)
    before, after = await left_after_progress(ward, told)
    assert after < before


@pytest.mark.promise("field-o30-progress")
@pytest.mark.promise("field-o17-silence")
async def test_a_source_that_falls_silent_is_left_at_the_deadline_and_may_have_run() -> None:
    ward, _ = await timed()
    cancelled: list[bool] = []

    async def silent(_arguments: JsonObject, _context: CallContext) -> Result:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(True)
        raise AssertionError

    ward.calls.grace_seconds = 0.01
    ward.sources["desk"].tools = {"t": silent}
    await ward.rule("tool:desk/t", timeout_seconds=0.02, extend_on_progress=True)
    late = await ward.call("desk/t")
    assert late.error is not None
    assert (late.error.code, late.error.details["cause"]) == (OUTCOME_UNKNOWN, TOOL_TIMED_OUT)
    assert "may have run" in late.text
    assert cancelled == [True]


@pytest.mark.promise("healing-time-limits")
async def test_time_spent_in_a_queue_is_not_given_to_the_source_again() -> None:
    ward, seen = await timed()
    narrow = View("narrow", calls_at_once=1)
    ends = anyio.Event()

    async def first(_arguments: JsonObject, context: CallContext) -> Result:
        seen.append(context.timeout_seconds)
        await ends.wait()
        return Result()

    ward.sources["desk"].tools = {"t": first}

    async def call() -> None:
        await ward.call("desk/t", view=narrow, timeout_seconds=1)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(call)
        with anyio.move_on_after(0.02):
            await anyio.sleep_forever()
        ends.set()
    assert seen[0] == 1
    assert seen[1] < 1


async def test_a_limit_that_stands_still_is_extended_from_where_it_stands() -> None:
    patience = Patience(1)
    with patience.standing_still():
        patience.begin_anew(5, 100)
        assert patience.left == pytest.approx(5, abs=0.1)
        assert patience.age < 1
    assert patience.left == pytest.approx(5, abs=0.1)
    patience.begin_anew(2, 100)
    assert patience.left > 4  # never earlier than before
    patience.begin_anew(50, 7)
    assert patience.left == pytest.approx(7, abs=0.1)
