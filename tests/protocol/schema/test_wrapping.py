"""Output schemas for older clients, to which results travel wrapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.schema import Checker
from toolcrib_protocol.schema.wrapping import is_never_object, wrapped_schema

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

TREE: JsonObject = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "array",
    "items": {"anyOf": [{"$ref": "#/$defs/leaf"}, {"$ref": "#"}]},
    "default": [{"$ref": "#/not/a/reference"}],
    "$defs": {"leaf": {"type": "integer"}},
}


@pytest.mark.promise("surface-wrapped-results")
@pytest.mark.parametrize(("value", "fits"), [([1, [2]], True), ([1, ["x"]], False)])
def test_a_wrapped_schema_admits_exactly_the_wrapped_results(value: Json, fits: bool) -> None:
    checker = Checker.compile(wrapped_schema(TREE))
    assert (checker.check({"result": value}) == ()) is fits
    assert (Checker.compile(TREE).check(value) == ()) is fits
    assert checker.check(value) != ()


def test_what_looks_like_a_reference_in_a_value_stays() -> None:
    properties = wrapped_schema(TREE)["properties"]
    assert isinstance(properties, dict)
    inner = properties["result"]
    assert isinstance(inner, dict)
    assert inner["default"] == TREE["default"]


def test_a_schema_with_an_address_of_its_own_is_not_changed() -> None:
    schema: JsonObject = {"$id": "urn:x", "type": "integer"}
    assert wrapped_schema(schema)["properties"] == {"result": schema}


@pytest.mark.parametrize(
    ("kind", "never"),
    [
        ("array", True),
        (["string", "null"], True),
        (["object", "null"], False),
        ("object", False),
        (None, False),
        ([], False),
    ],
)
def test_only_what_can_be_no_object_is_wrapped(kind: Json, never: bool) -> None:
    assert is_never_object({"type": kind}) is never
