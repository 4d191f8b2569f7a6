"""What a source may ask, what a caller can answer, and how a call carries both."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.registry.cribs import desk, raw_tool
from toolcrib_protocol.errors import NEEDS_INPUT, NOT_OFFERED, UNKNOWN_TOOL, ToolError
from toolcrib_protocol.result import Result
from toolcrib_registry.call import Call
from toolcrib_registry.interaction import (
    ELICITATION,
    NOBODY,
    ROOTS,
    SAMPLING,
    TASKS,
    AnswerError,
    Interaction,
    Question,
    cannot_ask,
)

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext

URL: JsonObject = {"mode": "url", "message": "Sign in"}


@pytest.mark.promise("interaction-abilities")
@pytest.mark.parametrize(
    ("question", "abilities", "lacks"),
    [
        (Question(ELICITATION), {}, "elicitation"),
        (Question(ELICITATION), {"elicitation": None}, "elicitation"),
        (Question(ELICITATION), {"elicitation": {}}, None),
        (Question(ELICITATION), {"elicitation": {"form": {}}}, None),
        (Question(ELICITATION), {"elicitation": {"url": {}}}, "elicitation.form"),
        (Question(ELICITATION, URL), {"elicitation": {}}, "elicitation.url"),
        (Question(ELICITATION, URL), {"elicitation": {"form": {}, "url": {}}}, None),
        (Question(SAMPLING), {"sampling": {}}, None),
        (Question(SAMPLING, {"tools": []}), {"sampling": {}}, "sampling.tools"),
        (Question(SAMPLING, {"tools": []}), {"sampling": {"tools": {}}}, None),
        (Question(ROOTS), {"roots": {"listChanged": True}}, None),
        (Question(ROOTS), {"elicitation": {}}, "roots"),
        (Question("something/else"), {"something": {}}, "something/else"),
    ],
)
def test_a_question_needs_the_very_ability_that_answers_it(
    question: Question, abilities: JsonObject, lacks: str | None
) -> None:
    assert question.lacking(abilities) == lacks


def test_only_a_form_and_a_page_can_be_declined() -> None:
    assert Question(ELICITATION).no == {"action": "decline"}
    assert Question(ROOTS).no is None


def test_an_error_says_what_was_asked_and_why_nobody_was() -> None:
    error = cannot_ask("desk/ask", Question(ELICITATION, URL), NOBODY)
    assert error.code == NEEDS_INPUT
    assert "'Sign in', which was declined: whoever made this call cannot be asked" in error.message
    assert error.details["question"] == {"method": ELICITATION, "params": URL}
    able = replace(NOBODY, abilities={"roots": {}})
    assert cannot_ask("desk/ask", Question(ROOTS), able).details["lacks"] == "roots"


def test_a_source_may_count_on_tasks_only_with_a_caller_that_takes_them() -> None:
    caller = Interaction({"roots": {}})
    assert caller.offers == {"roots": {}}
    assert replace(caller, takes_tasks=True).offers == {
        "roots": {},
        "extensions": {TASKS: {}},
    }


async def test_a_tool_asks_through_the_path_of_its_call() -> None:
    async def ask(question: Question) -> JsonObject:
        if question.method == SAMPLING:
            raise AnswerError(-1, "no")
        return {"heard": question.words}

    async def asking(_arguments: JsonObject, context: CallContext) -> Result:
        assert context.interaction.ask is not None
        with pytest.raises(AnswerError, match="no"):
            await context.interaction.ask(Question(SAMPLING))
        return Result(data=await context.interaction.ask(Question(ROOTS)), has_data=True)

    calls, provider, _ = await desk(raw_tool("ask"))
    provider.tools["ask"] = asking
    result = await calls.call(Call("desk__ask", interaction=Interaction({}, ask)))
    assert result.unwrap() == {"heard": "roots/list"}


async def test_a_source_is_asked_about_a_task_only_for_who_may_use_the_tool() -> None:
    calls, _, _ = await desk(raw_tool("ask"))
    with pytest.raises(ToolError) as told:
        await calls.about(Call("desk/nothing"), "tasks/get", {"taskId": "t"})
    assert told.value.code == UNKNOWN_TOOL
    with pytest.raises(ToolError) as refused:
        await calls.about(Call("desk/ask"), "tasks/get", {"taskId": "t"})
    assert refused.value.code == NOT_OFFERED
