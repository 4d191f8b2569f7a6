"""Questions of an upstream to the caller of the call, in all pairs of generations."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.adapters.surfaces.interaction.counter import (
    CALLERS,
    UPSTREAMS,
    Person,
    client_of,
    counter,
)

ALL = ["form", "url", "model", "folders"]


@pytest.mark.promise("interaction-questions")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_question_reaches_the_caller_and_its_answer_comes_back(
    caller: str, upstream: str
) -> None:
    person = Person()
    async with (
        counter(upstream) as made,
        client_of(made.server(), caller, person) as client,
    ):
        with anyio.fail_after(30):
            direct = await client.call_tool("desk__ask", {"questions": ALL})
            through = await client.call_tool(
                "call_tool", {"name": "desk__ask", "arguments": {"questions": ["form"]}}
            )
            twice = await client.call_tool("desk__ask_again", {})
    answers: Any = direct.structured_content
    assert not direct.is_error, direct.content
    assert answers["form"] == {"action": "accept", "content": {"name": "Ada"}}
    assert answers["url"]["action"] == "accept"
    assert answers["model"]["content"] == {"type": "text", "text": "hello from Ada"}
    assert answers["folders"] == {"roots": [{"uri": "file:///Ada", "name": "Ada"}]}
    assert through.structured_content["form"]["content"] == {"name": "Ada"}
    assert twice.structured_content == {"name": "Ada", "age": 36}
    assert len(person.asked) == 7
