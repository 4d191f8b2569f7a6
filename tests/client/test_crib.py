"""Searching, describing and calling through the client, and what odd answers become."""

from __future__ import annotations

import pytest

from tests.client.small_crib import SmallCrib
from toolcrib_client import (
    BadAnswer,
    Call,
    Crib,
    InvalidArguments,
    NeedsHuman,
    Status,
    ToolError,
    ToolFailed,
    UnknownTool,
)


async def test_several_queries_are_told_apart_and_each_tool_is_iterated_once(crib: Crib) -> None:
    answer = await crib.search("nonsense", "time", "anything")
    assert [(r.query, r.nothing_fits, len(r.hits)) for r in answer.results] == [
        ("nonsense", True, 0),
        ("time", False, 1),
        ("anything", False, 2),
    ]
    assert [hit.name for hit in answer] == ["time__now", "mail__send"]
    assert len(answer) == 2
    assert [group.name for group in answer.groups] == ["time"]
    assert answer.degraded is None


async def test_more_queries_than_one_question_may_hold_are_asked_in_parts(
    crib: Crib, small: SmallCrib
) -> None:
    queries = [f"time {number}" for number in range(9)] + ["be degraded"]
    answer = await crib.search(*queries)
    assert [result.query for result in answer.results] == queries
    assert small.calls["search_tools"] == 2
    assert answer.degraded == "vectors are being built"


async def test_options_of_a_search_go_to_the_crib(crib: Crib, small: SmallCrib) -> None:
    await crib.search("time", group="time", limit=3, detail="schemas")
    assert small.searched == [
        {"queries": ["time"], "group": "time", "limit": 3, "detail": "schemas"}
    ]


async def test_a_search_for_nothing_is_refused(crib: Crib) -> None:
    with pytest.raises(InvalidArguments, match="at least one query"):
        await crib.search()


async def test_a_hit_reads_as_a_line() -> None:
    async with Crib(SmallCrib()) as crib:
        (hit,) = await crib.search("time")
    assert str(hit) == "time__now(city: string)  The time in a city."


async def test_more_names_than_one_question_may_hold_are_described_in_order(crib: Crib) -> None:
    names = ["time__now", "mail__send"] * 12
    assert [tool.name for tool in await crib.describe(names)] == names


async def test_one_unknown_name_among_others_is_an_error(crib: Crib) -> None:
    with pytest.raises(UnknownTool, match="nope"):
        await crib.describe(["time__now", "nope"])


async def test_an_answer_of_another_shape_is_a_bad_answer(crib: Crib) -> None:
    with pytest.raises(BadAnswer, match=r"results: .*small-crib"):
        await crib.search("be strange")
    with pytest.raises(BadAnswer, match="reference"):
        await crib.describe("strange")
    with pytest.raises(BadAnswer, match="no list of tools"):
        await crib.describe("odd")


async def test_calling_by_version_passes_the_range(crib: Crib, small: SmallCrib) -> None:
    wish = Call("time/now", {"a": 1}, "^1")
    assert wish.as_json() == {"name": "time/now", "arguments": {"a": 1}, "version": "^1"}
    assert not (await crib.call("echo__back", version="^1")).is_error


@pytest.mark.promise("client-typed-errors")
async def test_unwrapping_a_failure_raises_the_class_of_its_code(crib: Crib) -> None:
    result = await crib.call("fail__as", {"code": "unknown_tool", "kind": "fatal"})
    assert result.status is Status.FATAL_ERROR
    with pytest.raises(UnknownTool, match="it failed"):
        result.unwrap()


async def test_a_tools_own_failure_is_told_in_its_words(crib: Crib) -> None:
    with pytest.raises(ToolFailed, match="disk full"):
        (await crib.call("fail__plainly")).unwrap()


async def test_a_tool_that_asks_back_needs_a_human(crib: Crib) -> None:
    result = await crib.call("odd__asks")
    assert isinstance(result.error, ToolError)
    assert result.status is Status.NEEDS_HUMAN
    assert "input_required" in result.error.message


async def test_blocks_that_are_no_list_are_a_bad_answer(crib: Crib) -> None:
    assert isinstance((await crib.call("odd__blocks")).error, BadAnswer)


async def test_more_calls_than_one_request_may_hold_are_made_in_parts(
    crib: Crib, small: SmallCrib
) -> None:
    calls = [Call("echo__back", {"n": number}) for number in range(60)]
    results = await crib.call_many(calls)
    assert [result.unwrap() for result in results] == [{"n": number} for number in range(60)]
    assert small.calls["call_tool"] == 2


async def test_no_calls_are_no_results(crib: Crib, small: SmallCrib) -> None:
    assert await crib.call_many([]) == []
    assert not small.calls


@pytest.mark.parametrize(
    ("names", "error"),
    [
        (["search_tools", "echo__back"], InvalidArguments),
        (["lose__one", "lose__one"], BadAnswer),
        (["odd__list"], BadAnswer),
    ],
)
async def test_a_list_that_fails_as_a_whole_fails_each_of_its_calls(
    crib: Crib, names: list[str], error: type[ToolError]
) -> None:
    results = await crib.call_many([(name, {}) for name in names])
    assert [type(result.error) for result in results] == [error] * len(names)


async def test_when_all_calls_of_a_list_fail_each_keeps_its_own_reason(crib: Crib) -> None:
    results = await crib.call_many(
        [
            ("fail__as", {"code": "unknown_tool", "kind": "fatal"}),
            ("fail__as", {"code": "outcome_unknown", "kind": "needs_human"}),
        ]
    )
    assert [isinstance(result.error, NeedsHuman) for result in results] == [False, True]


async def test_a_lost_list_of_calls_fails_each_of_them(crib: Crib) -> None:
    results = await crib.call_many([("fail__inside", {}), ("echo__back", {})])
    assert [result.error.code for result in results if result.error] == ["outcome_unknown"] * 2
