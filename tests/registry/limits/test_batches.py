"""Calls that wait together are made together, where a contract says how."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from tests.registry.limits.halls import Hall, gated
from toolcrib_protocol.errors import (
    NOT_PERMITTED,
    OUTCOME_UNKNOWN,
    TOOL_FAILED,
    TOOL_TIMED_OUT,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import TOOL_META, Result
from toolcrib_protocol.tool import BatchForm, Behaviour, Contract
from toolcrib_registry.call import Call
from toolcrib_registry.interaction import Interaction
from toolcrib_registry.limits.batch_items import BATCHED_META, items_of
from toolcrib_registry.permissions import Caller
from toolcrib_registry.places import Places
from toolcrib_registry.views import View

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.limits import Gates
    from toolcrib_registry.ports import CallContext
    from toolcrib_registry.stages import Stage

READS = Behaviour(read_only=True)
NUMBER: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}


def single(behaviour: Behaviour = READS, most: int = 100) -> Contract:
    form = BatchForm(tool="get_many", items_argument="items", max_items=most)
    return Contract(group="desk", name="get", input_schema=NUMBER, behaviour=behaviour, batch=form)


def many(behaviour: Behaviour = READS) -> Contract:
    items: JsonObject = {"items": {"type": "array", "items": NUMBER}}
    schema: JsonObject = {"type": "object", "properties": items, "required": ["items"]}
    return Contract(group="desk", name="get_many", input_schema=schema, behaviour=behaviour)


def doubled(items: list[Any]) -> Json:
    return {"results": [{"double": item["n"] * 2} for item in items]}


@dataclass
class Desk:
    """A crib with one place, which a call holds until it is let go."""

    calls: Calls
    gates: Gates
    hall: Hall
    batches: list[list[Any]] = field(default_factory=list)
    singles: list[Json] = field(default_factory=list)
    results: dict[int, Result] = field(default_factory=dict)

    async def call(self, number: int, **more: Any) -> None:
        call = Call("desk/get", {"n": number}, **more)
        self.results[number] = await self.calls.call(call)


@asynccontextmanager
async def desk(
    answer: Callable[[list[Any]], Json] = doubled,
    *,
    behaviour: Behaviour = READS,
    of_batch: Behaviour | None = None,
    most: int = 100,
    rules: dict[str, JsonObject] | None = None,
    runs: bool = True,
    outer: tuple[Stage, ...] = (),
    own: Contract | None = None,
    together: Contract | None = None,
) -> AsyncIterator[Desk]:
    hall_of = Contract(group="desk", name="wait")
    calls, provider, gates, _ = await gated(
        hall_of,
        own or single(behaviour, most),
        together or many(of_batch or behaviour),
        rules={"source:desk": {"max_concurrency": 1}, **(rules or {})},
        outer=outer,
    )
    made = Desk(calls, gates, Hall())

    async def get_many(arguments: JsonObject, _context: CallContext) -> Result:
        items = arguments["items"]
        assert isinstance(items, list)
        made.batches.append([item["n"] for item in items if isinstance(item, dict)])
        return Result(data=answer(items), has_data=True)

    async def get(arguments: JsonObject, _context: CallContext) -> Result:
        made.singles.append(arguments["n"])
        return Result(data={"alone": arguments["n"]}, has_data=True)

    provider.tools.update(wait=made.hall.visit, get=get, get_many=get_many)
    async with anyio.create_task_group() as tasks:
        if runs:
            tasks.start_soon(gates.run)
        tasks.start_soon(calls.call, Call("desk/wait"))
        await made.hall.filled(1)
        yield made
        tasks.cancel_scope.cancel()
    assert all(state.running == state.waiting == 0 for state in gates.states())


async def served(made: Desk, numbers: range, **more: Any) -> None:
    """Call with all of these while the place is taken, then let go."""
    async with anyio.create_task_group() as tasks:
        for number in numbers:
            tasks.start_soon(partial(made.call, number, **more))
        await anyio.wait_all_tasks_blocked()
        made.hall.opened.set()


@pytest.mark.promise("batch-merges")
async def test_calls_that_wait_in_one_gate_are_made_as_one_and_each_gets_its_own_result() -> None:
    async with desk() as made:
        await served(made, range(5))
        assert made.batches == [[0, 1, 2, 3, 4]]
        assert made.singles == []
        for number, result in made.results.items():
            assert result.data == {"double": number * 2}
            assert result.text == f'{{"double":{number * 2}}}'
            assert result.meta[BATCHED_META] == 5
            assert result.meta[TOOL_META] == "desk/get@1.0.0"


@pytest.mark.promise("batch-merges")
async def test_a_batch_is_no_larger_than_its_form_says_and_a_last_one_stays_alone() -> None:
    async with desk(most=2) as made:
        await served(made, range(5))
        assert made.batches == [[0, 1], [2, 3]]
        assert made.singles == [4]
        assert made.results[4].data == {"alone": 4}


@pytest.mark.promise("batch-merges")
async def test_only_calls_of_one_caller_with_the_same_credentials_are_made_together() -> None:
    async with desk() as made, anyio.create_task_group() as tasks:
        ann, bob = Caller("ann"), Caller("bob")
        secret = {"authorization": "Bearer 1", "traceparent": "00-1"}
        other = {"authorization": "Bearer 2"}
        for number, more in enumerate(
            (
                {"caller": ann, "caller_headers": secret},
                {"caller": ann, "caller_headers": {**secret, "traceparent": "00-2"}},
                {"caller": ann, "caller_headers": other},
                {"caller": bob, "caller_headers": secret},
            )
        ):
            tasks.start_soon(partial(made.call, number, **more))
        await anyio.wait_all_tasks_blocked()
        made.hall.opened.set()
    assert made.batches == [[0, 1]]
    assert sorted(map(str, made.singles)) == ["2", "3"]


async def test_a_call_that_finds_a_place_at_once_is_made_by_itself() -> None:
    async with desk() as made:
        made.hall.opened.set()
        await anyio.wait_all_tasks_blocked()
        await made.call(1)
        assert (made.batches, made.singles) == ([], [1])
    async with desk(runs=False) as made:
        await served(made, range(3))
        assert (made.batches, made.singles) == ([], [0, 1, 2])


async def test_a_crib_that_ends_makes_no_more_batches() -> None:
    async with desk(runs=False) as made, anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()

        async def run() -> None:
            with scope:
                await made.gates.run()

        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        for number in range(3):
            tasks.start_soon(made.call, number)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await anyio.wait_all_tasks_blocked()
        made.hall.opened.set()
    assert (made.batches, made.singles) == ([], [0, 1, 2])


@pytest.mark.promise("batch-allowed")
async def test_a_second_leg_of_a_conversation_is_made_by_itself() -> None:
    async with desk() as made:
        await served(made, range(3), interaction=Interaction(state="opaque"))
        assert (made.batches, made.singles) == ([], [0, 1, 2])


async def test_tools_that_name_themselves_or_each_other_as_batch_are_called_by_themselves() -> None:
    form = BatchForm(tool="get", items_argument="items")
    own = single().model_copy(update={"batch": form})
    async with desk(own=own) as made:
        await served(made, range(3))
        assert sorted(map(str, made.singles)) == ["0", "1", "2"]
    back = many().model_copy(update={"batch": form})
    async with desk(together=back) as made:
        await served(made, range(3))
        assert made.batches == [[0, 1, 2]]


@pytest.mark.promise("batch-merges")
async def test_a_batch_takes_no_place_of_its_profile_besides_those_of_its_calls() -> None:
    async with desk(outer=(Places(),)) as made:
        await served(made, range(2), view=View("two", calls_at_once=2))
        assert made.batches == [[0, 1]]


@pytest.mark.promise("batch-allowed")
@pytest.mark.parametrize(
    ("behaviour", "of_batch", "more"),
    [
        (READS, Behaviour(), {}),
        (READS, Behaviour(read_only=False), {}),
        (Behaviour(), Behaviour(), {"key": "k"}),
    ],
)
async def test_nothing_is_made_together_that_would_do_more_or_carries_a_key(
    behaviour: Behaviour, of_batch: Behaviour, more: dict[str, Any]
) -> None:
    async with desk(behaviour=behaviour, of_batch=of_batch) as made:
        await served(made, range(3), **more)
        assert (made.batches, len(made.singles)) == ([], 3)


@pytest.mark.promise("batch-allowed")
async def test_who_may_not_use_the_batch_tool_has_each_call_made_by_itself() -> None:
    async with desk() as made:
        made.calls._policy = NoBatches()
        await served(made, range(3))
        assert (made.batches, made.singles) == ([], [0, 1, 2])


class NoBatches:
    """A policy that allows all but one tool."""

    def allows(self, _caller: Caller, tool: object) -> bool:
        return not str(tool).endswith("get_many")


@pytest.mark.promise("batch-errors")
async def test_an_item_that_failed_takes_no_other_down() -> None:
    def some(items: list[Any]) -> Json:
        told: list[Json] = [
            {"error": {"code": "no_such", "message": "there is no 0"}},
            {"error": "no 1 either"},
            "two",
            None,
            {"error": {"odd": []}},
        ]
        return told[: len(items)]

    async with desk(some, behaviour=Behaviour()) as made:
        await served(made, range(5))
        results = [made.results[n] for n in range(5)]
        errors = [result.error for result in results]
        assert [error and error.message for error in errors] == [
            "there is no 0",
            "no 1 either",
            None,
            None,
            "null",
        ]
        assert errors[0] is not None
        assert errors[0].code == TOOL_FAILED
        assert results[0].data == {"error": {"code": "no_such", "message": "there is no 0"}}
        assert [result.text for result in results[2:4]] == ["two", "null"]
        assert [result.has_data for result in results[2:4]] == [False, False]


@pytest.mark.promise("batch-errors")
@pytest.mark.parametrize("odd", [[], {"results": [1]}, {"result": [1, 2, 3]}, 7, None])
async def test_an_answer_of_the_wrong_shape_is_asked_for_one_by_one_or_of_unknown_outcome(
    odd: Json,
) -> None:
    async with desk(lambda _: odd) as made:
        await served(made, range(3))
        assert (made.batches, made.singles) == ([[0, 1, 2]], [0, 1, 2])
        assert all(BATCHED_META not in result.meta for result in made.results.values())
    async with desk(lambda _: odd, behaviour=Behaviour()) as made:
        await served(made, range(3))
        assert (made.batches, made.singles) == ([[0, 1, 2]], [])
        for result in made.results.values():
            assert result.error is not None
            assert (result.error.code, result.error.kind) == (
                OUTCOME_UNKNOWN,
                ErrorKind.NEEDS_HUMAN,
            )
            assert "gave no result for each" in result.error.message


@pytest.mark.promise("batch-errors")
async def test_a_batch_that_never_left_is_made_one_by_one_one_that_may_have_run_is_not() -> None:
    def refuse(_: list[Any]) -> Json:
        raise ToolError(NOT_PERMITTED, "not now", ErrorKind.RETRYABLE, {"sent": False})

    def lose(_: list[Any]) -> Json:
        raise ToolError(TOOL_TIMED_OUT, "no answer", ErrorKind.RETRYABLE)

    async with desk(refuse, behaviour=Behaviour()) as made:
        await served(made, range(3))
        assert made.singles == [0, 1, 2]
    async with desk(lose, behaviour=Behaviour()) as made:
        await served(made, range(3))
        assert made.singles == []
        codes = {result.error.code for result in made.results.values() if result.error}
        assert codes == {OUTCOME_UNKNOWN}


@pytest.mark.promise("batch-errors")
async def test_a_fault_of_ours_in_a_batch_is_no_end_of_the_others() -> None:
    def burst(_: list[Any]) -> Json:
        raise RuntimeError("a fault")

    async with desk(burst, behaviour=Behaviour()) as made:
        await served(made, range(2))
        codes = [result.error.code for result in made.results.values() if result.error]
        assert codes == [OUTCOME_UNKNOWN, OUTCOME_UNKNOWN]


async def test_a_caller_that_leaves_or_has_no_time_takes_no_others_results_along() -> None:
    halted = anyio.Event()
    async with desk(most=3) as made:
        provider_many = Hall()
        made.calls._providers.by_source["desk"].tools["get_many"] = provider_many.visit  # type: ignore[attr-defined]
        scope = anyio.CancelScope()

        async def leaving() -> None:
            with scope:
                await made.call(0)
            halted.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leaving)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(made.call, 1)
            tasks.start_soon(partial(made.call, 2, timeout_seconds=0.05))
            await anyio.wait_all_tasks_blocked()
            made.hall.opened.set()
            await provider_many.filled(1)
            scope.cancel()
            await halted.wait()
            while 2 not in made.results:  # noqa: ASYNC110 - its own time has to run out
                await anyio.sleep(0.05)
            provider_many.opened.set()
        lost = made.results[2].error
        assert lost is not None
        assert lost.code == TOOL_TIMED_OUT
        # The echo is no list: a reading call is made by itself then.
        assert made.results[1].data == {"alone": 1}


@pytest.mark.promise("batch-merges")
async def test_a_batch_passes_the_gate_of_its_own_tool() -> None:
    rules: dict[str, JsonObject] = {
        "tool:desk/get_many": {"max_concurrency": 1},
        "tool:desk/get": {"max_concurrency": 1},
        "group:desk": {"max_concurrency": 1},
    }
    async with desk(rules=rules) as made, anyio.create_task_group() as tasks:
        first = Hall()
        made.calls._providers.by_source["desk"].tools["get_many"] = first.visit  # type: ignore[attr-defined]
        tasks.start_soon(made.calls.call, Call("desk/get_many", {"items": []}))
        for number in range(3):
            tasks.start_soon(made.call, number)
        await anyio.wait_all_tasks_blocked()
        made.hall.opened.set()
        first.opened.set()
    assert sorted(made.results) == [0, 1, 2]
    assert all(result.data == {"alone": n} for n, result in made.results.items())


def test_an_answer_may_be_a_list_or_have_it_under_results_or_be_text() -> None:
    contract = single()
    for answer in (
        Result(data=[1, {"a": 2}], has_data=True),
        Result(data={"results": [1, {"a": 2}]}, has_data=True),
        Result.from_mcp({"content": [{"type": "text", "text": '{"results": [1, {"a": 2}]}'}]}),
        Result.from_mcp({"content": [{"type": "text", "text": '[1, {"a": 2}]'}]}),
    ):
        found = items_of(answer, 2, contract)
        assert found is not None
        assert [result.text for result in found] == ["1", '{"a":2}']
        assert [result.has_data for result in found] == [False, True]
    assert items_of(Result.from_mcp({"content": []}), 0, contract) is None
