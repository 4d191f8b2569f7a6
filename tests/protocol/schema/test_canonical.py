"""Equal JSON values have one text and one fingerprint."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib_protocol.errors import INVALID_JSON, ToolError
from toolcrib_protocol.schema import canonical_json, fingerprint


@pytest.mark.promise("schema-canonical")
def test_the_canonical_form_is_sorted_tight_and_ascii() -> None:
    assert canonical_json({"b": [1, {"z": None, "a": "ü"}], "a": True}) == (
        b'{"a":true,"b":[1,{"a":"\\u00fc","z":null}]}'
    )


@pytest.mark.promise("schema-canonical")
def test_the_order_of_keys_does_not_change_a_fingerprint_and_a_value_does() -> None:
    one: Any = {"name": "send", "schema": {"type": "object", "properties": {"a": {}, "b": {}}}}
    same: Any = {"schema": {"properties": {"b": {}, "a": {}}, "type": "object"}, "name": "send"}
    assert fingerprint(one) == fingerprint(same)
    assert fingerprint(one) != fingerprint({**one, "name": "sent"})
    assert len(fingerprint(one)) == 64


@pytest.mark.promise("field-o10-digits")
def test_integers_keep_every_digit() -> None:
    assert canonical_json([9007199254740993, -(2**63), 10**30]) == (
        b"[9007199254740993,-9223372036854775808,1000000000000000000000000000000]"
    )
    assert fingerprint(9007199254740993) != fingerprint(9007199254740992)


def test_a_float_and_an_integer_are_different_texts() -> None:
    assert (canonical_json(1.0), canonical_json(1)) == (b"1.0", b"1")


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), object(), pytest.param(10**5000, id="digits"), _nested(100_000)],
)
def test_what_is_not_json_is_refused_cleanly(value: Any) -> None:
    with pytest.raises(ToolError) as refusal:
        canonical_json(value)
    assert refusal.value.code == INVALID_JSON
