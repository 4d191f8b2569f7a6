"""A schema without some arguments admits what the whole one does, and shows none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from tests.protocol.json_strategies import json_values, object_schemas
from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.schema import Checker
from toolcrib_protocol.schema.narrowing import required_arguments, without_arguments

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

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
        {"$ref": "#/$defs/Loop", "$defs": {"Loop": {"$ref": "#/$defs/Loop", **of("tenant")}}},
    ],
)
def test_an_argument_that_cannot_be_taken_out_is_refused_with_the_reason(
    schema: JsonObject,
) -> None:
    with pytest.raises(ToolError, match=r"cannot be taken out.*reference") as refusal:
        without_arguments(schema, ["tenant"])
    assert refusal.value.code == INVALID_CONTRACT


def test_arguments_behind_a_reference_are_taken_out_where_they_stand() -> None:
    need: JsonObject = {"required": ["tenant", "city"]}
    defined: JsonObject = {"Input": of("tenant"), "Need": need, "Other": {"minLength": 1}}
    whole: JsonObject = {
        "$ref": "#/$defs/Input",
        "allOf": [{"$ref": "#/$defs/Need"}, {"$ref": "#/$defs/Other"}],
        "$defs": defined,
    }
    narrow = without_arguments(whole, ["tenant"])
    assert narrow["$defs"] == defined
    assert narrow["allOf"] == [
        {"allOf": [{"required": ["city"]}]},
        {"$ref": "#/$defs/Other"},
        {"type": "object", "properties": {"city": TEXT}, "additionalProperties": False},
    ]
    assert Checker.compile(narrow).check({"city": "Oslo"}) == ()
    assert required_arguments(whole) == {"tenant", "city"}


@given(object_schemas, json_values, json_values)
@settings(max_examples=400)
def test_no_arguments_are_refused_that_fit_together_with_the_reserved_ones(
    schema: JsonObject, reserved: Json, other: Json
) -> None:
    whole: JsonObject = {"type": "object", **schema}
    try:
        checker, narrow = (Checker.compile(s) for s in (whole, without_arguments(whole, ["a"])))
    except ToolError:
        return  # an overlay like this is refused
    for rest in ({}, {"b": other}, {"b": other, "c": reserved}):
        if not checker.check({"a": reserved, **rest}):
            assert narrow.check(rest) == ()


def test_a_schema_of_many_parts_is_looked_at_up_to_a_bound_only() -> None:
    wide: JsonObject = {f"k{n}": TEXT for n in range(60_000)}
    assert "tenant" not in str(without_arguments({"properties": {**wide, "tenant": 1}}, ["tenant"]))
