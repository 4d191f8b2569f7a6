"""Searching as an agent does it, through the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mcp.client.client import Client

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import MODERN, open_door
from toolcrib_registry.permissions import AllowAll

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.permissions import Caller


def names(answer: dict[str, Any], query: int = 0) -> list[str]:
    return [hit["name"] for hit in answer["results"][query]["hits"]]


@pytest.mark.parametrize("door", ["http modern", "http legacy", "memory modern", "memory legacy"])
@pytest.mark.promise("surface-search")
async def test_what_is_found_can_be_called_by_the_name_it_was_found_under(door: str) -> None:
    bench = await Bench.open()
    async with open_door(door, bench) as client:
        found = await client.call_tool("search_tools", {"queries": ["send a letter"]})
        hit = found.structured_content["results"][0]["hits"][0]
        sent = await client.call_tool(hit["name"], {"to": "you@example.org"})
    assert hit["reference"] == "play/send_mail@1.0.0"
    assert hit["signature"].startswith("play__send_mail(to: string, subject?: string")
    assert hit["description"] == "Sends a letter to one address."
    assert sent.structured_content == {"to": "you@example.org"}


async def test_a_bare_string_is_one_query_and_a_list_is_many() -> None:
    bench = await Bench.open()
    async with Client(bench.server(), mode=MODERN) as client:
        bare = await client.call_tool("search_tools", {"queries": "reports progress"})
        many = await client.call_tool(
            "search_tools", {"queries": ["reports progress", "send a letter"], "limit": 1}
        )
    assert names(bare.structured_content)[0] == "play__count"
    assert [names(many.structured_content, query) for query in (0, 1)] == [
        ["play__count"],
        ["play__send_mail"],
    ]


async def test_when_nothing_fits_the_groups_are_told() -> None:
    bench = await Bench.open()
    async with Client(bench.server(), mode=MODERN) as client:
        result = await client.call_tool("search_tools", {"queries": ["zzyzx qwvrk"]})
    assert result.structured_content["results"] == [
        {"query": "zzyzx qwvrk", "hits": [], "nothing_fits": True}
    ]
    assert result.structured_content["groups"] == [
        {"name": "play", "description": "Toys for tests.", "tools": 10}
    ]
    assert "- play (10): Toys for tests." in result.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("detail", "keys"),
    [
        ("names", {"name", "reference", "score", "why"}),
        (
            "schemas",
            {"name", "reference", "score", "why", "signature", "description", "input_schema"},
        ),
    ],
)
async def test_the_caller_chooses_how_much_is_told(detail: str, keys: set[str]) -> None:
    bench = await Bench.open()
    arguments: JsonObject = {"queries": ["play__send_mail"], "detail": detail, "limit": 1}
    async with Client(bench.server(), mode=MODERN) as client:
        result = await client.call_tool("search_tools", arguments)
    (hit,) = result.structured_content["results"][0]["hits"]
    assert set(hit) == keys
    assert hit["name"] == "play__send_mail"


async def test_a_group_that_is_not_there_is_answered_with_the_nearest() -> None:
    bench = await Bench.open()
    async with Client(bench.server(), mode=MODERN) as client:
        result = await client.call_tool("search_tools", {"queries": ["q"], "group": "plya"})
    assert result.is_error
    assert "did you mean play?" in result.content[0].text  # type: ignore[union-attr]


class _NotMail(AllowAll):
    """A policy that hides one tool from everybody."""

    def allows(self, caller: Caller, tool: ToolId) -> bool:
        return tool.name != "send_mail"


@pytest.mark.promise("surface-policy")
async def test_what_the_policy_hides_is_not_found() -> None:
    bench = await Bench.open(_NotMail())
    async with Client(bench.server(_NotMail()), mode=MODERN) as client:
        result = await client.call_tool("search_tools", {"queries": ["send a letter"], "limit": 20})
    assert "play__send_mail" not in names(result.structured_content)


async def test_a_tool_that_is_gone_is_not_found_and_a_new_one_is() -> None:
    bench = await Bench.open()
    kite: JsonObject = {
        "name": "kite",
        "description": "Flies a paper kite.",
        "inputSchema": {"type": "object"},
    }
    async with Client(bench.server(), mode=MODERN) as client:
        await bench.add("toys", (kite,))
        found = await client.call_tool("search_tools", {"queries": ["paper kite"]})
        await bench.add("toys", ())
        gone = await client.call_tool("search_tools", {"queries": ["paper kite"]})
    assert names(found.structured_content)[0] == "toys__kite"
    assert "toys__kite" not in names(gone.structured_content)
    assert gone.structured_content["revision"] > found.structured_content["revision"]
