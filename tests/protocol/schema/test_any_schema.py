"""What holds for every schema there is."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from tests.protocol.json_strategies import json_values, object_schemas, schema_like
from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.schema import (
    Checker,
    Dialect,
    bounds_problem,
    canonical_json,
    fingerprint,
    publish,
    sample,
    signature,
)


def compiled(schema: Any) -> Checker | None:
    refusal = None
    try:
        return Checker.compile(schema)
    except ToolError as error:
        refusal = error
    assert refusal.code == INVALID_CONTRACT
    return None


@given(object_schemas, json_values)
@settings(max_examples=300)
def test_a_schema_compiles_or_is_refused_and_then_checks_anything(schema: Any, value: Any) -> None:
    checker = compiled(schema)
    if checker is not None:
        assert isinstance(checker.check(value), tuple)
        arguments = value if isinstance(value, dict) else {"a": value}
        assert isinstance(checker.unknown_arguments(arguments), tuple)


@given(object_schemas)
@settings(max_examples=400)
def test_a_published_form_is_sound_2020_12_and_publishing_it_changes_nothing(schema: Any) -> None:
    if compiled(schema) is None:
        return
    form = publish(schema)
    assert Checker.compile(form.schema).dialect is Dialect.D2020_12
    again = publish(form.schema)
    assert again.schema == form.schema
    assert (again.notes, again.is_rewritten) == ((), False)


@given(object_schemas)
@settings(max_examples=200)
def test_an_example_fits_the_exact_schema(schema: Any) -> None:
    example = sample(schema)
    if example is not None:
        assert Checker.compile(schema).check(example) == ()
    assert sample(schema) == example


@given(schema_like, schema_like)
def test_a_signature_is_short_whatever_the_schema(schema: Any, output: Any) -> None:
    inputs = schema if isinstance(schema, dict) else {}
    outputs = output if isinstance(output, dict) else None
    assert len(signature("t", inputs, outputs)) < 1_000


@given(json_values)
def test_the_canonical_form_does_not_depend_on_the_order_of_keys(value: Any) -> None:
    def turned(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: turned(part[name]) for name in reversed(part)}
        return [turned(item) for item in part] if isinstance(part, list) else part

    assert canonical_json(turned(value)) == canonical_json(value)
    assert fingerprint(turned(value)) == fingerprint(value)


@given(json_values)
def test_bounds_are_told_of_any_value(value: Any) -> None:
    assert bounds_problem(value) is None
