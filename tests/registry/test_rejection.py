"""A source's own refusal of arguments, and what it says about how they were meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.schema import Checker
from toolcrib_registry.repair import after_rejection

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


@pytest.mark.promise("repair-rejection")
@pytest.mark.parametrize(
    ("arguments", "told", "sent"),
    [
        ({"id": 5}, "id must be a string", {"id": "5"}),
        ({"id": "5"}, "1 validation error\nid\n  Input should be a valid integer", {"id": 5}),
        ({"id": None}, "id: expected string, received null", {}),
        ({"id": 5}, "id is not valid", None),
        ({"id": 5}, "id must be of type: integer", None),
        ({"id": 5}, "id must be a string; id must be a boolean", None),
        ({"id": 5}, "solid must be a string", None),
        ({"id": [1, 2]}, "id must be a string", None),
        ({"id": 5, "must": 1}, "must be a string", None),
    ],
)
def test_a_refusal_of_the_source_that_names_a_type_is_followed(
    arguments: JsonObject, told: str, sent: JsonObject | None
) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"id": {}, "must": {"enum": [1]}},
    }
    found = after_rejection(arguments, schema, Checker.compile(schema), told)
    assert (None if found is None else found.values) == sent
