"""A schema without some arguments admits what the whole one does, and shows none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.schema import Checker
from toolcrib_protocol.schema.narrowing import required_arguments, without_arguments

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

TEXT: JsonObject = {"type": "string"}


def of(*required: str, **more: object) -> JsonObject:
    schema: JsonObject = {
        "type": "object",
        "properties": {"tenant": TEXT, "city": TEXT},
        "required": list(required),
        "additionalProperties": False,
    }
    return {**schema, **more}  # type: ignore[dict-item]


def test_an_argument_leaves_properties_and_required_and_nothing_else_moves() -> None:
    assert without_arguments(of("tenant", "city"), ["tenant"]) == {
        "type": "object",
        "properties": {"city": TEXT},
        "required": ["city"],
        "additionalProperties": False,
    }
    assert "required" not in without_arguments(of("tenant"), ["tenant"])
    whole = of("city")
    assert without_arguments(whole, []) is whole


@pytest.mark.parametrize(
    "rule",
    [
        {"anyOf": [{"required": ["tenant"]}, {"required": ["city"]}]},
        {"dependentRequired": {"tenant": ["city"]}},
        {"if": {"properties": {"tenant": {"const": "a"}}}, "then": {"required": ["city"]}},
        {"not": {"required": ["tenant", "city"]}},
        {"minProperties": 2},
        {"propertyNames": {"enum": ["tenant", "city"]}, "unevaluatedProperties": False},
    ],
)
def test_rules_about_a_removed_argument_do_not_refuse_those_who_cannot_give_it(
    rule: JsonObject,
) -> None:
    narrow = without_arguments(of(**rule), ["tenant"])
    assert Checker.compile(narrow).check({}) == ()


def test_parts_that_hold_in_any_case_are_narrowed_too_and_other_rules_stay() -> None:
    parts: JsonObject = {"allOf": [of("tenant"), True], "anyOf": [{"required": ["city"]}]}
    narrow = without_arguments(parts, ["tenant"])
    assert narrow["anyOf"] == [{"required": ["city"]}]
    assert Checker.compile(narrow).check({"city": "Oslo"}) == ()
    assert Checker.compile(narrow).check({}) != ()
    assert required_arguments(parts) == {"tenant"}


@pytest.mark.parametrize(
    "schema",
    [
        of(properties={"tenant": TEXT, "other": {"$ref": "#/properties/tenant"}}),
        of(properties={"tenant": TEXT, "children": {"items": {"$ref": "#"}}}),
        {"$ref": "#/$defs/Input", "$defs": {"Input": of("tenant")}},
    ],
)
def test_an_argument_that_cannot_be_taken_out_is_refused_with_the_reason(
    schema: JsonObject,
) -> None:
    with pytest.raises(ToolError, match=r"'tenant' cannot be taken out.*reference") as refusal:
        without_arguments(schema, ["tenant"])
    assert refusal.value.code == INVALID_CONTRACT


def test_a_schema_of_many_parts_is_looked_at_up_to_a_bound_only() -> None:
    wide: JsonObject = {f"k{n}": TEXT for n in range(60_000)}
    assert "tenant" not in str(without_arguments({"properties": {**wide, "tenant": 1}}, ["tenant"]))
