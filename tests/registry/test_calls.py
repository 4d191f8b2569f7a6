"""The one path of a call: checked before the source is touched, honest about what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.cribs import desk, listed, raw_tool
from tests.registry.providers import MemoryProviders
from toolcrib_protocol.errors import (
    CALL_INTERRUPTED,
    INVALID_ARGUMENTS,
    NO_SUCH_VERSION,
    OUTCOME_UNKNOWN,
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    TOOL_TIMED_OUT,
    UNKNOWN_TOOL,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import META_PREFIX, Result, Status
from toolcrib_protocol.tool import Contract
from toolcrib_registry.call import Call
from toolcrib_registry.calls import Calls
from toolcrib_registry.changes import DropSource, PutGroup, PutSource
from toolcrib_registry.permissions import Caller
from toolcrib_registry.records import GroupRecord, SourceKind, SourceRecord

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.ports import CallContext

TEXT: JsonObject = {"type": "string"}
READS: JsonObject = {"annotations": {"readOnlyHint": True}}


async def broken_off(_arguments: JsonObject, _context: CallContext) -> Result:
    raise ToolError(SOURCE_DISCONNECTED, "the connection ended", ErrorKind.RETRYABLE)


async def never(_arguments: JsonObject, context: CallContext) -> Result:
    # The provider that keeps to its limit, as all of them promise.
    with anyio.move_on_after(context.timeout_seconds):
        await anyio.sleep_forever()
    raise ToolError(TOOL_TIMED_OUT, "no answer", ErrorKind.RETRYABLE)


@pytest.mark.parametrize("name", ["desk__say", "desk/say", "desk/say@^1", "desk/say@latest"])
async def test_a_tool_answers_to_its_published_name_and_to_references(name: str) -> None:
    calls, provider, _ = await desk(raw_tool("say", {"text": TEXT}))
    result = await calls.call(Call(name, {"text": "hi"}))
    assert result.unwrap() == {"text": "hi"}
    assert result.meta[f"{META_PREFIX}tool"] == "desk/say@1.0.0"
    assert provider.called == [("say", {"text": "hi"})]


@pytest.mark.promise("surface-teaching-errors")
async def test_an_unknown_name_is_answered_with_the_nearest_and_nothing_is_called() -> None:
    calls, provider, _ = await desk(raw_tool("get_current_time"))
    result = await calls.call(Call("desk__get_curent_time"))
    assert result.error is not None
    assert (result.error.code, result.error.details) == (
        UNKNOWN_TOOL, {"nearest": ["desk__get_current_time"]},
    )  # fmt: skip
    assert provider.called == []


@pytest.mark.promise("surface-teaching-errors")
async def test_wrong_arguments_are_refused_with_pointer_expected_received_and_an_example() -> None:
    schema: JsonObject = {
        "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"],
    }  # fmt: skip
    calls, provider, _ = await desk({"name": "take", "inputSchema": schema})
    result = await calls.call(Call("desk/take", {"count": "three"}))
    assert result.status is Status.FATAL_ERROR
    assert result.error is not None
    assert result.error.code == INVALID_ARGUMENTS
    assert result.error.details == {
        "violations": [{"pointer": "/count", "expected": "type integer", "received": '"three"'}],
        "example": {"count": 1},
    }
    assert '{"count":1}' in result.text
    assert provider.called == []


@pytest.mark.promise("field-o12-unknown-arguments")
async def test_an_unknown_argument_is_refused_with_the_likely_name() -> None:
    calls, provider, _ = await desk(
        raw_tool("walk", {"path": TEXT, "recursive": {"type": "boolean"}})
    )
    result = await calls.call(Call("desk/walk", {"path": "/a", "recursv": "as far as you can"}))
    assert "did you mean 'recursive'?" in result.text
    assert provider.called == []


@pytest.mark.promise("field-o12-unknown-arguments")
async def test_a_lenient_group_lets_an_unknown_argument_through_and_reports_it() -> None:
    calls, provider, catalogue = await desk(raw_tool("walk", {"path": TEXT}))
    lenient = GroupRecord("desk", refuses_unknown_arguments=False)
    await catalogue.change(lambda _: [PutGroup(lenient)])
    result = await calls.call(Call("desk/walk", {"path": "/a", "pth": "/b"}))
    assert result.status is Status.SUCCESS
    assert "'pth'" in str(result.meta[f"{META_PREFIX}unknown_arguments"])
    assert provider.called == [("walk", {"path": "/a", "pth": "/b"})]


@pytest.mark.promise("field-o07-null-arguments")
async def test_no_arguments_mean_none_and_only_a_null_that_means_nothing_is_dropped() -> None:
    nullable: JsonObject = {"anyOf": [TEXT, {"type": "null"}]}
    inner: JsonObject = {"type": "object", "properties": {"deep": TEXT, "more": nullable}}
    calls, provider, _ = await desk(
        raw_tool("find", {"q": TEXT, "after": TEXT, "parent": nullable, "inner": inner})
    )
    await calls.call(Call("desk/find", None))
    given: JsonObject = {
        "q": "x",
        "after": None,
        "parent": None,
        "inner": {"deep": None, "more": None},
    }
    await calls.call(Call("desk/find", given))
    assert provider.called == [
        ("find", {}), ("find", {"q": "x", "parent": None, "inner": {"more": None}}),
    ]  # fmt: skip
    assert given["after"] is None  # what the caller holds is not changed


async def test_a_null_for_a_required_argument_is_refused() -> None:
    schema: JsonObject = {"type": "object", "properties": {"q": TEXT}, "required": ["q"]}
    calls, provider, _ = await desk({"name": "find", "inputSchema": schema})
    result = await calls.call(Call("desk/find", {"q": None}))
    assert result.error is not None
    assert result.error.code == INVALID_ARGUMENTS
    assert provider.called == []


async def test_nulls_inside_lists_are_not_dropped() -> None:
    calls, provider, _ = await desk(raw_tool("find", {"ids": {"type": "array", "items": TEXT}}))
    result = await calls.call(Call("desk/find", {"ids": ["a", None]}))
    assert "/ids/1" in result.text
    assert provider.called == []


async def test_arguments_that_are_no_object_are_refused() -> None:
    calls, _, _ = await desk(raw_tool("find"))
    assert "must be an object" in (await calls.call(Call("desk/find", [1]))).text


@pytest.mark.promise("field-o10-surface-digits")
async def test_integers_beyond_53_bits_pass_digit_for_digit() -> None:
    given: JsonObject = {"id": 9007199254740993, "neg": -9223372036854775808, "f": 1.0}
    calls, _, _ = await desk(raw_tool("echo", {name: {"type": "number"} for name in given}))
    result = await calls.call(Call("desk/echo", given))
    assert repr(result.data) == repr(given)


async def test_a_range_without_a_version_says_which_there_are() -> None:
    calls, _, _ = await desk(raw_tool("one"))
    result = await calls.call(Call("desk/one", version=">=2"))
    assert result.error is not None
    assert (result.error.code, result.error.details) == (NO_SUCH_VERSION, {"versions": ["1.0.0"]})


async def test_what_a_caller_may_not_see_looks_like_what_does_not_exist() -> None:
    class OnlyOpen:
        def allows(self, caller: Caller, tool: ToolId) -> bool:
            return caller.id == "boss" or tool.name != "secret"

    calls, provider, _ = await desk(raw_tool("secret"), raw_tool("secrets"), policy=OnlyOpen())
    refused = await calls.call(Call("desk/secret", caller=Caller("guest")))
    missing = await calls.call(Call("desk/secrex", caller=Caller("guest")))
    assert refused.error is not None
    assert missing.error is not None
    assert refused.error.code == missing.error.code == UNKNOWN_TOOL
    assert refused.error.details == missing.error.details == {"nearest": ["desk__secrets"]}
    assert provider.called == []
    assert (await calls.call(Call("desk/secret", caller=Caller("boss")))).status is Status.SUCCESS


async def test_a_call_that_was_cut_off_is_retryable_only_where_repeating_is_declared_harmless() -> (
    None
):
    calls, provider, _ = await desk(raw_tool("write"), raw_tool("read", more=READS))
    provider.tools = {"write": broken_off, "read": broken_off}
    read = await calls.call(Call("desk/read"))
    write = await calls.call(Call("desk/write"))
    assert read.error is not None
    assert write.error is not None
    assert (read.status, read.error.code) == (Status.RETRYABLE_ERROR, SOURCE_DISCONNECTED)
    assert (write.status, write.error.code) == (Status.NEEDS_HUMAN, OUTCOME_UNKNOWN)
    assert write.error.details["cause"] == SOURCE_DISCONNECTED


async def test_a_time_limit_comes_from_the_caller_then_the_contract_and_is_capped() -> None:
    limits: list[float] = []

    async def note(_arguments: JsonObject, context: CallContext) -> Result:
        limits.append(context.timeout_seconds)
        return Result()

    slow = Contract.model_validate(
        {"group": "desk", "name": "slow", "limits": {"timeout_seconds": 7}}
    )
    calls, provider, catalogue = await desk(raw_tool("plain"), slow)
    provider.tools = {"plain": note, "slow": note}
    await calls.call(Call("desk/plain"))
    await calls.call(Call("desk/slow"))
    await calls.call(Call("desk/slow", timeout_seconds=3))
    await calls.call(Call("desk/slow", timeout_seconds=100_000))
    assert limits == [30, 7, 3, 900]
    patient = SourceRecord("desk", SourceKind.MCP, {"timeout_seconds": 120}, "desk")
    await catalogue.change(lambda _: [PutSource(patient)])
    await calls.call(Call("desk/plain"))
    await calls.call(Call("desk/slow"))
    await catalogue.change(lambda _: [DropSource("desk")])
    await calls.call(Call("desk/plain"))
    assert limits[4:] == [120, 7, 30]


async def test_a_provider_that_gives_up_in_time_speaks_for_itself() -> None:
    calls, provider, _ = await desk(raw_tool("read", more=READS))
    provider.tools = {"read": never}
    result = await calls.call(Call("desk/read", timeout_seconds=0.01))
    assert result.error is not None
    assert (result.error.code, result.error.message) == (TOOL_TIMED_OUT, "no answer")


async def test_a_provider_that_ignores_its_limit_is_left_by_the_path() -> None:
    async def deaf(_arguments: JsonObject, _context: CallContext) -> Result:
        await anyio.sleep_forever()
        raise AssertionError

    calls, provider, _ = await desk(raw_tool("read", more=READS))
    calls.grace_seconds = 0.01
    provider.tools = {"read": deaf}
    result = await calls.call(Call("desk/read", timeout_seconds=0.01))
    assert result.error is not None
    assert result.error.code == TOOL_TIMED_OUT
    assert "may have run" in result.text


@pytest.mark.promise("edge-drain")
async def test_calls_that_run_when_the_crib_ends_are_answered_by_what_their_contract_says() -> None:
    started: list[str] = []

    async def hang(arguments: JsonObject, _context: CallContext) -> Result:
        started.append(str(arguments["who"]))
        await anyio.sleep_forever()
        raise AssertionError

    who: JsonObject = {"who": {"type": "string"}}
    calls, provider, _ = await desk(raw_tool("write", who), raw_tool("read", who, more=READS))
    provider.tools = {"write": hang, "read": hang}
    results: dict[str, Result] = {}

    async def run(name: str) -> None:
        results[name] = await calls.call(Call(f"desk/{name}", {"who": name}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, "read")
        tasks.start_soon(run, "write")
        await anyio.wait_all_tasks_blocked()
        calls.interrupt()
    late = await calls.call(Call("desk/write", {"who": "too late"}))
    assert late.error is not None
    assert (late.error.code, late.status) == (SOURCE_UNAVAILABLE, Status.RETRYABLE_ERROR)
    assert sorted(started) == ["read", "write"]
    read, write = results["read"].error, results["write"].error
    assert read is not None
    assert write is not None
    assert (read.code, read.kind) == (CALL_INTERRUPTED, ErrorKind.RETRYABLE)
    assert (write.code, write.kind) == (OUTCOME_UNKNOWN, ErrorKind.NEEDS_HUMAN)
    assert write.details["cause"] == CALL_INTERRUPTED


async def test_every_call_is_told_to_the_observer_also_one_that_found_no_tool() -> None:
    ended: list[tuple[str | None, Status]] = []

    class Tally:
        def call_ended(
            self, source: str | None, result: Result, seconds: float, attempts: int
        ) -> None:
            assert seconds >= 0
            ended.append((source, result.status))

    _, provider, catalogue = await desk(raw_tool("read"))
    calls = Calls(catalogue, MemoryProviders({"desk": provider}), observer=Tally())
    await calls.call(Call("desk/read"))
    await calls.call(Call("desk/unheard_of"))
    assert ended == [("desk", Status.SUCCESS), (None, Status.FATAL_ERROR)]


async def test_a_source_that_does_not_run_is_told_as_such() -> None:
    calls, _, catalogue = await desk(raw_tool("one"))
    await listed(catalogue, "away", raw_tool("two"))
    result = await calls.call(Call("away/two"))
    assert result.error is not None
    assert (result.error.code, result.status) == (SOURCE_UNAVAILABLE, Status.RETRYABLE_ERROR)


@pytest.mark.promise("surface-call-list")
async def test_many_calls_run_at_the_same_time_and_answer_in_their_order() -> None:
    everyone = anyio.Event()
    waiting = 0

    async def meet(arguments: JsonObject, _context: CallContext) -> Result:
        # Answers only once all three are in here together: one after another would never end.
        nonlocal waiting
        waiting += 1
        if waiting == 3:
            everyone.set()
        await everyone.wait()
        return Result(data=arguments["n"], has_data=True)

    calls, provider, _ = await desk(raw_tool("meet", {"n": {"type": "integer"}}))
    provider.tools = {"meet": meet}
    with anyio.fail_after(10):
        results = await calls.call_many([Call("desk/meet", {"n": n}) for n in range(3)])
    assert [result.data for result in results] == [0, 1, 2]


async def test_a_fault_of_ours_in_one_of_many_calls_leaves_the_others_alone() -> None:
    async def faulty(_arguments: JsonObject, _context: CallContext) -> Result:
        raise ZeroDivisionError

    calls, provider, _ = await desk(raw_tool("good"), raw_tool("bad"))
    provider.tools = {"bad": faulty}
    good, bad = await calls.call_many([Call("desk/good"), Call("desk/bad")])
    assert good.status is Status.SUCCESS
    assert bad.error is not None
    assert bad.error.code == "internal"
