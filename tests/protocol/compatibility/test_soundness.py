"""What is called compatible is: no value of thousands of generated pairs contradicts it.

And each rule is needed: without it some pair would be called compatible that is not.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from tests.protocol.compatibility.schema_pairs import (
    OTHER,
    SchemaPairs,
    Values,
    names_described,
    names_in,
)
from toolcrib_protocol.compatibility import RULES, Change, Side
from toolcrib_protocol.compatibility.schema_change import schema_reasons
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.schema import Checker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PAIRS = int(os.environ.get("TOOLCRIB_TEST_PAIRS", "1000"))
"""How many pairs are tried; `docs/benchmarks.md` tells of a longer run."""
VALUES = 15


def pairs(seed: str, count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any], random.Random]]:
    """Pairs whose schemas can be read, and a source of chance for their values."""
    source = SchemaPairs(seed)
    for number in range(count):
        old, new = source.pair()
        try:
            Checker.compile(old)
            Checker.compile(new)
        except ToolError:
            continue
        yield old, new, random.Random(f"{seed} {number}")


def counterexample(
    fits: dict[str, Any], refuses: dict[str, Any], dice: random.Random
) -> object | None:
    """A value that fits one schema and not the other; formats are asserted.

    Values with names that the first schema does not describe are passed over: the crib lets no such
    argument through, so nobody relies on what they would do.
    """
    one = jsonschema_rs.Draft202012Validator(fits, validate_formats=True)
    other = jsonschema_rs.Draft202012Validator(refuses, validate_formats=True)
    known = names_described(fits) | {OTHER, "a"}
    values = Values(dice)
    for value in [*values.of(fits, VALUES), *values.of(refuses, VALUES)]:
        if names_in(value) <= known and one.is_valid(value) and not other.is_valid(value):
            return {"value": value}
    return None


def is_compatible(
    side: Side, old: dict[str, Any], new: dict[str, Any], rules: Mapping[str, Any] = RULES
) -> bool:
    return Change.of(schema_reasons(side, old, new, rules)).is_compatible


@pytest.mark.promise("compare-sound")
@pytest.mark.parametrize("side", [Side.INPUT, Side.OUTPUT])
def test_nothing_that_is_called_compatible_is_contradicted_by_a_value(side: Side) -> None:
    wrong: list[object] = []
    decided = 0
    for old, new, dice in pairs(f"sound {side}", PAIRS):
        if is_compatible(side, old, new):
            decided += 1
            left, right = (old, new) if side is Side.INPUT else (new, old)
            found = counterexample(left, right, dice)
            wrong += [] if found is None else [(old, new, found)]
    assert wrong == []
    assert decided > PAIRS / 5


@pytest.mark.promise("compare-needed")
def test_without_any_one_rule_something_would_be_called_compatible_that_is_not() -> None:
    unneeded = set(RULES)
    for old, new, dice in pairs("needed", 20_000):
        if not unneeded:
            break
        if counterexample(old, new, dice) is None:
            continue
        for rule in sorted(unneeded):
            others = {name: each for name, each in RULES.items() if name != rule}
            if is_compatible(Side.INPUT, old, new, others):
                unneeded.discard(rule)
    assert unneeded == set()
