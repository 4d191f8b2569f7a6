"""Prompts of sources and what can be written next, at the endpoints of a crib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from tests.adapters.surfaces.passthrough.hall import CALLERS, UPSTREAMS, hall

if TYPE_CHECKING:
    from mcp.client.client import Client


async def names(client: Client) -> list[str]:
    return [prompt.name for prompt in (await client.list_prompts()).prompts]


async def words(client: Client, name: str, who: str) -> str:
    got = await client.get_prompt(name, {"who": who})
    told: str = got.messages[0].content.text  # type: ignore[union-attr]
    return told


@pytest.mark.promise("pass-prompts")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_prompts_are_listed_and_got_under_their_own_names_at_the_endpoint_of_the_group(
    caller: str, upstream: str
) -> None:
    async with hall(desk=upstream) as made, made.client(caller, made.group("desk")) as client:
        (greet, _) = (await client.list_prompts()).prompts
        got: Any = await client.get_prompt("greet", {"who": "Ada"})
        with pytest.raises(MCPError, match="no prompt nothing"):
            await client.get_prompt("nothing")
    assert (greet.name, greet.arguments and greet.arguments[0].required) == ("greet", True)
    assert greet.icons is not None
    assert got.description == "greets"
    assert [message.content.type for message in got.messages] == ["text", "resource_link"]
    assert got.messages[0].content.text == "Greet Ada"


@pytest.mark.promise("pass-unambiguous")
@pytest.mark.parametrize("caller", CALLERS)
async def test_prompts_are_published_with_their_source_where_there_are_several(caller: str) -> None:
    async with hall(a="stdio", b="stdio") as made, made.client(caller) as client:
        listed = await names(client)
        assert [name for name in listed if name.endswith("__greet")] == ["a__greet", "b__greet"]
        assert all(name.replace("_", "").isalnum() for name in listed)
        assert await words(client, "b__greet", "Ada") == "Greet Ada"
        got: Any = await client.get_prompt("b__greet", {"who": "Ada"})
        with pytest.raises(MCPError, match="the nearest are"):
            await client.get_prompt("b__great")
    assert str(got.messages[1].content.uri) == "toolcrib://b/desk://notes"


@pytest.mark.promise("pass-completions")
@pytest.mark.parametrize("upstream", ["http", "stdio legacy"])
@pytest.mark.parametrize("caller", CALLERS)
async def test_completions_come_from_the_source_of_the_prompt_or_template(
    caller: str, upstream: str
) -> None:
    async with hall(a=upstream, b="stdio") as made, made.client(caller) as client:
        ref = PromptReference(type="ref/prompt", name="a__greet")
        of_prompt = await client.complete(ref, {"name": "who", "value": "Ad"}, {"in": "Rome"})
        template = ResourceTemplateReference(
            type="ref/resource", uri="toolcrib://b/desk://note/{id}"
        )
        of_template = await client.complete(template, {"name": "id", "value": "7"})
    assert of_prompt.completion.values == ["greet", "Ad", '{"in": "Rome"}']
    assert of_template.completion.values == ["desk://note/{id}", "7", "null"]


async def test_a_cursor_of_another_list_is_refused_and_what_nobody_completes_is_told() -> None:
    ref = PromptReference(type="ref/prompt", name="greet")
    async with hall(a="stdio", b="stdio plain") as made:
        async with made.client("modern") as client:
            with pytest.raises(MCPError, match="the list of prompts has changed since that cursor"):
                await client.list_prompts(cursor="bm90IG9uZQ==")
        async with made.client("legacy", made.group("b")) as client:
            with pytest.raises(MCPError, match="answers completion/complete"):
                await client.complete(ref, {"name": "who", "value": "A"})
            with pytest.raises(MCPError, match="answers logging/setLevel"):
                await client.session.set_logging_level("info")
