"""The same claims over memory, stdio and HTTP, in both generations of the protocol."""

from __future__ import annotations

import pytest

from tests.client.small_crib import BIG, NOW, ODD_BLOCKS
from toolcrib_client import Crib, Hit, InvalidArguments, UnknownTool


@pytest.mark.promise("client-transports")
async def test_a_search_brings_typed_hits(any_crib: Crib) -> None:
    answer = await any_crib.search("time in Tokyo")
    assert list(answer) == [
        Hit(
            name="time__now",
            reference="time/now@1.2.0",
            score=0.5,
            why="words: time",
            signature="time__now(city: string)",
            description="The time in a city.",
        )
    ]
    assert answer.revision == 7


async def test_a_description_has_all_that_the_crib_tells(any_crib: Crib) -> None:
    (tool,) = await any_crib.describe("time/now")
    assert tool.input_schema == NOW["input_schema"]
    assert tool.behaviour == {"read_only": True, "open_world": "unknown"}
    assert tool.preconditions == ("The city has a time zone.",)


async def test_describing_an_unknown_tool_names_the_nearest(any_crib: Crib) -> None:
    with pytest.raises(UnknownTool, match="nope") as caught:
        await any_crib.describe("nope")
    assert caught.value.details == {"nearest": ["time__now"]}


@pytest.mark.promise("client-raw-results")
async def test_digits_blocks_and_meta_of_a_result_survive(any_crib: Crib) -> None:
    result = await any_crib.call("odd__answer")
    assert result.unwrap() == {"n": BIG, "list": [1, None]}
    assert list(result.content) == ODD_BLOCKS
    assert result.meta["x/y"] == BIG


async def test_arguments_arrive_digit_for_digit(any_crib: Crib) -> None:
    result = await any_crib.call("echo__back", {"n": BIG, "deep": [{"x": None}]})
    assert result.unwrap() == {"n": BIG, "deep": [{"x": None}]}


async def test_many_calls_come_back_in_order_each_with_its_own_fate(any_crib: Crib) -> None:
    first, second, third = await any_crib.call_many(
        [("echo__back", {"n": 1}), ("fail__plainly", {}), ("echo__back", {"n": 3})]
    )
    assert (first.unwrap(), third.unwrap()) == ({"n": 1}, {"n": 3})
    assert second.error is not None
    assert second.error.message == "disk full"


async def test_progress_arrives_while_the_tool_runs(any_crib: Crib) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    result = await any_crib.call("count__up", on_progress=note)
    assert result.text == "counted"
    assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def test_all_pages_of_the_tool_list_are_read(any_crib: Crib) -> None:
    tools = await any_crib.meta_tools("mcp")
    assert [tool["name"] for tool in tools] == [
        "search_tools",
        "describe_tools",
        "call_tool",
    ]


async def test_both_generations_of_the_protocol_are_spoken(any_crib: Crib, mode: str) -> None:
    assert any_crib.protocol_version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]


@pytest.mark.parametrize("value", [object(), float("nan"), "\ud800"])
async def test_arguments_that_are_not_json_are_refused_and_disturb_nobody(
    any_crib: Crib, value: object
) -> None:
    result = await any_crib.call("echo__back", {"a": value})  # type: ignore[dict-item]
    assert isinstance(result.error, InvalidArguments)
    assert (await any_crib.call("echo__back", {"a": 1})).unwrap() == {"a": 1}
