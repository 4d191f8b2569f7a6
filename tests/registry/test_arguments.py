"""Arguments made ready; what the path of a call does not reach is shown here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.schema import Checker
from toolcrib_protocol.tool import Contract
from toolcrib_registry.arguments import ready_arguments
from toolcrib_registry.checkers import Checkers
from toolcrib_registry.records import VersionRecord

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject


def record(schema: JsonObject, name: str = "walk") -> VersionRecord:
    contract = Contract.model_validate({"group": "desk", "name": name, "input_schema": schema})
    return VersionRecord.of(contract, "desk", name)


def refusal(schema: JsonObject, given: Json) -> ToolError:
    tool = record(schema)
    try:
        ready_arguments(
            tool, Checker.compile(tool.contract.input_schema), given, refuses_unknown=True
        )
    except ToolError as error:
        return error
    raise AssertionError("nothing was refused")


def test_a_schema_without_a_small_example_is_taught_by_its_violations_alone() -> None:
    pattern: JsonObject = {"type": "string", "pattern": "^(?!x)[a-f]{17}$"}
    error = refusal({"type": "object", "properties": {"p": pattern}, "required": ["p"]}, {"p": "x"})
    assert "example" not in error.details
    assert "A valid call" not in error.message


def test_an_example_that_is_too_long_for_a_message_stays_in_the_details() -> None:
    long: JsonObject = {"type": "string", "enum": ["x" * 2_000, "y" * 2_000]}
    error = refusal({"type": "object", "properties": {"p": long}, "required": ["p"]}, {})
    assert "example" in error.details
    assert "x" * 100 not in error.message
    assert "in the details" in error.message


def test_a_root_that_is_wrong_as_a_whole_is_not_mended() -> None:
    error = refusal({"type": "object", "minProperties": 1}, {})
    assert "violations" in error.details


def test_pointers_into_lists_and_odd_names_are_followed() -> None:
    inner: JsonObject = {"type": "object", "properties": {"a/b~c": {"type": "string"}}}
    schema: JsonObject = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": inner}},
    }
    tool = record(schema)
    checker = Checker.compile(tool.contract.input_schema)
    ready = ready_arguments(tool, checker, {"rows": [{"a/b~c": None}]}, refuses_unknown=True)
    assert ready.values == {"rows": [{}]}


def test_checkers_are_compiled_once_and_the_oldest_go_first() -> None:
    checkers = Checkers(most=2)
    one, two, three = (record({"type": "object"}, name) for name in ("one", "two", "three"))
    first = checkers.of(one)
    checkers.of(two)
    assert checkers.of(one) is first
    checkers.of(three)
    assert checkers.of(one) is first


def test_the_authors_own_example_teaches_if_it_fits_and_a_made_up_one_otherwise() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }
    for told, shown in (({"city": "Tokyo"}, {"city": "Tokyo"}), ({"city": 1}, {"city": "text"})):
        contract = Contract.model_validate(
            {
                "group": "desk",
                "name": "walk",
                "input_schema": schema,
                "examples": [{"arguments": told}],
            }
        )
        tool = VersionRecord.of(contract, "desk", "walk")
        with pytest.raises(ToolError) as refused:
            ready_arguments(tool, Checker.compile(schema), {}, refuses_unknown=True)
        assert refused.value.details["example"] == shown


def test_a_proposal_that_is_too_long_for_a_message_stays_in_the_details() -> None:
    contract = Contract.model_validate(
        {
            "group": "desk",
            "name": "wipe",
            "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
            "behaviour": {"destructive": True},
        }
    )
    tool = VersionRecord.of(contract, "desk", "wipe")
    checker = Checker.compile(contract.input_schema)
    with pytest.raises(ToolError) as refused:
        ready_arguments(tool, checker, {"pathh": "x" * 2_000}, refuses_unknown=True)
    assert refused.value.details["proposal"] == {"path": "x" * 2_000}
    assert "x" * 100 not in refused.value.message
