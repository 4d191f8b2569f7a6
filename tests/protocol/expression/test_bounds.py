from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.json_strategies import json_values
from toolcrib_protocol.errors import EXPRESSION_BUDGET, INVALID_EXPRESSION, ToolError
from toolcrib_protocol.expression import (
    Limits,
    Meter,
    Scope,
    evaluate,
    parse_expression,
    parse_template,
    reads_of,
)
from toolcrib_protocol.expression.functions import FUNCTIONS
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

_FILE = Path(__file__).parents[2] / "fixtures" / "hostile_expressions.json"
HOSTILE: Final = json.loads(_FILE.read_text())
SCOPE: Final = Scope({"input": {"q": "hi", "n": 3, "rows": [*range(1_000)], "text": "ab" * 5_000}})


@pytest.mark.promise("expression-bounds")
@pytest.mark.parametrize("text", HOSTILE["refused"])
def test_a_way_out_of_the_language_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as refused:
        evaluate(parse_expression(text), SCOPE)
    assert refused.value.code == INVALID_EXPRESSION


@pytest.mark.promise("expression-bounds")
@pytest.mark.parametrize("text", HOSTILE["budget"])
def test_a_bomb_ends_in_a_budget(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ToolError) as refused:
            evaluate(parse_expression(text), SCOPE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.code == EXPRESSION_BUDGET
    assert peak < 64_000_000


_atoms = st.sampled_from(
    ["a", "b", "a.b", "a[0]", "b['x']", "x", "1", "2.5", "'t'", "null", "true", "[]", "{}", "''",
     "9007199254740993", "1e300", "a[1:]", "[1, 'a']", "{'k': 1}"]
)  # fmt: skip
_operators = st.sampled_from(
    ["+", "-", "*", "/", "//", "%", "==", "!=", "<", ">=", "in", "not in", "and", "or", "&&", "is"]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    names = st.sampled_from([*FUNCTIONS, "nothing"])
    return st.one_of(
        st.builds("({} {} {})".format, inner, _operators, inner),
        st.builds("{}({})".format, names, inner),
        st.builds("{}({}, {})".format, names, inner, inner),
        st.builds("[{} for x in {} if {}]".format, inner, inner, inner),
        st.builds("{{str({}): {} for y in {}}}".format, inner, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("{}[{}:{}]".format, inner, inner, inner),
        st.builds("{}.b".format, inner),
        st.builds("not {}".format, inner),
        st.builds("-{}".format, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{{'k': {}}}".format, inner),
    )


_expressions = st.recursive(_atoms, _larger, max_leaves=12)
_noise = st.lists(
    st.sampled_from([*"ab.[](){}'\"\\$!?=<>&|+-*/%:,;@ x01\n\té", " in ", " for ", " if "]),
    max_size=40,
).map("".join)


def _outcome(text: str, a: Json, b: Json) -> Json:
    """The value, checked for being JSON; None if it was refused."""
    try:
        expression = parse_expression(text)
        reads_of(expression)
        value = evaluate(expression, Scope({"a": a, "b": b}), Meter(Limits(5_000, 20_000)))
    except ToolError as error:
        if error.code not in {INVALID_EXPRESSION, EXPRESSION_BUDGET}:
            raise
        return None
    dump_json(value)
    return value


@pytest.mark.promise("expression-bounds")
@settings(max_examples=150, deadline=None)
@given(text=_expressions, a=json_values, b=json_values)
def test_any_expression_gives_json_or_says_why_not(text: str, a: Json, b: Json) -> None:
    assert _outcome(text, a, b) == _outcome(text, a, b)


@settings(max_examples=150, deadline=None)
@given(text=_noise | st.text(max_size=30))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    _outcome(text, {"b": [1]}, "t")
    try:
        parse_template({"x": f"${{{text}}}", "y": text}).fill(Scope({"a": {"b": [1]}, "b": "t"}))
    except ToolError as error:
        if error.code not in {INVALID_EXPRESSION, EXPRESSION_BUDGET}:
            raise


@settings(max_examples=60, deadline=None)
@given(value=json_values)
def test_the_value_of_a_name_comes_through_unchanged(value: Json) -> None:
    given_back = evaluate(parse_expression("a"), Scope({"a": value}))
    assert dump_json(given_back) == dump_json(value)
    assert evaluate(parse_expression("a == a"), Scope({"a": value})) is True


def test_a_mutilated_expression_is_refused_in_words() -> None:
    chance = random.Random(7)
    whole = "[r.name for r in steps.a.items if r.price > default(input.max, 3) && r.on]"
    for _ in range(500):
        characters = list(whole)
        for _ in range(chance.randint(1, 4)):
            characters[chance.randrange(len(characters))] = chance.choice("()[].'\"$!x0 =&")
        _outcome("".join(characters), {}, {})
