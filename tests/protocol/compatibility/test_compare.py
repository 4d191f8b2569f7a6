"""What each kind of change means, told with its place and its rule."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from toolcrib_protocol.compatibility import Change, Level, Side, compare
from toolcrib_protocol.compatibility.schema_change import schema_reasons
from toolcrib_protocol.tool import Contract

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

TEXT: JsonObject = {"type": "string"}
WHOLE: JsonObject = {"type": "integer"}
SELF: JsonObject = {"patternProperties": {"^x": {"$ref": "#"}}}
OPEN: JsonObject = {"type": "object", "properties": {"a": TEXT}, "additionalProperties": True}


def with_a(part: Any, **more: Any) -> JsonObject:
    """An object schema whose property `a` is `part`."""
    return {"type": "object", "properties": {"a": part}, **more}


def change(old: Any, new: Any, side: Side = Side.INPUT) -> Change:
    return Change.of(schema_reasons(side, with_a(old), with_a(new)))


def contract(**facts: Any) -> Contract:
    return Contract.model_validate({"group": "g", "name": "n", **facts})


def level_of(old: dict[str, Any], new: dict[str, Any]) -> Level:
    return compare(contract(**old), contract(**new)).level


@pytest.mark.promise("compare-input")
@pytest.mark.parametrize(
    ("narrow", "wide", "rule"),
    [
        (TEXT, {"type": ["string", "null"]}, "type"),
        (WHOLE, {"type": "number"}, "type"),
        (TEXT, {}, "type"),
        ({"enum": ["x"]}, {"enum": ["x", "y"]}, "values"),
        ({"const": "x"}, {"enum": ["x", "y"]}, "values"),
        ({"type": "boolean", "enum": [True]}, {"type": "boolean"}, "values"),
        ({"enum": ["x"]}, TEXT, "values"),
        ({**WHOLE, "minimum": 2}, {**WHOLE, "minimum": 1}, "lower-bound"),
        ({**WHOLE, "exclusiveMinimum": 2}, {**WHOLE, "minimum": 2}, "lower-bound"),
        ({**WHOLE, "minimum": 0}, WHOLE, "lower-bound"),
        ({**WHOLE, "maximum": 2}, {**WHOLE, "maximum": 3}, "upper-bound"),
        ({**WHOLE, "maximum": 2}, {**WHOLE, "exclusiveMaximum": 3.5}, "upper-bound"),
        ({**WHOLE, "multipleOf": 4}, {**WHOLE, "multipleOf": 2}, "multiple"),
        ({"type": "number", "multipleOf": 0.1}, {"type": "number"}, "multiple"),
        ({**TEXT, "minLength": 3}, {**TEXT, "minLength": 2}, "length"),
        ({**TEXT, "maxLength": 3}, TEXT, "length"),
        ({**TEXT, "pattern": "^a"}, TEXT, "pattern"),
        ({**TEXT, "format": "date"}, TEXT, "format"),
        ({"type": "array", "items": WHOLE}, {"type": "array"}, "type"),
        ({"type": "array", "minItems": 2}, {"type": "array", "minItems": 1}, "item-count"),
        ({"type": "array", "maxItems": 2}, {"type": "array"}, "item-count"),
        ({"type": "array", "uniqueItems": True}, {"type": "array"}, "unique"),
        ({"type": "array", "prefixItems": [WHOLE]}, {"type": "array", "prefixItems": [{}]}, "type"),
        (with_a(TEXT, required=["a"]), with_a(TEXT), "required"),
        (with_a(TEXT, additionalProperties=False), with_a(TEXT), "additional"),
        (with_a(TEXT, additionalProperties=WHOLE), OPEN, "additional"),
        (with_a(TEXT, maxProperties=1), with_a(TEXT), "property-count"),
        ({"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT, WHOLE, {"type": "null"}]}, "choice"),
        ({"oneOf": [TEXT]}, {"oneOf": [TEXT, {"type": "null"}]}, "exclusive-choice"),
        ({"allOf": [TEXT, {"maxLength": 2}]}, TEXT, "length"),
    ],
)  # fmt: skip
def test_taking_less_than_before_is_major_and_taking_more_is_minor(
    narrow: Any, wide: Any, rule: str
) -> None:
    wider, narrower = change(narrow, wide), change(wide, narrow)
    assert wider.level is Level.MINOR
    assert narrower.level is Level.MAJOR
    assert any(reason.pointer.startswith("/a") for reason in narrower.reasons)
    # For those who get values it is the other way round.
    assert change(narrow, wide, Side.OUTPUT).level is Level.MAJOR
    assert change(wide, narrow, Side.OUTPUT).level is Level.MINOR
    assert rule in {reason.rule for reason in narrower.reasons}


@pytest.mark.promise("compare-input")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TEXT, {"type": ["string"]}),
        ({"const": 1}, {"const": 1.0}),
        ({"enum": [1, 2]}, {"anyOf": [{"const": 1}, {"const": 2}]}),
        ({"type": ["string", "null"]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"type": "boolean"}, {"enum": [True, False]}),
        ({**WHOLE, "minimum": 1}, {**WHOLE, "minimum": 1, "title": "A"}),
        ({"allOf": [TEXT, {"minLength": 1}]}, {**TEXT, "minLength": 1}),
        ({"$ref": "#/$defs/t"}, {**TEXT, "maxLength": 9}),
        (
            {"type": "array", "items": WHOLE, "maxItems": 1},
            {"type": "array", "prefixItems": [WHOLE], "maxItems": 1},
        ),
        ({**WHOLE, "not": TEXT}, WHOLE),
        (
            {"type": "object", "required": ["x", "y"]},
            {"type": "object", "required": ["x", "y"], "minProperties": 2},
        ),
    ],
)
def test_the_same_said_in_another_way_is_at_most_a_patch(old: Any, new: Any) -> None:
    defs = {"t": {**TEXT, "maxLength": 9}}
    before, after = with_a(old, **{"$defs": defs}), with_a(new, **{"$defs": defs})
    found = Change.of(schema_reasons(Side.INPUT, before, after))
    assert found.level in {Level.PATCH, Level.NONE}, found.reasons


@pytest.mark.promise("compare-input")
@pytest.mark.parametrize(
    "part",
    [
        {"oneOf": [{**TEXT, "maxLength": 2}, WHOLE]},
        {"oneOf": [TEXT, {**TEXT, "minLength": 1}]},
        {"not": TEXT},
        {"if": TEXT, "then": {"minLength": 1}},
        {"type": "object", "propertyNames": {"maxLength": 2}},
        {"type": "object", "dependentRequired": {"x": ["y"]}},
        {"type": "object", "patternProperties": {"^x": TEXT}},
        {"type": "object", "unevaluatedProperties": True, "dependentSchemas": {}},
        {"type": "array", "contains": WHOLE, "minContains": 2},
    ],
)
def test_a_rule_that_only_got_another_title_is_a_patch(part: Any) -> None:
    assert change(part, {**copy.deepcopy(part), "title": "x"}).level is Level.PATCH


@pytest.mark.promise("compare-unknown")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({**TEXT, "pattern": "^a+$"}, {**TEXT, "pattern": "^aa*$"}),
        ({"propertyNames": {"maxLength": 5}}, {"propertyNames": {"maxLength": 4}}),
        ({"patternProperties": {"^x": TEXT}}, {"patternProperties": {"^y": {"$ref": "#"}}}),
        (SELF, {**SELF, "title": "x"}),
        ({"dependentSchemas": {"x": {"required": ["y"]}}}, {"dependentSchemas": {"x": WHOLE}}),
        ({"contains": {**WHOLE, "minimum": 1}}, {"contains": {**WHOLE, "minimum": 2}}),
        ({"not": {**TEXT, "pattern": "^a"}}, {"not": {**TEXT, "pattern": "^ab"}}),
        ({**TEXT, "not": {"pattern": "b"}}, {**TEXT, "pattern": "^[^b]*$"}),
    ],
)
def test_what_cannot_be_decided_is_unknown_or_shown_by_an_example_never_compatible(
    old: Any, new: Any
) -> None:
    assert change(old, new).level in {Level.UNKNOWN, Level.MAJOR}
    assert not change(old, new).is_compatible


def test_a_schema_that_refers_to_itself_is_compared_once_around() -> None:
    def tree(value: Any) -> JsonObject:
        node = {"type": "object", "properties": {"v": value, "in": {"$ref": "#/$defs/node"}}}
        return with_a({"$ref": "#/$defs/node"}, **{"$defs": {"node": node}})

    number = {"type": "number"}
    wider = schema_reasons(Side.INPUT, tree(WHOLE), tree(number))
    assert Change.of(wider).level is Level.MINOR
    narrower = schema_reasons(Side.INPUT, tree(number), tree(WHOLE))
    assert Change.of(narrower).level is Level.MAJOR
    listed, other = ({"anyOf": [{"$ref": "#"}, leaf]} for leaf in (WHOLE, TEXT))
    assert not change(listed, other).is_compatible


@pytest.mark.promise("compare-input")
def test_an_optional_argument_more_is_minor_and_a_required_one_is_major() -> None:
    one = with_a(TEXT)
    two: JsonObject = {"type": "object", "properties": {"a": TEXT, "b": WHOLE}}
    added = Change.of(schema_reasons(Side.INPUT, one, two))
    assert (added.level, added.reasons[0].rule) == (Level.MINOR, "property-added")
    needed = Change.of(schema_reasons(Side.INPUT, one, {**two, "required": ["b"]}))
    told = {(reason.rule, reason.pointer, reason.level) for reason in needed.reasons}
    assert ("required", "/b", Level.MAJOR) in told


@pytest.mark.promise("compare-input")
def test_what_is_not_described_any_more_is_lost_to_both_sides() -> None:
    one = with_a(TEXT)
    two: JsonObject = {"type": "object", "properties": {"a": TEXT, "b": WHOLE}}
    for side in (Side.INPUT, Side.OUTPUT):
        found = Change.of(schema_reasons(side, two, one))
        assert (found.level, found.reasons[0].rule) == (Level.MAJOR, "property-removed")
    assert Change.of(schema_reasons(Side.OUTPUT, one, two)).level is Level.MINOR
    # An object that says it takes any name still takes this one.
    still = schema_reasons(Side.INPUT, two, {**one, "additionalProperties": True})
    assert Change.of(still).is_compatible


def test_only_edge_values_are_named_as_such() -> None:
    found = change(TEXT, {**TEXT, "minLength": 1})
    assert (found.level, found.reasons[0].only_edge_values) == (Level.MAJOR, True)
    assert found.reasons[0].as_json()["only_edge_values"] is True
    assert change(WHOLE, {**WHOLE, "maximum": 2**53 - 1}).reasons[0].only_edge_values
    assert not change(WHOLE, {**WHOLE, "maximum": 100}).reasons[0].only_edge_values


@pytest.mark.promise("compare-collapse")
def test_a_schema_that_lost_all_its_arguments_is_a_fault_and_no_widening() -> None:
    found = Change.of(schema_reasons(Side.INPUT, with_a(TEXT), {"type": "object"}))
    assert (found.level, found.reasons[0].rule) == (Level.MAJOR, "collapsed")
    moved: JsonObject = {"$ref": "#/$defs/x", "$defs": {"x": with_a(TEXT)}}
    assert Change.of(schema_reasons(Side.INPUT, with_a(TEXT), moved)).level is Level.PATCH


def test_a_schema_that_cannot_be_read_is_unknown() -> None:
    found = Change.of(schema_reasons(Side.INPUT, with_a(TEXT), with_a({"type": "nothing"})))
    assert (found.level, found.reasons[0].rule) == (Level.UNKNOWN, "unreadable")


def test_a_huge_schema_is_compared_with_bounded_work() -> None:
    options: list[JsonObject] = [
        {"type": "object", "properties": {f"p{n}": {"const": n}}, "required": [f"p{n}"]}
        for n in range(60)
    ]
    rest = [{"anyOf": options[::-1]}, {"oneOf": options}]
    many = {"allOf": [{"anyOf": options}, *rest]}
    fewer = {"allOf": [{"anyOf": options[1:]}, *rest]}
    assert not change(many, fewer).is_compatible
    deep: JsonObject = {"type": "string"}
    for _ in range(45):
        deep = {"type": "array", "items": deep}
    assert change(deep, {**deep, "title": "x"}).level is Level.UNKNOWN


@pytest.mark.promise("compare-defaults")
def test_a_default_that_moved_is_major_and_one_that_is_told_now_is_minor() -> None:
    five, ten = {**WHOLE, "default": 5}, {**WHOLE, "default": 10}
    assert change(five, ten).level is Level.MAJOR
    assert change(five, WHOLE).level is Level.MAJOR
    assert change(WHOLE, five).level is Level.MINOR
    assert change(five, {**WHOLE, "default": 5.0}).level is Level.PATCH
    assert change(with_a(five), with_a(ten)).reasons[0].pointer == "/a/a"
    assert change(five, ten, Side.OUTPUT).level is Level.PATCH
    both = {"allOf": [{"default": 1}, {"default": 2}]}
    assert change(both, {**WHOLE, "default": 1}).level is Level.MAJOR


@pytest.mark.promise("compare-behaviour")
@pytest.mark.parametrize(
    ("hint", "was", "now", "level"),
    [
        ("read_only", True, False, Level.MAJOR),
        ("read_only", True, None, Level.MAJOR),
        ("read_only", None, True, Level.MINOR),
        ("read_only", None, False, Level.MAJOR),
        ("destructive", False, None, Level.MAJOR),
        ("destructive", None, True, Level.MAJOR),
        ("destructive", True, False, Level.MINOR),
        ("idempotent", True, False, Level.MAJOR),
        ("open_world", None, False, Level.MINOR),
    ],
)
def test_a_call_that_may_do_more_than_before_is_a_major_change(
    hint: str, was: bool | None, now: bool | None, level: Level
) -> None:
    found = compare(contract(behaviour={hint: was}), contract(behaviour={hint: now}))
    assert (found.level, found.reasons[0].side) == (level, Side.BEHAVIOUR)
    assert hint in found.reasons[0].sentence


@pytest.mark.promise("compare-parts")
def test_each_other_part_has_its_level() -> None:
    key = {"place": "argument", "name": "key"}
    assert level_of({}, {"behaviour": {"idempotency_key": key}}) is Level.MINOR
    assert level_of({"behaviour": {"idempotency_key": key}}, {}) is Level.MAJOR
    errors = [{"code": "full", "kind": "retryable"}]
    assert level_of({}, {"errors": errors}) is Level.MINOR
    assert level_of({"errors": errors}, {}) is Level.MAJOR
    assert level_of({"errors": errors}, {"errors": [{"code": "full"}]}) is Level.MAJOR
    worded = [{"code": "full", "kind": "retryable", "message": "x"}]
    assert level_of({"errors": errors}, {"errors": worded}) is Level.PATCH
    assert level_of({"errors": errors}, {"errors": errors}) is Level.NONE
    assert level_of({}, {"limits": {"timeout_seconds": 1}}) is Level.MINOR
    assert level_of({}, {"output_schema": with_a(TEXT)}) is Level.MINOR
    assert level_of({"output_schema": with_a(TEXT)}, {}) is Level.MAJOR
    assert (
        level_of({"output_schema": with_a(TEXT)}, {"output_schema": with_a(WHOLE)}) is Level.MAJOR
    )
    assert level_of({}, {"title": "A", "tags": ["x"]}) is Level.PATCH


def test_numbers_in_texts_that_moved_are_pointed_at() -> None:
    found = compare(contract(description="Up to 5 rows."), contract(description="Up to 10 rows."))
    assert found.level is Level.PATCH
    sentences = {reason.rule: reason.sentence for reason in found.reasons}
    assert "5 before, 10 now" in sentences["text-numbers"]
    same = compare(contract(description="Up to 5 rows."), contract(description="At most 5 rows."))
    assert {reason.rule for reason in same.reasons} == {"text"}


def test_a_change_is_written_as_json_with_the_worst_reason_first() -> None:
    found = compare(
        contract(title="A", input_schema=with_a(TEXT)),
        contract(title="B", input_schema=with_a(WHOLE)),
    )
    written = found.as_json()
    assert written["level"] == "major"
    assert written["reasons"][0] == {  # type: ignore[index]
        "side": "input",
        "pointer": "/a",
        "rule": "type",
        "level": "major",
        "sentence": "at /a: string before, integer now",
    }
    assert compare(contract(), contract()).as_json() == {"level": "none", "reasons": []}


def test_a_reference_of_an_older_dialect_stands_alone() -> None:
    def older(length: int, **beside: Any) -> JsonObject:
        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"t": {**TEXT, "maxLength": length}},
            **with_a({"$ref": "#/definitions/t", **beside}),
        }

    beside = schema_reasons(Side.INPUT, older(5), older(5, minLength=3))
    assert Change.of(beside).level is Level.PATCH
    assert Change.of(schema_reasons(Side.INPUT, older(5), older(4))).level is Level.MAJOR


def test_choices_that_multiply_are_left_undecided() -> None:
    nine: list[Json] = [{"maxLength": n} for n in range(1, 10)]
    many = {**TEXT, "allOf": [{"anyOf": nine}, {"anyOf": nine[::-1]}]}
    assert not change(many, {**TEXT, "maxLength": 8}).is_compatible
    both = {**TEXT, "anyOf": nine, "oneOf": nine[::-1]}
    assert not change(both, {**TEXT, "maxLength": 8}).is_compatible
    wide: list[Json] = [{**TEXT, "const": str(n)} for n in range(60)]
    assert not change({"anyOf": wide}, {"anyOf": wide[1:]}).is_compatible


def test_choices_of_which_none_can_be_met_admit_nothing() -> None:
    assert change({"anyOf": [False, False]}, TEXT).is_compatible
    assert change({"allOf": [TEXT, WHOLE]}, {"type": "null"}).is_compatible


def test_very_many_properties_are_compared_by_the_schemas_alone() -> None:
    many: JsonObject = {"type": "object", "properties": {f"p{n}": TEXT for n in range(700)}}
    more: JsonObject = {"type": "object", "properties": {f"p{n}": TEXT for n in range(701)}}
    assert Change.of(schema_reasons(Side.INPUT, many, more)).level is Level.PATCH


def test_schemas_around_which_references_go_deep_are_cut_off_honestly() -> None:
    defs: JsonObject = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}]} for n in range(45)}
    defs["d45"] = TEXT
    old = with_a({"$ref": "#/$defs/d0"}, **{"$defs": defs})
    assert not Change.of(schema_reasons(Side.INPUT, old, with_a(TEXT))).is_compatible
