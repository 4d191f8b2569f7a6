"""Callers that repeat themselves are taught; whoever has a reason to call again is let through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registry.cribs import LATER, listed, raw_tool
from tests.registry.reading_rooms import READS, of, reading_room, shelf
from toolcrib_protocol.call_meta import REPEATED_META
from toolcrib_protocol.errors import (
    KEY_CONFLICT,
    NEEDS_SIGN_IN,
    OUTCOME_UNKNOWN,
    RATE_LIMITED,
    REPEATED_CALL,
    SOURCE_DISCONNECTED,
    TOOL_FAILED,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.interim import InputRequired
from toolcrib_protocol.result import Result, Status
from toolcrib_registry import repeat_guard
from toolcrib_registry.fallback import FALLBACK_META
from toolcrib_registry.interaction import Interaction
from toolcrib_registry.repeat_guard import SAME_ANSWER_SECONDS, WINDOW_SECONDS, RepeatGuard

if TYPE_CHECKING:
    from tests.registry.reading_rooms import Room
    from toolcrib_protocol.json_value import JsonObject

NO_SUCH_BOOK = ToolError(TOOL_FAILED, "there is no book of that name")
SAME = Result(data={"state": "pending"}, has_data=True)


@pytest.fixture
async def room() -> Room:
    """A crib with nothing but the guard."""
    return await reading_room(RepeatGuard)


@pytest.fixture
async def failing(room: Room) -> Room:
    """The same, before a library that has not got the book."""
    room.library.answers = [NO_SUCH_BOOK]
    return room


def code(result: Result) -> str:
    return "" if result.error is None else result.error.code


async def taught(room: Room, times: int, tool: str = "look") -> str:
    """How a number of equal calls went: s(ent) or t(aught)."""
    results = [await room.call(tool) for _ in range(times)]
    return "".join("t" if REPEATED_META in result.meta else "s" for result in results)


@pytest.mark.promise("repeat-taught")
@pytest.mark.parametrize("tool", ["look", "lend"])
async def test_the_same_failing_call_again_gets_a_lesson_instead(failing: Room, tool: str) -> None:
    first = await failing.call(tool)
    failing.clock.advance(3)
    second = await failing.call(tool)

    assert code(first) == TOOL_FAILED
    assert second.error is not None
    assert (second.error.code, second.status) == (REPEATED_CALL, Status.FATAL_ERROR)
    for words in ("failed 3 s ago", "there is no book of that name", "not called", "call again"):
        assert words in second.text
    assert second.error.details["example"] == {"book": "text"}
    assert second.error.details["last_error"] == {
        "code": TOOL_FAILED,
        "message": "there is no book of that name",
    }
    assert second.meta[REPEATED_META] == {"times": 1, "age_seconds": 3.0}
    assert len(failing.library.asked) == 1


@pytest.mark.promise("repeat-never-blocks")
async def test_after_the_lesson_the_call_goes_through_and_a_loop_gets_more_lessons(
    failing: Room,
) -> None:
    assert await taught(failing, 20) == "ststtsttttsttttttttst"[:20]
    failing.library.answers = [SAME]
    assert "t" * 8 + "s" in await taught(failing, 12) + "s"


@pytest.mark.promise("repeat-never-blocks")
async def test_a_repaired_call_succeeds_and_is_forgotten(failing: Room) -> None:
    assert await taught(failing, 2) == "st"
    failing.library.answers = [SAME]
    assert (await failing.call()).data == {"state": "pending"}
    failing.library.answers = [NO_SUCH_BOOK]
    assert await taught(failing, 2) == "st"


@pytest.mark.promise("repeat-never-blocks")
async def test_other_arguments_callers_sessions_and_credentials_are_other_calls(
    failing: Room,
) -> None:
    await failing.is_at({"forward_headers": {"X-Token": "Authorization"}})
    results = [
        await failing.call(),
        await failing.call(book="Ulysses"),
        await failing.call(caller=of("bob")),
        await failing.call(session="another"),
        await failing.call(caller_headers={"x-token": "bob"}),
        await failing.call(key="k"),
    ]
    assert {code(result) for result in results} == {TOOL_FAILED}


@pytest.mark.promise("repeat-never-blocks")
async def test_what_was_changed_in_between_lets_the_call_go(failing: Room) -> None:
    failing.provider.tools["lend"] = failing.provider.tools["look"]
    await failing.call()
    failing.library.answers = [SAME]
    await failing.call("lend", book="Ulysses")
    failing.library.answers = [NO_SUCH_BOOK]
    assert code(await failing.call()) == TOOL_FAILED
    # Reading changes nothing, and neither does a write that failed.
    await failing.call(book="other")
    await failing.call("lend", book="other")
    assert code(await failing.call()) == REPEATED_CALL


@pytest.mark.promise("repeat-never-blocks")
async def test_a_write_of_unknown_outcome_may_have_changed_something(failing: Room) -> None:
    await failing.call()
    failing.library.answers = [ToolError(SOURCE_DISCONNECTED, "gone", ErrorKind.RETRYABLE)]
    assert code(await failing.call("lend")) == OUTCOME_UNKNOWN
    failing.library.answers = [NO_SUCH_BOOK]
    assert code(await failing.call()) == TOOL_FAILED


@pytest.mark.promise("repeat-never-blocks")
async def test_time_another_version_a_fresh_wish_and_a_rule_let_the_call_go(
    failing: Room,
) -> None:
    await failing.call()
    failing.clock.advance(WINDOW_SECONDS + 1)
    assert code(await failing.call()) == TOOL_FAILED
    assert code(await failing.call(is_fresh=True)) == TOOL_FAILED
    assert code(await failing.call()) == REPEATED_CALL
    assert code(await failing.call(interaction=Interaction(responses={}))) == TOOL_FAILED
    await listed(failing.catalogue, "library", *shelf("It has learned."), now=LATER)
    assert code(await failing.call()) == TOOL_FAILED
    await failing.rules(repeats=True)
    assert code(await failing.call()) == TOOL_FAILED


@pytest.mark.promise("repeat-never-blocks")
@pytest.mark.parametrize(
    "failure",
    [
        ToolError(RATE_LIMITED, "slow down", ErrorKind.RETRYABLE, {"retry_after_seconds": 1}),
        ToolError(NEEDS_SIGN_IN, "sign in", ErrorKind.NEEDS_HUMAN),
        ToolError(TOOL_FAILED, "HTTP 429: too many requests"),
        ToolError(KEY_CONFLICT, "the key belongs to another call"),
    ],
)
@pytest.mark.parametrize("tool", ["look", "lend"])
async def test_failures_that_pass_or_that_a_person_mends_may_be_repeated(
    room: Room, failure: ToolError, tool: str
) -> None:
    room.library.answers = [failure]
    assert await taught(room, 4, tool) == "ssss"


@pytest.mark.promise("repeat-same-answer")
async def test_a_third_call_for_the_same_answer_within_seconds_is_answered_from_memory(
    room: Room,
) -> None:
    room.library.answers = [SAME]
    assert await taught(room, 2) == "ss"
    room.clock.advance(2)
    third = await room.call()

    assert third.data == {"state": "pending"}
    assert not third.is_error
    assert "the same call had this answer 2 times, last 2.0 s ago" in third.text
    assert third.meta[REPEATED_META] == {"times": 2, "age_seconds": 2.0}
    assert len(room.library.asked) == 2


@pytest.mark.promise("repeat-same-answer")
async def test_who_polls_gets_a_new_answer_whenever_the_last_is_some_seconds_old(
    room: Room,
) -> None:
    room.library.answers = [SAME]
    for _ in range(5):
        assert await taught(room, 1) == "s"
        room.clock.advance(SAME_ANSWER_SECONDS + 0.1)
    room.library.answers = [Result(data={"state": "done"}, has_data=True)]
    assert (await room.call()).data == {"state": "done"}
    # Another answer begins the count anew.
    assert await taught(room, 2) == "st"


@pytest.mark.promise("repeat-same-answer")
async def test_only_reading_in_one_conversation_is_answered_from_memory(room: Room) -> None:
    room.library.answers = [SAME]
    assert await taught(room, 4, "lend") == "ssss"
    assert [code(await room.call(key="k")) for _ in range(4)] == [""] * 4
    room.session = ""
    assert await taught(room, 4) == "ssss"
    assert len(room.library.asked) == 12


@pytest.mark.promise("repeat-same-answer")
async def test_an_answer_that_changes_is_always_asked_for(room: Room) -> None:
    assert await taught(room, 5) == "sssss"


@pytest.mark.parametrize(
    "answer",
    [
        Result(data={"much": "x" * 9_000}, has_data=True),
        Result(data={"odd": float("nan")}, has_data=True),
        Result(data=1, has_data=True, meta={FALLBACK_META: {}}),
        Result.asking("library/look", InputRequired({"q": {"method": "x"}})),
    ],
)
async def test_what_is_large_odd_or_not_the_tools_own_answer_is_asked_for(
    room: Room, answer: Result
) -> None:
    room.library.answers = [answer]
    assert await taught(room, 4) == "ssss"


async def test_the_guard_forgets_what_is_oldest(
    failing: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeat_guard, "MOST_REMEMBERED", 2)
    for book in ("a", "b", "c"):
        await failing.call(book=book)
    assert code(await failing.call(book="b")) == REPEATED_CALL
    assert code(await failing.call(book="a")) == TOOL_FAILED


async def test_a_lesson_has_no_example_where_none_would_help(failing: Room) -> None:
    many: JsonObject = {f"argument_{number}": {"type": "string"} for number in range(40)}
    schema: JsonObject = {"type": "object", "properties": many, "required": [*many]}
    large = raw_tool("look", more={**READS, "inputSchema": schema})
    none = raw_tool("look", {}, READS)
    for tool in (large, none):
        await listed(failing.catalogue, "library", tool, now=LATER)
        given = dict.fromkeys(many, "x") if tool is large else {}
        await failing.call(arguments=given)
        lesson = await failing.call(arguments=given)
        assert lesson.error is not None
        assert lesson.error.code == REPEATED_CALL
        assert "example" not in lesson.error.details


async def test_arguments_that_have_no_digest_are_no_business_of_the_guard(failing: Room) -> None:
    anything = raw_tool("look", {"book": {}}, READS)
    await listed(failing.catalogue, "library", anything, now=LATER)
    results = [await failing.call(book=float("nan")) for _ in range(3)]
    assert {code(result) for result in results} == {TOOL_FAILED}


@pytest.mark.promise("repeat-polling")
@pytest.mark.parametrize(
    "words",
    [
        "job 17 is not ready yet",
        "still running",
        "pending",
        "404 not found yet",
        "IN_PROGRESS",
        "the job has not finished",
        "the export is being built: check back soon",
        "Job is running.",
        "please wait",
    ],
)
@pytest.mark.parametrize("tool", ["look", "lend"])
async def test_a_failure_that_says_that_something_is_under_way_gets_no_lesson(
    room: Room, words: str, tool: str
) -> None:
    room.library.answers = [ToolError(TOOL_FAILED, words)]
    assert await taught(room, 6, tool) == "ssssss"


@pytest.mark.promise("repeat-polling")
async def test_who_polls_by_a_failing_reading_sees_a_change_five_seconds_late_at_most(
    failing: Room,
) -> None:
    for _ in range(3):
        assert await taught(failing, 2) == "st"
        failing.clock.advance(SAME_ANSWER_SECONDS + 0.1)
    assert await taught(failing, 1) == "s"
    lesson = await failing.call()
    assert "it will be sent after 7 more like this one or 5 s" in lesson.text
    failing.clock.advance(SAME_ANSWER_SECONDS + 0.1)
    failing.library.answers = [SAME]
    assert (await failing.call()).data == {"state": "pending"}


@pytest.mark.promise("repeat-polling")
@pytest.mark.parametrize(
    ("tool", "words"),
    [("lend", "no such book"), ("look", "invalid arguments: state must be pending or done")],
)
async def test_time_mends_neither_wrong_arguments_nor_a_write(
    room: Room, tool: str, words: str
) -> None:
    room.library.answers = [ToolError(TOOL_FAILED, words)]
    assert await taught(room, 1, tool) == "s"
    room.clock.advance(SAME_ANSWER_SECONDS + 60)
    assert await taught(room, 1, tool) == "t"
