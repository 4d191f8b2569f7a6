"""Answers that are not the end of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.errors import NEEDS_INPUT, ErrorKind
from toolcrib_protocol.interim import InputRequired, StartedTask
from toolcrib_protocol.result import Result, Status

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

ASKED: JsonObject = {"q": {"method": "elicitation/create", "params": {"message": "Who are you?"}}}


def test_a_question_is_an_error_for_a_person_to_whoever_cannot_take_it() -> None:
    result = Result.asking("desk/ask", InputRequired({**ASKED}, "state"))
    assert result.status is Status.NEEDS_HUMAN
    assert result.error is not None
    assert (result.error.code, result.error.kind) == (NEEDS_INPUT, ErrorKind.NEEDS_HUMAN)
    assert "Who are you?" in result.text
    assert result.as_mcp() == {
        "resultType": "input_required",
        "inputRequests": ASKED,
        "requestState": "state",
    }


def test_a_task_is_told_as_the_source_told_it() -> None:
    result = Result.started(StartedTask({"taskId": "t-1", "status": "working"}))
    assert not result.is_error
    assert result.text == "goes on as the task t-1"
    assert result.as_mcp() == {"resultType": "task", "taskId": "t-1", "status": "working"}


def test_facts_about_an_interim_answer_travel_in_its_meta() -> None:
    result = Result(interim=InputRequired({}, "s"), meta={"k": 1})
    assert result.as_mcp() == {
        "resultType": "input_required",
        "requestState": "s",
        "_meta": {"k": 1},
    }


@pytest.mark.parametrize(
    ("requests", "words"),
    [
        ({}, "to be called again"),
        ({"q": 1}, "to be called again"),
        ({"q": {"method": "roots/list"}}, "roots/list"),
        ({"q": {"params": {"message": "é" * 400}}}, "é" * 300),
        (
            {"a": {"params": {"message": "A?"}}, "b": {"params": {"message": 7}, "method": "m"}},
            "A?; m",
        ),
    ],
)
def test_a_question_is_told_in_its_own_words_if_it_has_any(
    requests: dict[str, object], words: str
) -> None:
    asked = InputRequired(requests)  # type: ignore[arg-type]
    assert asked.words == words
    assert "requestState" not in asked.as_mcp()
