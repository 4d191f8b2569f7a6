"""How a caller's groups are told in few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.adapters.surfaces.bench import Bench
from toolcrib_adapters.surfaces.group_summary import GroupView, one_line, summary, visible_groups
from toolcrib_protocol.budget import estimate_tokens
from toolcrib_protocol.names import ToolId
from toolcrib_registry.changes import PutGroup
from toolcrib_registry.records import GroupRecord
from toolcrib_registry.views import Sight

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


def tool(name: str) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object"}}


def many(
    number: int, description: str = "What these tools are for, in a sentence"
) -> list[GroupView]:
    return [GroupView(f"group-{n:04}", description, n) for n in range(number)]


def test_few_groups_are_told_with_what_they_are_for() -> None:
    groups = [GroupView("mail", "Letters.", 3), GroupView("files", "", 2)]
    assert summary(groups) == "- mail (3): Letters.\n- files (2)"


def test_no_groups_are_told_as_no_tools() -> None:
    assert summary([]) == "There are no tools yet."


@pytest.mark.parametrize("number", [1, 5, 20, 40, 60, 100, 400, 5_000])
@pytest.mark.promise("surface-token-budget")
def test_the_summary_keeps_its_budget_whatever_the_number_of_groups(number: int) -> None:
    assert estimate_tokens(summary(many(number))) <= 360


@pytest.mark.promise("surface-token-budget")
def test_beyond_the_budget_the_largest_groups_are_named_and_the_rest_is_counted() -> None:
    text = summary(many(400))
    assert text.startswith("group-0399 (399), group-0398 (398), ")
    named = text.count("group-")
    assert text.endswith(
        f"(the largest groups; {400 - named} more of 400 are not listed, but searched all the same)"
    )


def test_descriptions_get_shorter_before_groups_go_unnamed() -> None:
    groups = many(
        25, "Reads, writes and searches documents of every kind in every language you know"
    )
    text = summary(groups)
    assert all(group.name in text for group in groups)
    assert "Reads," in text


@pytest.mark.parametrize(
    ("text", "longest", "line"),
    [
        ("First one. Second one.", 100, "First one."),
        ("第一句。第二句。", 100, "第一句。"),
        ("several words in a row", 12, "several…"),
        ("unbroken" * 10, 12, "unbrokenunbr…"),
        ("a\u202eb\u200bc\n\td\x00e", 100, "a b c d e"),
        ("", 10, ""),
    ],
)
def test_a_description_becomes_one_short_visible_line(text: str, longest: int, line: str) -> None:
    assert one_line(text, longest) == line


async def test_a_group_without_description_is_told_by_some_of_its_tools() -> None:
    bench = await Bench.open()
    await bench.add("letters", tuple(tool(name) for name in ("send", "read", "drop", "find")))
    await bench.add("pair", (tool("left"), tool("right")))
    groups = visible_groups(Sight(bench.catalogue.snapshot))
    assert [(g.name, g.description, g.tools) for g in groups] == [
        ("letters", "drop, find, read, …", 4),
        ("pair", "left, right", 2),
        ("play", "Toys for tests.", 10),
    ]


async def test_a_tool_counts_in_every_group_it_belongs_to_and_an_empty_group_is_not_shown() -> None:
    bench = await Bench.open()
    mixed = GroupRecord(
        "mixed", "A bit of everything", "", (ToolId("play", "echo"), ToolId("no", "one"))
    )
    await bench.catalogue.change(lambda _: [PutGroup(mixed), PutGroup(GroupRecord("empty"))])
    groups = visible_groups(Sight(bench.catalogue.snapshot))
    assert [group.as_json() for group in groups] == [
        {"name": "mixed", "description": "A bit of everything", "tools": 1},
        {"name": "play", "description": "Toys for tests.", "tools": 10},
    ]
