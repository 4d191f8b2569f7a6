"""Answers that are remembered: whose, how long, and what never is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from tests.registry.cribs import LATER, listed, raw_tool
from tests.registry.reading_rooms import READS, of, reading_room, shelf
from toolcrib_protocol.call_meta import CACHED_META
from toolcrib_protocol.errors import (
    INVALID_JSON,
    SOURCE_UNAVAILABLE,
    TOOL_FAILED,
    TOOL_TIMED_OUT,
    UNKNOWN_TOOL,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.interim import InputRequired
from toolcrib_protocol.result import Result
from toolcrib_registry.fallback import DEGRADED_META, FALLBACK_META
from toolcrib_registry.interaction import ELICITATION, Interaction, Question
from toolcrib_registry.result_cache import LARGEST_REMEMBERED, ResultCache

if TYPE_CHECKING:
    from tests.registry.reading_rooms import Room
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.permissions import Caller
    from toolcrib_registry.ports import CallContext

PATIENCE = 30


@pytest.fixture
async def room() -> Room:
    """A crib that remembers what the library says for a minute."""
    room = await reading_room(ResultCache)
    await room.rules(cache_seconds=60)
    return room


def age(result: Result) -> object:
    told = result.meta.get(CACHED_META)
    return told["age_seconds"] if isinstance(told, dict) else None


@pytest.mark.promise("cache-remembers")
async def test_an_equal_call_gets_the_remembered_answer_until_it_is_too_old(room: Room) -> None:
    first = await room.call()
    room.clock.advance(59.5)
    second = await room.call()
    room.clock.advance(0.5)
    third = await room.call()

    assert [result.data for result in (first, second, third)] == [
        {"number": 1}, {"number": 1}, {"number": 2},
    ]  # fmt: skip
    assert [age(result) for result in (first, second, third)] == [None, 59.5, None]


@pytest.mark.promise("cache-off-by-default")
async def test_nothing_is_remembered_without_a_rule_or_of_a_tool_that_may_write() -> None:
    room = await reading_room(ResultCache)
    for _ in range(2):
        await room.call()
    await room.rules(cache_seconds=0)
    await room.call()
    await room.rules(cache_seconds=60)
    for _ in range(2):
        await room.call("lend")
    assert len(room.library.asked) == 5


async def test_other_arguments_are_another_call(room: Room) -> None:
    await room.call(book="Emma")
    await room.call(book="Ulysses")
    await room.call(book="Emma")
    assert len(room.library.asked) == 2


@pytest.mark.promise("cache-each-callers-own")
async def test_what_one_caller_saw_is_not_shown_to_another_unless_a_rule_says_so(
    room: Room,
) -> None:
    await room.call(caller=of("ann"))
    other = await room.call(caller=of("bob"))
    assert other.data == {"number": 2}
    await room.rules(cache_shared=True)
    await room.call(caller=of("ann"))
    shared = await room.call(caller=of("bob"))
    assert shared.data == {"number": 3}
    assert age(shared) == 0


@pytest.mark.promise("life-affinity")
async def test_where_a_source_keeps_something_for_each_conversation_they_never_share(
    room: Room,
) -> None:
    await room.is_at({"affinity": "per_caller"})
    await room.rules(cache_shared=True)
    for session in ("one", "two", "one"):
        await room.call(session=session)
    assert len(room.library.asked) == 2


@pytest.mark.promise("cache-each-callers-own")
async def test_callers_with_credentials_of_their_own_never_share(room: Room) -> None:
    await room.is_at({"forward_headers": {"X-Token": "Authorization"}})
    await room.rules(cache_shared=True)
    await room.call(caller_headers={"x-token": "ann", "x-other": "1"})
    await room.call(caller_headers={"x-token": "bob"})
    await room.call()
    again = await room.call(caller_headers={"x-token": "ann", "x-other": "2"})
    assert again.data == {"number": 1}
    assert len(room.library.asked) == 3


@pytest.mark.promise("field-o42-cache")
async def test_a_remembered_answer_is_not_for_who_may_not_call_the_tool() -> None:
    allowed = {"ann", "bob"}

    class Named:
        def allows(self, caller: Caller, tool: ToolId) -> bool:
            return caller.id in allowed

    room = await reading_room(ResultCache, policy=Named())
    await room.rules(cache_seconds=60, cache_shared=True)
    await room.call(caller=of("ann"))
    assert age(await room.call(caller=of("bob"))) == 0
    allowed.remove("bob")
    refused = await room.call(caller=of("bob"))
    assert refused.error is not None
    assert refused.error.code == UNKNOWN_TOOL
    assert refused.data is None


@pytest.mark.promise("cache-fresh")
async def test_a_caller_that_wants_a_fresh_answer_gets_one_and_it_is_remembered(
    room: Room,
) -> None:
    await room.call()
    fresh = await room.call(is_fresh=True)
    later = await room.call()
    assert fresh.data == later.data == {"number": 2}
    assert age(fresh) is None


@pytest.mark.promise("cache-never-failures")
@pytest.mark.parametrize(
    "answer",
    [
        ToolError(TOOL_FAILED, "no such book"),
        ToolError(SOURCE_UNAVAILABLE, "closed", ErrorKind.RETRYABLE),
        Result.asking("library/look", InputRequired({"q": {"method": "x"}})),
        Result(data={"much": "x" * LARGEST_REMEMBERED}, has_data=True),
        Result(data={"odd": float("nan")}, has_data=True),
    ],
)
async def test_failures_questions_and_what_is_too_large_are_not_remembered(
    room: Room, answer: Result | ToolError
) -> None:
    room.library.answers = [answer]
    for _ in range(2):
        await room.call()
    assert len(room.library.asked) == 2


@pytest.mark.promise("cache-never-failures")
@pytest.mark.parametrize("mark", [FALLBACK_META, DEGRADED_META])
async def test_what_stood_in_for_the_tool_is_not_remembered(room: Room, mark: str) -> None:
    room.library.answers = [Result(data=1, has_data=True, meta={mark: {}})]
    for _ in range(2):
        await room.call()
    assert len(room.library.asked) == 2


@pytest.mark.promise("cache-never-failures")
async def test_an_answer_that_a_person_helped_with_is_not_remembered(room: Room) -> None:
    async def asks(arguments: JsonObject, context: CallContext) -> Result:
        assert context.interaction.ask is not None
        said = await context.interaction.ask(Question(ELICITATION))
        return Result(data=[arguments["book"], said["x"]], has_data=True)

    async def answer(_: Question) -> JsonObject:
        return {"x": len(room.provider.called)}

    room.provider.tools["look"] = asks
    person = Interaction({"elicitation": {}}, answer)
    first = await room.call(interaction=person)
    second = await room.call(interaction=person)
    assert [first.data, second.data] == [["Emma", 1], ["Emma", 2]]


async def test_a_call_that_brings_answers_goes_to_the_tool(room: Room) -> None:
    await room.call()
    for second in (Interaction(state="s"), Interaction(responses={"q": {}})):
        assert age(await room.call(interaction=second)) is None
    assert len(room.library.asked) == 3


@pytest.mark.promise("cache-forgets-with-the-tool")
async def test_another_version_of_the_tool_and_another_place_of_its_source_answer_anew(
    room: Room,
) -> None:
    await room.call()
    await listed(room.catalogue, "library", *shelf("It looks in the new wing."), now=LATER)
    await room.call()
    await room.is_at({"url": "http://elsewhere"})
    moved = await room.call()
    again = await room.call()
    assert moved.data == again.data == {"number": 3}


@pytest.mark.promise("cache-one-call-for-equal-ones")
async def test_equal_calls_at_the_same_time_are_one(room: Room) -> None:
    room.library.hold = anyio.Event()
    got: list[Result] = []

    async def call() -> None:
        got.append(await room.call())

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(call)
            await room.library.came.wait()
            room.library.hold.set()
    assert [result.data for result in got] == [{"number": 1}] * 20
    assert len(room.library.asked) == 1


@pytest.mark.promise("cache-one-call-for-equal-ones")
async def test_who_goes_away_takes_the_answer_from_nobody(room: Room) -> None:
    room.library.hold = anyio.Event()
    got: list[Result] = []

    async def call(scope: anyio.CancelScope | None = None) -> None:
        with scope or anyio.CancelScope():
            got.append(await room.call())

    leader, waiter = anyio.CancelScope(), anyio.CancelScope()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, leader)
            await room.library.came.wait()
            tasks.start_soon(call, waiter)
            tasks.start_soon(call)
            await anyio.lowlevel.checkpoint()
            waiter.cancel()
            await anyio.lowlevel.checkpoint()
            leader.cancel()
            await anyio.lowlevel.checkpoint()
            room.library.hold.set()
    # The one that stayed made the call itself.
    assert [result.data for result in got] == [{"number": 2}]


async def test_waiters_of_a_call_that_failed_make_their_own(room: Room) -> None:
    room.library.hold = anyio.Event()
    room.library.answers = [ToolError(TOOL_FAILED, "no"), Result(data=1, has_data=True)]
    got: list[Result] = []

    async def call() -> None:
        got.append(await room.call())

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await room.library.came.wait()
            tasks.start_soon(call)
            await anyio.lowlevel.checkpoint()
            room.library.hold.set()
    assert sorted(result.is_error for result in got) == [False, True]


async def test_a_waiter_whose_time_is_up_is_told_so(room: Room) -> None:
    room.library.hold = anyio.Event()
    room.calls.grace_seconds = 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.call)
        await room.library.came.wait()
        late = await room.call(timeout_seconds=0.01)
        room.library.hold.set()
    assert late.error is not None
    assert (late.error.code, late.error.kind) == (TOOL_TIMED_OUT, ErrorKind.RETRYABLE)


@pytest.mark.promise("cache-bounded")
async def test_what_was_not_used_for_longest_goes_when_there_is_too_much() -> None:
    room = await reading_room(lambda *of_crib: ResultCache(*of_crib, most_bytes=200))
    await room.rules(cache_seconds=60)
    for book in ("a", "b", "a", "c", "d", "e"):
        await room.call(book=book)
    asked = len(room.library.asked)
    assert age(await room.call(book="e")) == 0
    await room.call(book="b")
    assert (asked, len(room.library.asked)) == (5, 6)


async def test_arguments_that_json_cannot_write_are_refused(room: Room) -> None:
    anything = raw_tool("look", {"book": {}}, READS)
    await listed(room.catalogue, "library", anything, now=LATER)
    told = await room.call(book=float("nan"))
    assert told.error is not None
    assert told.error.code == INVALID_JSON
    assert not room.library.asked


async def test_an_answer_is_the_same_object_and_stays_unchanged(room: Room) -> None:
    room.library.answers = [Result(data={"a": 1}, has_data=True, meta={"their/key": 1})]
    first = await room.call()
    second = await room.call()
    assert replace(second, meta={}) == replace(first, meta={})
    assert second.meta["their/key"] == 1
    assert CACHED_META not in first.meta
