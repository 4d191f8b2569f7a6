"""Names of resources and prompts at an endpoint, and whose a URI is: pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcp_types import JSONRPCResponse

from toolcrib_adapters.surfaces.passthrough.backlog import Backlog
from toolcrib_adapters.surfaces.passthrough.offer_kinds import PROMPTS, RESOURCES, TEMPLATES
from toolcrib_adapters.surfaces.passthrough.shown_offers import ShownOffers
from toolcrib_adapters.surfaces.passthrough.uri_template import may_come_from
from toolcrib_adapters.surfaces.stream_memory import StreamMemory

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

    Lists = dict[str, tuple[JsonObject, ...] | None]

PROMPT: JsonObject = {"name": "greet"}


@pytest.mark.parametrize(
    ("uri", "template", "expected"),
    [
        ("a://x", "a://x", True),
        ("a://x/", "a://x", False),
        ("a://note/7", "a://note/{id}", True),
        ("a://note/7/8", "a://note/{+path}", True),
        ("a://note", "a://note/{id}", False),
        ("a://7/end", "a://{id}/end", True),
        ("a://7/ended", "a://{id}/end", False),
        ("a://1-2-3", "a://{x}-{y}-{z}", True),
        ("a://1-2", "a://{x}-{y}-{z}", False),
        ("a://aa", "a://a{x}a", True),
        ("a://a", "a://a{x}a", False),
        ("a://" + "x" * 100_000, "a://" + "{x}x" * 1_000 + "y", False),
    ],
)
def test_a_uri_may_come_from_a_template_with_the_same_literal_parts(
    uri: str, template: str, expected: bool
) -> None:
    assert may_come_from(uri, template) is expected


def test_a_uri_belongs_to_whom_lists_templates_or_schemes_say() -> None:
    shown = ShownOffers(
        {"a": ({"uri": "a://one"}, {"uri": "both://x"}), "b": ({"uri": "both://x"},), "c": ()},
        {"a": (), "b": ({"uriTemplate": "b://{id}"},), "c": ({"uriTemplate": "https://c/{id}"},)},
        {},
        is_bare=False,
    )
    assert shown.owners("a://one") == ("a",)
    assert shown.owners("a://another") == ("a",)
    assert shown.owners("b://7") == ("b",)
    assert shown.owners("both://x") == ("a", "b")
    assert shown.owners("https://c/1") == ("c",)
    assert shown.owners("https://d/1") == ()
    assert shown.owners("none://x") == ()
    assert shown.uri("a", "a://one") == "a://one"
    assert shown.uri("b", "both://x") == "toolcrib://b/both://x"
    assert shown.uri("b", "a://one") == "toolcrib://b/a://one"
    assert shown.uri("c", "https://d/1") == "https://d/1"
    assert shown.uri("unknown", "a://one") == "a://one"
    assert shown.split_uri("toolcrib://b/both://x") == ("b", "both://x")
    assert shown.split_uri("toolcrib://nobody/both://x") is None
    assert shown.split_uri("both://x") is None


def test_a_list_that_was_not_read_makes_every_uri_say_whose_it_is() -> None:
    shown = ShownOffers(
        {"a": ({"uri": "a://one"},), "b": None}, {"a": (), "b": ()}, {}, is_bare=True
    )
    assert shown.uri("a", "a://one") == "toolcrib://a/a://one"


def test_prompts_of_one_name_are_told_apart_also_at_the_endpoint_of_a_group() -> None:
    prompts: Lists = {"a": (PROMPT, PROMPT), "b": (PROMPT, {"name": "own"})}
    shown = ShownOffers({}, {}, prompts, is_bare=True)
    assert shown.prompt_names == {
        "a__greet": ("a", "greet"),
        "b__greet": ("b", "greet"),
        "own": ("b", "own"),
    }
    assert [entry["name"] for entry in shown.entries(PROMPTS)] == ["a__greet", "b__greet", "own"]


@pytest.mark.promise("pass-odd-entries")
def test_entries_are_judged_alone_by_the_rules_of_both_generations() -> None:
    assert RESOURCES.fault_of({"uri": "a://x", "name": "x", "stray": 1}) is None
    assert "uri" in str(RESOURCES.fault_of({"name": "x"}))
    assert "icons" in str(RESOURCES.fault_of({"uri": "a://x", "name": "x", "icons": [{}]}))
    assert RESOURCES.fault_of("no object") is not None
    assert TEMPLATES.fault_of({"uriTemplate": 7, "name": "x"}) is not None
    assert PROMPTS.fault_of({"name": "x", "arguments": [{"name": 7}]}) is not None
    assert PROMPTS.fault_of(None) is not None


async def test_a_backlog_is_bounded_and_holds_nothing_twice() -> None:
    backlog: Backlog[int] = Backlog(2)
    assert [backlog.put(number) for number in (1, 1, 2, 3)] == [True, True, True, False]
    assert [await backlog.take(), await backlog.take()] == [1, 2]


async def test_a_stream_that_was_let_go_is_told_from_where_it_was_left_and_once() -> None:
    memory, told = StreamMemory(), []

    async def send(event: object) -> None:
        told.append(event.message.id)  # type: ignore[attr-defined]

    first = await memory.store_event("7", None)
    assert await memory.replay_events_after(first, send) == "7"
    memory.let_go("7")
    await memory.store_event("7", JSONRPCResponse(jsonrpc="2.0", id=7, result={}))
    assert await memory.replay_events_after("nobody-1", send) is None
    assert await memory.replay_events_after(first, send) == "7"
    assert await memory.replay_events_after(first, send) is None
    assert told == [7]


async def test_an_answer_on_an_open_stream_is_not_kept_and_there_are_bounds() -> None:
    memory = StreamMemory()

    async def send(event: object) -> None:
        raise AssertionError(event)

    first = await memory.store_event("7", None)
    await memory.store_event("7", JSONRPCResponse(jsonrpc="2.0", id=7, result={}))
    assert await memory.replay_events_after(first, send) is None
    oldest = await memory.store_event("old", None)
    for number in range(100):
        await memory.store_event(str(number), None)
    assert await memory.replay_events_after(oldest, send) is None
    memory.let_go("old")
