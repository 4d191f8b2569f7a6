"""What an overlay makes of a contract, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.errors import INVALID_CONTRACT, INVALID_SETTINGS, ToolError
from toolcrib_protocol.overlay import Laid, Overlay, lay
from toolcrib_protocol.tool import (
    BatchForm,
    Behaviour,
    Contract,
    DeclaredError,
    DegradedForm,
    Example,
    IdempotencyKey,
    KeyPlace,
    Need,
)

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

TEXT: JsonObject = {"type": "string"}
FORECAST = Contract(
    group="weather",
    name="forecast",
    description="Weather.",
    input_schema={
        "type": "object",
        "properties": {"city": TEXT, "tenant": {"enum": ["a", "b"]}, "days": {"type": "integer"}},
        "required": ["city", "tenant"],
    },
    behaviour=Behaviour(open_world=True),
    examples=(Example(request="rain?", arguments={"city": "Oslo", "tenant": "a"}),),
    needs=(Need(input="tenant", from_="weather/tenants"),),
)


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


def test_texts_behaviour_and_limits_are_laid_over_and_the_rest_stays() -> None:
    overlay = Overlay(
        title="Forecast",
        description="",
        when_to_use="For the next ten days.",
        when_not_to_use="For the past.",
        read_only=True,
        timeout_seconds=2,
    )
    assert lay(FORECAST, overlay) == Laid(
        FORECAST.model_copy(
            update={
                "title": "Forecast",
                "description": "",
                "when_to_use": "For the next ten days.",
                "when_not_to_use": "For the past.",
                "behaviour": Behaviour(read_only=True, open_world=True),
                "limits": FORECAST.limits.model_copy(update={"timeout_seconds": 2}),
            }
        )
    )


@pytest.mark.promise("overlay-declares")
def test_what_mcp_has_no_words_for_is_declared_and_the_operators_word_on_an_error_comes_first() -> (
    None
):
    own = DeclaredError(code="busy", message="Come back.")
    other = DeclaredError(code="closed")
    said: JsonObject = {
        "idempotency_key": {"place": "argument", "name": "city"},
        "errors": [{"code": "busy", "kind": "retryable"}],
        "degraded": {"result": {"sunny": None}},
        "batch": {"tool": "forecasts", "items_argument": "cities"},
    }
    overlay = Overlay.read(said)
    assert overlay.as_json() == said
    laid = lay(FORECAST.model_copy(update={"errors": (own, other)}), overlay).contract
    assert laid.behaviour.idempotency_key == IdempotencyKey(place=KeyPlace.ARGUMENT, name="city")
    assert laid.behaviour.open_world is True
    assert [(error.code, error.kind.value) for error in laid.errors] == [
        ("busy", "retryable"),
        ("closed", "fatal"),
    ]
    assert laid.degraded == DegradedForm(result={"sunny": None})
    assert laid.batch == BatchForm(tool="forecasts", items_argument="cities")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"idempotency_key": {"place": "argument", "name": "kee"}}, "does not take"),
        (
            {
                "idempotency_key": {"place": "argument", "name": "city"},
                "presets": {"city": "x"},
            },
            "sets or hides itself",
        ),
    ],
)
def test_a_key_in_an_argument_that_no_caller_can_give_is_refused(
    said: JsonObject, why: str
) -> None:
    with pytest.raises(ToolError, match=why) as refusal:
        lay(FORECAST, Overlay.read(said))
    assert refusal.value.code == INVALID_CONTRACT


def test_a_key_in_a_header_needs_no_argument() -> None:
    overlay = Overlay.read({"idempotency_key": {"place": "header", "name": "Idempotency-Key"}})
    assert lay(FORECAST, overlay).contract.behaviour.idempotency_key is not None


def test_a_degraded_form_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ToolError, match="nested deeper") as refusal:
        Overlay.read({"degraded": {"result": nested(70)}})
    assert refusal.value.code == INVALID_SETTINGS


def test_preset_and_hidden_arguments_leave_the_schema_the_examples_and_the_needs() -> None:
    laid = lay(FORECAST, Overlay(presets={"tenant": "a"}, hidden_arguments=("days", "unheard_of")))
    assert laid.contract.input_schema == {
        "type": "object",
        "properties": {"city": TEXT},
        "required": ["city"],
    }
    assert (laid.presets, laid.reserved) == ({"tenant": "a"}, ("days", "tenant", "unheard_of"))
    assert laid.contract.examples == (Example(request="rain?", arguments={"city": "Oslo"}),)
    assert laid.contract.needs == ()


def test_examples_stand_before_the_sources_own_and_one_that_does_not_fit_is_left_out() -> None:
    overlay = Overlay.read(
        {
            "presets": {"tenant": "b"},
            "examples": [
                {"request": "snow?", "arguments": {"city": "Bern", "tenant": "a"}},
                {"request": "wrong", "arguments": {"city": 3}},
                {"request": "odd", "arguments": {"city": "Rome", "town": "Rome"}},
                {"request": "in words only"},
            ],
        }
    )
    laid = lay(FORECAST, overlay)
    assert [e.request for e in laid.contract.examples] == ["snow?", "in words only", "rain?"]
    assert laid.contract.examples[0].arguments == {"city": "Bern"}
    assert ["example 2 'wrong'" in laid.left_out[0], "example 3 'odd'" in laid.left_out[1]] == [
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("overlay", "reason"),
    [
        (Overlay(presets={"town": "Oslo"}), "does not take: unknown argument 'town'"),
        (Overlay(presets={"tenant": "c"}), "refuses: at /tenant"),
        (Overlay(presets={"city": 5}), "refuses: at /city"),
        (Overlay(hidden_arguments=("tenant",)), "hides 'tenant', which weather/forecast requires"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_reason(
    overlay: Overlay, reason: str
) -> None:
    with pytest.raises(ToolError) as refusal:
        lay(FORECAST, overlay)
    assert refusal.value.code == INVALID_CONTRACT
    assert reason in refusal.value.message


def test_an_overlay_is_read_back_as_it_was_written() -> None:
    overlay = Overlay.read(
        {"presets": {"\ud800": [None, 2**70]}, "hidden_arguments": ["a"], "hidden": True}
    )
    assert Overlay.read(overlay.as_json()) == overlay
    assert Overlay().as_json() == {}


@pytest.mark.parametrize(
    ("facts", "key"),
    [
        ({"titel": "x"}, "titel"),
        ({"read_only": "perhaps"}, "read_only"),
        ({"examples": [{"arguments": 3}]}, "examples/0/arguments"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds"),
        ({"presets": {"a": nested(70)}}, "presets"),
    ],
)
def test_a_wrong_overlay_is_refused_with_the_key(facts: JsonObject, key: str) -> None:
    with pytest.raises(ToolError) as refusal:
        Overlay.read(facts)
    assert refusal.value.code == INVALID_SETTINGS
    assert f"wrong at {key}:" in refusal.value.message
