"""A schema over its bounds is refused before anything walks it recursively."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.schema import Checker, SchemaBounds, bounds_problem


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


@pytest.mark.promise("field-o11-hostile-schemas")
@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (nested(100_000), "nested more than 120 levels deep"),
        ({"enum": list(range(50_001))}, "more than 50,000 values"),
        ({"description": "x" * 1_000_001}, "longer than 1,000,000 characters"),
        ({"properties": {"x" * 1_000_001: {}}}, "longer than 1,000,000 characters"),
        ({"patternProperties": {f"^{i}": {} for i in range(201)}}, "200 regular expressions"),
        ({"const": float("inf")}, "which is not JSON"),
    ],
    ids=["deep", "wide", "long", "long name", "patterns", "infinite"],
)
def test_a_schema_over_a_bound_is_refused_in_a_sentence(schema: Any, says: Any) -> None:
    assert says in str(bounds_problem(schema))
    with pytest.raises(ToolError, match=says) as refusal:
        Checker.compile({"type": "object", **schema})
    assert refusal.value.code == INVALID_CONTRACT


def test_other_bounds_may_be_given() -> None:
    assert bounds_problem({"a": {"b": 1}}, SchemaBounds(depth=2), "it") == (
        "it is nested more than 2 levels deep"
    )
    assert bounds_problem({"patternProperties": []}) is None
