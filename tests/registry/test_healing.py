"""What is mended on the path of a call, and what must not be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.cribs import listed, raw_tool
from tests.registry.healed import always, fault, faulty, infirmary
from tests.registry.providers import echo
from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import (
    AT_CAPACITY,
    INVALID_ARGUMENTS,
    NEEDS_SIGN_IN,
    OUTCOME_UNKNOWN,
    RATE_LIMITED,
    SOURCE_DISCONNECTED,
    SOURCE_FAILED,
    SOURCE_UNAVAILABLE,
    TOOL_TIMED_OUT,
    ErrorKind,
)
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Overlay
from toolcrib_protocol.result import ERROR_META, REPAIRS_META, Result, Status
from toolcrib_protocol.tool import Contract
from toolcrib_registry.changes import PutOverlay
from toolcrib_registry.healing import ATTEMPTS_META
from toolcrib_registry.interaction import Interaction
from toolcrib_registry.pace import CALLS_TO_KNOW, Pace
from toolcrib_registry.ports import Progress
from toolcrib_registry.records import OverlayRecord
from toolcrib_registry.retry_budget import FLOOR

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext

READS: JsonObject = {"annotations": {"readOnlyHint": True}}
TEXT: JsonObject = {"type": "string"}


@pytest.mark.promise("healing-retry")
@pytest.mark.promise("field-o45-writes-once")
async def test_a_tool_that_only_reads_is_tried_again_and_the_caller_is_told() -> None:
    ward = await infirmary(desk=[raw_tool("read", more=READS)])
    lost, broken = fault(SOURCE_DISCONNECTED), fault(SOURCE_FAILED, http_status=502)
    ward.sources["desk"].tools = {"read": faulty(lost, broken)}
    result = await ward.call("desk/read")
    assert result.status is Status.SUCCESS
    assert result.meta[ATTEMPTS_META] == {
        "made": 3, "causes": ["connection_lost", "source_fault"], "waited_seconds": 0.15,
    }  # fmt: skip
    assert ward.clock.slept == [0.05, 0.1]
    assert len(ward.sources["desk"].called) == 3


async def test_a_call_that_works_says_nothing_of_attempts() -> None:
    ward = await infirmary(desk=[raw_tool("read", more=READS)])
    assert ATTEMPTS_META not in (await ward.call("desk/read")).meta


@pytest.mark.promise("field-o45-writes-once")
@pytest.mark.parametrize(
    "failure",
    [
        fault(SOURCE_DISCONNECTED, sent=True),
        fault(TOOL_TIMED_OUT),
        fault(SOURCE_FAILED, http_status=500),
        fault("upstream_protocol", ErrorKind.FATAL, sent=True),
    ],
)
async def test_a_write_that_may_have_happened_is_sent_once(failure: Exception) -> None:
    ward = await infirmary(desk=[raw_tool("write")])
    ward.sources["desk"].tools = {"write": always(failure)}  # type: ignore[arg-type]
    result = await ward.call("desk/write")
    assert result.error is not None
    assert (result.status, result.error.code) == (Status.NEEDS_HUMAN, OUTCOME_UNKNOWN)
    assert len(ward.sources["desk"].called) == 1
    assert ATTEMPTS_META not in result.meta


@pytest.mark.promise("field-o45-writes-once")
@pytest.mark.parametrize(
    "failure",
    [
        fault(SOURCE_UNAVAILABLE),
        fault(SOURCE_DISCONNECTED, sent=False),
        fault(RATE_LIMITED, http_status=429, retry_after_seconds=1),
    ],
)
async def test_a_write_that_provably_never_ran_is_sent_again(failure: Exception) -> None:
    ward = await infirmary(desk=[raw_tool("write")])
    ward.sources["desk"].tools = {"write": faulty(failure)}  # type: ignore[arg-type]
    assert (await ward.call("desk/write")).status is Status.SUCCESS
    assert len(ward.sources["desk"].called) == 2


@pytest.mark.promise("field-o45-writes-once")
async def test_a_keyed_write_is_sent_again_only_if_its_contract_says_how_the_key_travels() -> None:
    keyed = Contract.model_validate(
        {
            "group": "desk", "name": "order",
            "behaviour": {"idempotency_key": {"place": "meta", "name": "key"}},
        }
    )  # fmt: skip
    ward = await infirmary(desk=[keyed, raw_tool("write")])
    provider = ward.sources["desk"]
    for tool in ("order", "write"):
        provider.tools[tool] = faulty(fault(SOURCE_DISCONNECTED))
    order = await ward.call("desk/order", key="k1")
    assert (order.status, len(provider.called)) == (Status.SUCCESS, 2)
    write = await ward.call("desk/write", key="k2")
    assert (write.status, len(provider.called)) == (Status.NEEDS_HUMAN, 3)
    provider.tools["order"] = faulty(fault(SOURCE_DISCONNECTED))
    # Where keys travel, a call without one is given one.
    assert (await ward.call("desk/order")).status is Status.SUCCESS


@pytest.mark.promise("healing-retry-after")
async def test_a_call_waits_as_long_as_its_source_asks_and_gives_up_at_once_if_it_cannot() -> None:
    ward = await infirmary(desk=[raw_tool("read", more=READS)])
    ward.chance[0] = 0.0
    busy = fault(RATE_LIMITED, http_status=429, retry_after_seconds=7)
    ward.sources["desk"].tools = {"read": faulty(busy)}
    assert (await ward.call("desk/read")).status is Status.SUCCESS
    assert ward.clock.slept == [7]
    ward.sources["desk"].tools = {"read": faulty(busy)}
    hurried = await ward.call("desk/read", timeout_seconds=5)
    assert hurried.error is not None
    assert (hurried.status, hurried.error.details["retry_after_seconds"]) == (
        Status.RETRYABLE_ERROR, 7,
    )  # fmt: skip
    assert ward.clock.slept == [7]


@pytest.mark.promise("healing-retry-budget")
async def test_a_source_that_always_fails_gets_few_retries_and_the_others_keep_theirs() -> None:
    ward = await infirmary(
        bad=[raw_tool(f"read{n}", more=READS) for n in range(20)],
        good=[raw_tool("read", more=READS)],
    )
    broken = always(fault(SOURCE_FAILED, http_status=500))
    ward.sources["bad"].tools = {f"read{n}": broken for n in range(20)}
    for number in range(20):
        await ward.call(f"bad/read{number}")
    assert len(ward.sources["bad"].called) == 20 + FLOOR
    ward.sources["good"].tools = {"read": faulty(fault(SOURCE_DISCONNECTED))}
    assert (await ward.call("good/read")).status is Status.SUCCESS


@pytest.mark.promise("healing-retry")
async def test_a_source_that_is_away_for_a_moment_only_is_waited_for() -> None:
    ward = await infirmary(desk=[raw_tool("write")])
    ward.chance[0] = 0.0
    away = [fault(SOURCE_UNAVAILABLE, retry_after_seconds=again) for again in (0.1, 0.2, 0.4, 0.8)]
    ward.sources["desk"].tools = {"write": faulty(*away)}
    assert (await ward.call("desk/write")).status is Status.SUCCESS
    assert ward.clock.slept == [0.1, 0.2, 0.4, 0.8]
    ward.sources["desk"].tools = {"write": always(fault(SOURCE_UNAVAILABLE, retry_after_seconds=5))}
    assert (await ward.call("desk/write")).status is Status.RETRYABLE_ERROR
    assert ward.clock.slept == [0.1, 0.2, 0.4, 0.8]


async def test_retries_are_switched_off_by_a_rule() -> None:
    ward = await infirmary(desk=[raw_tool("read", more=READS)])
    ward.sources["desk"].tools = {"read": always(fault(SOURCE_DISCONNECTED))}
    await ward.rule("group:desk", retries=0)
    assert (await ward.call("desk/read")).status is Status.RETRYABLE_ERROR
    assert len(ward.sources["desk"].called) == 1
    await ward.rule("group:desk", retries=1)
    await ward.call("desk/read")
    assert len(ward.sources["desk"].called) == 3


@pytest.mark.parametrize(
    "failure",
    [
        fault(NEEDS_SIGN_IN, ErrorKind.NEEDS_HUMAN, http_status=401),
        fault(AT_CAPACITY, retry_after_seconds=1),
        fault("tool_failed", ErrorKind.FATAL),
    ],
)
async def test_what_would_be_the_same_again_or_waited_already_is_not_repeated(
    failure: Exception,
) -> None:
    ward = await infirmary(desk=[raw_tool("read", more=READS)])
    ward.sources["desk"].tools = {"read": always(failure)}  # type: ignore[arg-type]
    assert (await ward.call("desk/read")).is_error
    assert len(ward.sources["desk"].called) == 1


async def test_an_answer_to_a_question_is_not_brought_twice() -> None:
    ward = await infirmary(desk=[raw_tool("read", more=READS)])
    ward.sources["desk"].tools = {"read": always(fault(SOURCE_DISCONNECTED))}
    await ward.call("desk/read", interaction=Interaction(state="{}"))
    assert len(ward.sources["desk"].called) == 1


@pytest.mark.promise("healing-retry")
async def test_progress_does_not_run_backwards_when_a_call_is_made_again() -> None:
    ward = await infirmary(desk=[raw_tool("read", more=READS)])
    reports = [[1, 2, 2], [1, 2, 3]]

    async def report(arguments: JsonObject, context: CallContext) -> Result:
        assert context.report_progress is not None
        for number in reports[len(ward.sources["desk"].called) - 1]:
            await context.report_progress(Progress(number))
        if len(ward.sources["desk"].called) == 1:
            raise fault(SOURCE_DISCONNECTED)
        return await echo(arguments, context)

    told: list[float] = []

    async def tell(progress: Progress) -> None:
        told.append(progress.progress)

    ward.sources["desk"].tools = {"read": report}
    await ward.call("desk/read", report_progress=tell)
    assert told == [1, 2, 2, 3]


async def test_a_crib_behind_this_one_that_is_full_is_asked_again() -> None:
    ward = await infirmary(desk=[raw_tool("write")])
    error: JsonObject = {"code": AT_CAPACITY, "message": "full", "kind": "retryable"}
    full = Result.from_mcp({"isError": True, "content": [], "_meta": {ERROR_META: error}})
    ward.sources["desk"].tools = {"write": faulty(full)}
    assert (await ward.call("desk/write")).status is Status.SUCCESS


async def test_a_call_that_is_cancelled_while_it_waits_is_not_made_again() -> None:
    ward = await infirmary(desk=[raw_tool("read", more=READS)])
    ward.sources["desk"].tools = {"read": always(fault(SOURCE_DISCONNECTED))}
    with anyio.CancelScope() as scope:
        scope.cancel()
        await ward.call("desk/read")
    assert len(ward.sources["desk"].called) <= 1


@pytest.mark.promise("healing-rejected-arguments")
async def test_arguments_that_the_source_refuses_go_once_more_through_repair() -> None:
    anything: JsonObject = {"name": "take", "inputSchema": {"properties": {"count": {}}}}
    ward = await infirmary(desk=[anything])
    refusal = fault(
        INVALID_ARGUMENTS,
        ErrorKind.FATAL,
        jsonrpc_code=-32602,
        jsonrpc_data={"fault": "count must be integer"},
    )
    ward.sources["desk"].tools = {"take": faulty(refusal)}
    result = await ward.call("desk/take", {"count": "3"})
    assert result.unwrap() == {"count": 3}
    assert ward.clock.slept == []
    assert "count" in str(result.meta[REPAIRS_META])
    ward.sources["desk"].tools = {"take": always(refusal)}
    again = await ward.call("desk/take", {"count": "3"})
    assert again.error is not None
    assert again.error.code == INVALID_ARGUMENTS
    assert [arguments for _, arguments in ward.sources["desk"].called[2:]] == [
        {"count": "3"}, {"count": 3},
    ]  # fmt: skip


@pytest.mark.promise("healing-rejected-arguments")
async def test_a_refusal_in_words_alone_repeats_no_write() -> None:
    entry: JsonObject = {"name": "take", "inputSchema": {"properties": {"count": {}}}}
    ward = await infirmary(desk=[entry, {**entry, "name": "look", **READS}])
    words = "Input validation error: count must be integer"
    refused = Result.from_mcp({"isError": True, "content": [text_block(words)]})
    provider = ward.sources["desk"]
    provider.tools = {"take": faulty(refused), "look": faulty(refused)}
    written = await ward.call("desk/take", {"count": "3"})
    assert (written.status, written.text) == (Status.FATAL_ERROR, words)
    assert (await ward.call("desk/look", {"count": "3"})).unwrap() == {"count": 3}
    assert [name for name, _ in provider.called] == ["take", "look", "look"]


async def test_what_the_operator_presets_is_not_repaired_for_a_source() -> None:
    entry: JsonObject = {"name": "take", "inputSchema": {"properties": {"count": {}, "room": {}}}}
    ward = await infirmary(desk=[entry])
    laid = OverlayRecord(ToolId("desk", "take"), Overlay(presets={"room": "7"}))
    await ward.catalogue.change(lambda _: [PutOverlay(laid)])
    await listed(ward.catalogue, "desk", entry)
    refusal = fault(INVALID_ARGUMENTS, ErrorKind.FATAL, jsonrpc_code=-32602)
    refusal.message = "room must be integer"
    provider = ward.sources["desk"]
    provider.tools = {"take": always(refusal)}
    await ward.call("desk/take", {"count": "3"})
    assert [arguments for _, arguments in provider.called] == [{"count": "3", "room": "7"}]
    refusal.message = "count must be integer"
    await ward.call("desk/take", {"count": "3"})
    assert provider.called[-1] == ("take", {"count": 3, "room": "7"})


@pytest.mark.promise("healing-rejected-arguments")
async def test_a_rule_against_repair_holds_for_refused_arguments_too() -> None:
    entry: JsonObject = {"name": "take", "inputSchema": {"properties": {"count": {}}}}
    ward = await infirmary(desk=[entry])
    refusal = fault(INVALID_ARGUMENTS, ErrorKind.FATAL, jsonrpc_code=-32602)
    refusal.message = "count must be integer"
    ward.sources["desk"].tools = {"take": always(refusal)}
    await ward.rule("tool:desk/take", repair="off")
    await ward.call("desk/take", {"count": "3"})
    await ward.rule("tool:desk/take", repair="strict")
    await ward.call("desk/take", {"count": "many"})
    assert len(ward.sources["desk"].called) == 2


@pytest.mark.promise("field-o45-writes-once")
async def test_a_write_of_which_one_attempt_may_have_run_never_ends_as_not_called() -> None:
    keyed = Contract.model_validate(
        {
            "group": "desk", "name": "order",
            "behaviour": {"idempotency_key": {"place": "meta", "name": "key"}},
            "degraded": {"result": "later"},
        }
    )  # fmt: skip
    ward = await infirmary(desk=[keyed], other=[raw_tool("order")])
    await ward.rule("tool:desk/order", equivalents=["other/order"])
    away = fault(SOURCE_UNAVAILABLE)
    provider = ward.sources["desk"]
    provider.tools["order"] = faulty(fault(SOURCE_DISCONNECTED), then=always(away))
    lost = await ward.call("desk/order")
    assert lost.error is not None
    assert (lost.status, lost.error.code) == (Status.NEEDS_HUMAN, OUTCOME_UNKNOWN)
    provider.tools["order"] = faulty(fault(SOURCE_DISCONNECTED), then=always(away))
    mine = await ward.call("desk/order", key="mine")
    assert mine.error is not None
    assert (mine.status, mine.error.code) == (Status.RETRYABLE_ERROR, SOURCE_DISCONNECTED)
    assert ward.sources["other"].called == []


@pytest.mark.promise("healing-retry")
async def test_hangs_of_a_tool_known_to_be_quick_leave_time_for_other_attempts() -> None:
    limits: list[float] = []

    async def note(arguments: JsonObject, context: CallContext) -> Result:
        limits.append(context.timeout_seconds)
        if CALLS_TO_KNOW < len(limits) <= CALLS_TO_KNOW + 2:
            raise fault(TOOL_TIMED_OUT)
        ward.clock.advance(0.01)
        return await echo(arguments, context)

    ward = await infirmary(desk=[raw_tool("read", more=READS), raw_tool("write")])
    ward.sources["desk"].tools = {"read": note, "write": note}
    for _ in range(CALLS_TO_KNOW + 1):
        assert (await ward.call("desk/read", timeout_seconds=10)).status is Status.SUCCESS
    assert limits == pytest.approx([*[10.0] * CALLS_TO_KNOW, 4, 4, 10], abs=0.5)
    await ward.call("desk/write", timeout_seconds=10)
    assert limits[-1] == pytest.approx(10, abs=0.5)  # what is not repeated is not cut


def test_a_tool_that_is_slow_now_and_then_keeps_its_time() -> None:
    pace, tool = Pace(), ToolId("desk", "report")
    for seconds in (0.1, 20, 0.1, 0.1, 0.1):
        pace.took(tool, seconds)
    assert pace.of_attempt(tool, 1, 30) == 30
    for _ in range(1_000):
        pace.took(tool, 0.1)
    assert pace.of_attempt(tool, 1, 30) == 12
    assert pace.of_attempt(tool, 1, 2) == 1
    assert [pace.of_attempt(tool, number, 10) for number in (1, 2, 3)] == [4, 4, 10]
    for number in range(10_050):
        pace.took(ToolId("desk", f"t{number}"), 1)
    assert pace.of_attempt(tool, 1, 30) == 30  # forgotten


@pytest.mark.promise("healing-time-limits")
async def test_attempts_and_pauses_share_the_time_of_the_call() -> None:
    limits: list[float] = []

    async def note(arguments: JsonObject, context: CallContext) -> Result:
        limits.append(context.timeout_seconds)
        return await echo(arguments, context)

    ward = await infirmary(desk=[raw_tool("read", more=READS)])
    ward.sources["desk"].tools = {"read": note}
    await ward.call("desk/read", timeout_seconds=9)
    assert limits == [pytest.approx(9, abs=0.5)]
