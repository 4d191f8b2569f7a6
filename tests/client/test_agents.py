"""The example agents, run against a scripted model and a real crib."""

from __future__ import annotations

import pytest
from examples.agents.bare_loop import Model, answer
from examples.agents.pydantic_ai_agent import make_agent

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import over_http
from tests.client.scripted_model import ScriptedModel
from toolcrib_client import Crib

LETTER = {"to": "ann@example.org", "subject": "parts"}


def _script() -> ScriptedModel:
    return ScriptedModel(
        [
            [("describe_tools", {"names": ["play__send_mail"]})],
            [
                ("call_tool", {"name": "play__send_mail", "arguments": {"to": 7}}),
                ("call_tool", {"name": "play__send_mail", "arguments": LETTER}),
            ],
            "The letter is on its way.",
        ]
    )


def _claim(model: ScriptedModel) -> None:
    described, refused, sent = model.tool_messages()
    assert "Sends a letter to one address." in described
    assert "/to" in refused
    # Some clients show the model a result's text, some its structured data.
    assert "echoed" in sent or LETTER["to"] in sent


@pytest.mark.promise("client-example-agents")
async def test_the_bare_loop_lets_a_model_find_and_call_tools() -> None:
    model, bench = _script(), await Bench.open()
    async with model.endpoint() as base_url, Crib(bench.server()) as crib:
        words = await answer("Write to Ann.", crib, Model(f"{base_url}/", "scripted", "none"))
    assert words == "The letter is on its way."
    assert [arguments for _, arguments, _ in bench.playground.seen] == [LETTER]
    names = [tool["function"]["name"] for tool in model.received[0]["tools"]]
    assert names == ["search_tools", "describe_tools", "call_tool", "read_result"]
    _claim(model)


@pytest.mark.promise("client-example-agents")
async def test_a_pydantic_ai_agent_uses_the_crib_as_its_toolset() -> None:
    model, bench = _script(), await Bench.open()
    async with model.endpoint() as base_url, over_http(bench.server()) as url:
        agent = make_agent(url, base_url, "scripted", "none")
        async with agent:
            result = await agent.run("Write to Ann.")
    assert result.output == "The letter is on its way."
    assert [arguments for _, arguments, _ in bench.playground.seen] == [LETTER]
    _claim(model)
