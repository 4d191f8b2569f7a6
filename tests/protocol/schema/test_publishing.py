"""What models see of a schema: an object at the root, no loose references, the rules retold."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.schema import Checker, Dialect, publish

TEXT: Any = {"type": "string"}


def published(schema: Any, dialect: Dialect | None = None) -> Any:
    return publish(schema, dialect)


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.promise("field-o05-published-root")
def test_forms_at_the_root_become_one_list_of_properties_and_a_sentence() -> None:
    exact: Any = {
        "type": "object",
        "anyOf": [
            {"properties": {"url": TEXT}, "required": ["url"]},
            {"properties": {"text": TEXT}, "required": ["text"]},
        ],
    }
    form = published(exact)
    assert form.schema == an_object(url=TEXT, text=TEXT)
    assert form.notes == ("Arguments must have at least one of these forms: url; text.",)
    assert form.is_rewritten
    assert Checker.compile(exact).check({}) != ()


@pytest.mark.promise("field-o05-published-root")
def test_what_marks_each_form_is_told() -> None:
    form = published(
        an_object(kind={"enum": ["card", "bank"]}, note=TEXT)
        | {
            "oneOf": [
                an_object(kind={"const": "card"}, number=TEXT) | {"required": ["kind", "number"]},
                an_object(kind={"const": "bank"}, iban=TEXT) | {"required": ["kind", "iban"]},
                True,
                False,
            ]
        }
    )
    assert form.notes == (
        'Arguments must have exactly one of these forms: kind is "card" and number; '
        'kind is "bank" and iban; any.',
    )
    assert list(form.schema["properties"]) == ["kind", "note", "number", "iban"]
    assert form.schema["properties"]["kind"] == {"enum": ["card", "bank"]}


@pytest.mark.promise("field-o05-published-root")
def test_forms_that_say_the_same_of_all_need_no_sentence() -> None:
    form = published({"type": "object", "anyOf": [an_object(a=TEXT), an_object(b=TEXT)]})
    assert form.schema == an_object(a=TEXT, b=TEXT)
    assert form.notes == ()


def test_what_all_forms_require_is_required() -> None:
    forms = [{"required": ["id", "a"]}, {"required": ["id", "b"]}]
    form = published(an_object(id=TEXT) | {"required": ["x"], "anyOf": forms})
    assert form.schema["required"] == ["x", "id"]
    assert list(form.schema["properties"]) == ["id", "a", "b", "x"]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (TEXT, TEXT, TEXT),
        (TEXT, True, TEXT),
        ({}, TEXT, TEXT),
        ({"const": 1}, {"const": 2}, {"enum": [1, 2]}),
        ({"enum": [1, 2]}, {"type": "integer", "const": 2}, {"enum": [1, 2]}),
        (TEXT, {"type": "integer"}, {"anyOf": [TEXT, {"type": "integer"}]}),
        ({"anyOf": [TEXT]}, {"type": "null"}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"anyOf": [TEXT]}, TEXT, {"anyOf": [TEXT]}),
        ({"const": 1}, TEXT, {"anyOf": [{"const": 1}, TEXT]}),
        (False, TEXT, {"anyOf": [False, TEXT]}),
    ],
)
def test_a_name_in_two_forms_is_a_choice(one: Any, other: Any, together: Any) -> None:
    form = published({"type": "object", "anyOf": [an_object(a=one), an_object(a=other)]})
    assert form.schema["properties"]["a"] == together


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (TEXT, TEXT, TEXT),
        (TEXT, {}, TEXT),
        (True, TEXT, TEXT),
        (TEXT, {"minLength": 3}, {"allOf": [TEXT, {"minLength": 3}]}),
    ],
)
def test_a_name_that_all_of_the_parts_describe_must_fit_each(
    one: Any, other: Any, together: Any
) -> None:
    form = published(
        an_object(a=one) | {"allOf": [an_object(a=other) | {"additionalProperties": False}]}
    )
    assert form.schema["properties"]["a"] == together
    assert form.schema["additionalProperties"] is False


def test_a_name_that_the_root_leaves_open_is_described_by_the_form() -> None:
    form = published(an_object(a={}, b=TEXT) | {"anyOf": [an_object(a=TEXT, b={"const": "x"})]})
    assert form.schema["properties"] == {"a": TEXT, "b": TEXT}


@pytest.mark.promise("field-o05-published-root")
@pytest.mark.parametrize(
    ("rule", "note"),
    [
        (
            {
                "if": an_object(k={"const": "a"}),
                "then": {"required": ["x"]},
                "else": {"required": ["y"]},
            },
            'If k is "a", other rules apply (needed: x; otherwise needed: y).',
        ),
        ({"if": {"required": ["x"]}, "then": an_object(y=TEXT)}, "If x, other rules apply."),
        ({"if": {}, "else": {}}, "If one condition holds, other rules apply."),
        ({"not": {"required": ["x", "y"]}}, "Do not give x and y together."),
        ({"not": {"required": ["x"]}}, "Do not give x."),
        ({"not": an_object(x=TEXT)}, "Some combinations are refused."),
        ({"enum": [{"x": "1"}]}, 'The arguments as a whole must be one of [{"x":"1"}].'),
        ({"const": {"x": "1"}}, 'The arguments as a whole must be one of {"x":"1"}.'),
    ],
)
def test_other_rules_at_the_root_become_sentences(rule: Any, note: Any) -> None:
    form = published(an_object(x=TEXT) | rule)
    assert form.notes == (note,)
    assert not set(rule) & set(form.schema)


@pytest.mark.parametrize(
    "rule", [{"if": True, "then": {"required": ["x"]}}, {"not": False}, {"if": {}}]
)
def test_a_rule_that_says_nothing_is_dropped_without_a_sentence(rule: Any) -> None:
    form = published(an_object(x=TEXT) | rule)
    assert (form.notes, set(form.schema)) == ((), {"type", "properties"})


def test_notes_of_parts_are_kept_and_long_ones_cut() -> None:
    form = published({"type": "object", "allOf": [{"enum": [{"x": "y" * 1_000}]}]})
    assert len(form.notes[0]) == 400
    assert form.notes[0].endswith("…")


@pytest.mark.promise("field-o07-no-properties")
def test_an_object_without_properties_is_published_with_none() -> None:
    assert published({"type": "object"}).schema == {"type": "object", "properties": {}}


def test_a_published_form_starts_with_its_type() -> None:
    schema = {"properties": {"a": TEXT}, "type": "object"}
    assert next(iter(published(schema).schema)) == "type"


def test_a_required_name_that_is_not_described_gets_a_place() -> None:
    form = published(an_object(a=TEXT) | {"required": ["ghost", "a"]})
    assert form.schema["properties"] == {"a": TEXT, "ghost": {}}


# References


@pytest.mark.promise("field-o06-references")
def test_references_are_written_out_with_what_stands_beside_them() -> None:
    form = published(
        an_object(
            a={"$ref": "#/$defs/T", "description": "An a."},
            b={"$ref": "#/$defs/T", "minLength": 3, "allOf": [{"maxLength": 9}]},
            c={"$ref": "#/$defs/T", "maxLength": 5},
            d={"$ref": "#/$defs/Any", "title": "D"},
        )
        | {"$defs": {"T": TEXT, "Any": True}}
    )
    assert form.schema == an_object(
        a=TEXT | {"description": "An a."},
        b={"minLength": 3, "allOf": [TEXT, {"maxLength": 9}]},
        c={"maxLength": 5, "allOf": [TEXT]},
        d={"title": "D", "allOf": [True]},
    )


@pytest.mark.promise("field-o06-references")
def test_a_cycle_keeps_its_references_and_the_definitions_they_need() -> None:
    cyclic = an_object(f={"$ref": "#/$defs/F"}) | {
        "$defs": {
            "F": an_object(
                items={"type": "array", "items": {"$ref": "#/$defs/F"}}, v={"$ref": "#/$defs/V"}
            ),
            "V": TEXT,
            "Unused": TEXT,
        }
    }
    form = published(cyclic)
    inner = an_object(items={"type": "array", "items": {"$ref": "#/$defs/F"}}, v=TEXT)
    assert form.schema == an_object(f={"$ref": "#/$defs/F"}) | {"$defs": {"F": inner}}


@pytest.mark.promise("field-o06-references")
def test_what_only_leads_into_a_cycle_is_written_out() -> None:
    form = published(
        an_object(a={"$ref": "#/$defs/Way"})
        | {
            "$defs": {
                "Way": an_object(more={"$ref": "#/$defs/On"}),
                "On": an_object(f={"$ref": "#/$defs/F"}),
                "F": an_object(f={"$ref": "#/$defs/F"}),
            }
        }
    )
    assert list(form.schema["$defs"]) == ["F"]
    assert form.schema["properties"]["a"] == an_object(more=an_object(f={"$ref": "#/$defs/F"}))


@pytest.mark.promise("field-o06-references")
def test_a_tree_at_the_root_shows_its_properties() -> None:
    node = an_object(v=TEXT, kids={"type": "array", "items": {"$ref": "#/$defs/N"}})
    form = published({"type": "object", "$ref": "#/$defs/N", "$defs": {"N": node}})
    assert form.schema == node | {"$defs": {"N": node}}


def test_a_cycle_through_the_root_refers_to_the_published_root() -> None:
    form = published(an_object(kid={"$ref": "#"}) | {"anyOf": [{"required": ["kid"]}, {}]})
    link = an_object(kid={"$ref": "#/$defs/root"})
    assert form.schema == link | {"$defs": {"root": link}}


def test_definitions_with_the_same_last_name_stay_apart() -> None:
    form = published(
        an_object(
            a={"$ref": "#/$defs/x"},
            b={"$ref": "#/properties/x"},
            x=an_object(s={"$ref": "#/properties/x"}),
        )
        | {"$defs": {"x": an_object(s={"$ref": "#/$defs/x"})}}
    )
    assert sorted(form.schema["$defs"]) == ["x", "x_2"]


def test_a_name_of_a_definition_is_plain() -> None:
    loop = an_object(s={"$ref": "#/$defs/%E6%95%B0~1x.y"})
    form = published(an_object(a={"$ref": "#/$defs/%E6%95%B0~1x.y"}) | {"$defs": {"数/x.y": loop}})
    (name,) = form.schema["$defs"]
    assert name.isascii()
    assert Checker.compile(form.schema).check({"a": {"s": {"s": 1}}}) != ()


@pytest.mark.promise("field-o06-references")
def test_references_stay_where_writing_them_out_would_multiply_the_schema() -> None:
    definitions = {
        f"D{i}": an_object(l={"$ref": f"#/$defs/D{i + 1}"}, r={"$ref": f"#/$defs/D{i + 1}"})
        for i in range(12)
    }
    schema = an_object(d={"$ref": "#/$defs/D0"}) | {"$defs": {**definitions, "D12": TEXT}}
    form = published(schema)
    assert form.schema == schema
    assert not form.is_rewritten


def test_references_stay_where_writing_them_out_would_nest_too_deeply() -> None:
    definitions = {f"D{i}": an_object(d={"$ref": f"#/$defs/D{i + 1}"}) for i in range(70)}
    schema = an_object(d={"$ref": "#/$defs/D0"}) | {"$defs": {**definitions, "D70": TEXT}}
    assert published(schema).schema == schema


def test_many_references_at_the_root_are_not_all_written_out() -> None:
    doubled = {f"D{i}": {"allOf": [{"$ref": f"#/$defs/D{i + 1}"}] * 2} for i in range(9)}
    schema = {"type": "object", "$ref": "#/$defs/D0", "$defs": {**doubled, "D9": an_object(a=TEXT)}}
    assert published(schema).schema == an_object(a=TEXT)


# Dialects


@pytest.mark.promise("field-o08-old-dialects")
def test_draft_4_is_told_in_the_words_of_2020_12() -> None:
    form = published(
        {
            "id": "http://example.com/in",
            "type": "object",
            "properties": {
                "low": {"minimum": 0, "exclusiveMinimum": True, "id": "#low"},
                "high": {"maximum": 9, "exclusiveMaximum": False},
                "pair": {"items": [TEXT, {"type": "integer"}], "additionalItems": False},
                "open": {"items": [TEXT]},
                "ref": {"$ref": "#/definitions/T", "minLength": 3, "description": "A ref."},
                "new": {"if": {"type": 7}, "contains": 5, "prefixItems": 3},
            },
            "definitions": {"T": TEXT},
        }
    )
    assert form.schema == an_object(
        low={"exclusiveMinimum": 0},
        high={"maximum": 9},
        pair={"prefixItems": [TEXT, {"type": "integer"}], "items": False},
        open={"prefixItems": [TEXT]},
        ref=TEXT | {"description": "A ref."},
        new={},
    )


@pytest.mark.promise("field-o08-old-dialects")
def test_dependencies_are_split_into_the_two_that_followed() -> None:
    form = published(
        an_object(a=TEXT, b=TEXT, c=an_object() | {"dependencies": {"x": {"required": ["z"]}}})
        | {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "dependencies": {"a": ["b"], "b": {"required": ["c"]}},
        }
    )
    assert published(
        an_object(a=TEXT)
        | {"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["a"]}}
    ).schema == an_object(a=TEXT) | {"dependentRequired": {"a": ["a"]}}
    assert form.schema["dependentRequired"] == {"a": ["b"]}
    assert form.schema["dependentSchemas"] == {"b": {"required": ["c"]}}
    assert "dependentRequired" not in form.schema["properties"]["c"]
    assert "$schema" not in form.schema


def test_a_reference_at_the_root_of_draft_7_silences_its_siblings() -> None:
    form = published(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "$ref": "#/definitions/In",
            "description": "Kept.",
            "required": ["ghost"],
            "anyOf": [{"required": ["other"]}],
            "definitions": {"In": an_object(a=TEXT)},
        }
    )
    assert form.schema == an_object(a=TEXT) | {"description": "Kept."}


def test_tuples_of_2019_09_are_told_in_the_words_of_2020_12() -> None:
    form = published(an_object(pair={"items": [TEXT], "prefixItems": 3}))
    assert form.schema["properties"]["pair"] == {"prefixItems": [TEXT]}
    undeclared = published(an_object(a={"prefixItems": [{"exclusiveMinimum": True}]}))
    assert undeclared.schema["properties"]["a"] == {}


def test_the_dialect_may_be_told() -> None:
    schema = an_object(a={"items": [TEXT]})
    dialect = Checker.compile(schema).dialect
    assert published(schema, dialect) == published(schema)
    assert dialect is Dialect.D2019_09


def test_vendor_keywords_and_the_order_of_properties_stay() -> None:
    schema = an_object(z=TEXT | {"x-order": 1}, a=TEXT, m=TEXT) | {"x-ui": {"$ref": "kept"}}
    form = published(schema)
    assert form.schema == schema
    assert list(form.schema["properties"]) == ["z", "a", "m"]
    assert not form.is_rewritten


def test_a_schema_that_cannot_be_compiled_is_refused() -> None:
    with pytest.raises(ToolError) as refusal:
        published(an_object(a={"$ref": "#/nowhere"}))
    assert refusal.value.code == INVALID_CONTRACT


def test_headers_that_a_direct_client_would_have_to_send_are_not_asked_for() -> None:
    mirrored: Any = an_object(region={"type": "string", "x-mcp-header": "Region"})
    named: Any = an_object(**{"x-mcp-header": TEXT})
    assert published(mirrored).schema == an_object(region=TEXT)
    assert published(named).schema == named
