from __future__ import annotations

import pytest

from tests.protocol.expression.scopes import ROWS, SCOPE, value_of
from toolcrib_protocol.errors import EXPRESSION_BUDGET, INVALID_EXPRESSION, ToolError
from toolcrib_protocol.expression import (
    Limits,
    Meter,
    MissingValueError,
    Scope,
    evaluate,
    parse_expression,
)

VALUES = [
    ("steps.search.items[0].name", "nut"),
    ("steps['search'].items[-1].price", 5.5),
    ("steps.search['my-key']", 1),
    ("steps.search.items[0].from", "Ulm"),
    ("steps.search.items[1:]", ROWS[1:]),
    ("input.q[0]", "h"),
    ("input.q[::-1]", "ih"),
    ("input['größe'] + 1", 5),
    ("[1, 2.5, 'a', null, true, (1, 2)]", [1, 2.5, "a", None, True, [1, 2]]),
    ("{'a': 1, input.q: {}}", {"a": 1, "hi": {}}),
    ("input.big + 1", 9007199254740994),
    ("2 * 1.5", 3.0),
    ("7 / 2", 3.5),
    ("4 / 2", 2.0),
    ("7 // 2", 3),
    ("-7 % 3", 2),
    ("5 - +2", 3),
    ("'a' + 'b'", "ab"),
    ("[1] + [2]", [1, 2]),
    ("1 == 1.0", True),
    ("1 == true", False),
    ("[1, {'a': [2]}] == [1.0, {'a': [2]}]", True),
    ("[1] == [true]", False),
    ("{'a': 1} == {'b': 1}", False),
    ("'a' == 1", False),
    ("'a' != 'b'", True),
    ("input.none is null", True),
    ("input.q is not null", True),
    ("1 < 2 <= 2 != 3", True),
    ("3 > 2 >= 3", False),
    ("'a' < 'b'", True),
    ("2 in [1, 2.0]", True),
    ("'q' in input", True),
    ("'i' in input.q", True),
    ("4 not in [1]", True),
    ("not false and (1 > 2 or true)", True),
    ("false or false", False),
    ("false and steps.nothing", False),
    ("1 if input.q == 'hi' else steps.nothing", 1),
    ("1 if input.q == 'no' else 2", 2),
    ("[r.name for r in steps.search.items if r.price > 3 if r.price < 9]", ["bolt"]),
    ("[[a + b for a in [1, 2]] for b in [10, 20]]", [[11, 12], [21, 22]]),
    ("{r.name: r.price for r in steps.search.items}", {"nut": 3, "bolt": 5.5}),
    ("sum(r.price for r in steps.search.items)", 8.5),
    ("len('abc') + len([1]) + len({})", 4),
    ("sum([])", 0),
    ("min([3, 1, 2])", 1),
    ("min(2, 1.5)", 1.5),
    ("max('a', 'b')", "b"),
    ("max([1, 3, 2])", 3),
    ("sorted([3, 1, 2])", [1, 2, 3]),
    ("sorted(['b', 'a', 'a'])", ["a", "a", "b"]),
    ("sorted([1])", [1]),
    ("[r.name for r in sorted(steps.search.items, 'name')]", ["bolt", "nut"]),
    ("round(2.5)", 2),
    ("round(2.345, 2)", 2.35),
    ("round(1234, -2)", 1200),
    ("abs(-3)", 3),
    ("int('12') + int(3.9) + int(true)", 16),
    ("int(' -7 ')", -7),
    ("float('1.5e3') + float(1)", 1501.0),
    ("str(1.0) + str(true) + str(false) + str('x')", "1.0truefalsex"),
    ("bool([]) or bool('a')", True),
    ("json({'a': [1, null, 'ü']})", '{"a": [1, null, "ü"]}'),
    ("lower('AB') + upper('ab')", "abAB"),
    ("split('a,b', ',')", ["a", "b"]),
    ("split(' a  b ')", ["a", "b"]),
    ("join(['a', 1], '-')", "a-1"),
    ("join(['a', 'b'])", "ab"),
    ("keys({'a': 1})", ["a"]),
    ("values({'a': 1})", [1]),
    ("unique([1, 1.0, true, 'a', 'a', null, [1], [1], {'a': 1}, {'a': 1}])",
     [1, True, "a", None, [1], {"a": 1}]),
    ("any([false, true]) and all([true])", True),
    ("all(r.price > 1 for r in steps.search.items)", True),
    ("default(steps.b.x, 3)", 3),
    ("default(steps['b'].x, 3)", 3),
    ("default(steps.search.items[9], 'none')", "none"),
    ("default(input.none, 'd')", "d"),
    ("default(input.none.x[0].y[1:], 'd')", "d"),
    ("default(input.q, steps.nothing)", "hi"),
    ("exists(input.none)", True),
    ("exists(input.nothing)", False),
    ("exists(steps.b)", False),
    ("keys(steps)", ["search"]),
    ("[b.x for b in [{'x': 1}]]", [1]),
]  # fmt: skip


@pytest.mark.promise("expression-values")
@pytest.mark.parametrize(("text", "value"), VALUES)
def test_an_expression_gives_a_json_value(text: str, value: object) -> None:
    given = value_of(text)
    assert given == value
    assert type(given) is type(value)


FAULTS = [
    ("steps.seach", "no key 'seach' in steps; did you mean 'search'?"),
    ("search.items", "unknown name 'search'; write steps.search"),
    ("inptu.q", "unknown name 'inptu'; did you mean 'input'?"),
    ("zzz", "unknown name 'zzz'; there is steps, input"),
    ("steps.search.zzz", "it has items, total, my-key"),
    ("{}.a", "it is empty"),
    ("input.none.x", "input.none is null and has no 'x'"),
    ("input.none[0]", "input.none is null and has no item 0"),
    ("input.none[1:]", "input.none is null and has no items"),
    ("steps.search.items.name", "is a list; use [0].name or a comprehension: [x.name for x in"),
    ("steps.search.items['odd key']", "use [0]['odd key']"),
    ("steps.search.items.length", "write len(steps.search.items)"),
    ("input.big.x", "input.big is a number and has no 'x'"),
    ("steps.search[0]", "steps.search is an object; its keys are texts, not numbers"),
    ("steps.search.items[2]", "no item 2 in steps.search.items; it has 2"),
    ("steps.search.items[1.0]", "an index is an integer or a key, not a number"),
    ("input[true]", "an index is an integer or a key, not true"),
    ("input[1:]", "input is an object and has no slices"),
    ("input.q[:'a']", "the bounds of a slice are integers, not a text"),
    ("input.q[::0]", "the step of a slice is not zero"),
    ("steps.b.x", "the step 'b' was skipped"),
    ("true + 1", "+ cannot join true and a number"),
    ("'a' + 1", "convert with str(), int() or float()"),
    ("null + 1", "use default(a, b) where null may come"),
    ("[1] - [1]", "- cannot join a list and a list"),
    ("'a' * 3", "* cannot join a text and a number"),
    ("1 / 0", "division by zero"),
    ("1e308 * 10", "the result is not a JSON number"),
    ("1e308 // 1e-308", "the result is not a JSON number"),
    ("-'a'", "a sign needs a number, not a text"),
    ("1 < 'a'", "a number and a text have no order"),
    ("true < false", "true and false have no order"),
    ("1 and true", "`and` needs true or false, not a number; compare, as in x != null"),
    ("not 'a'", "`not` needs true or false"),
    ("1 if input.q else 2", "`if` needs true or false"),
    ("[x for x in [1] if x]", "`if` needs true or false"),
    ("[x for x in input]", "`for` needs a list, not an object; write keys(a) or values(a)"),
    ("[x for x in 3]", "`for` needs a list, not a number"),
    ("1 in 'abc'", "`in` cannot look for a number in a text"),
    ("'a' in null", "`in` cannot look for a text in null"),
    ("{1: 2}", "the keys of an object are texts, not a number; write str(key)"),
    ("len(3)", "len() needs a text, a list or an object, not a number"),
    ("sum(3)", "sum() needs a list, not a number"),
    ("min([])", "min() of an empty list"),
    ("max([null])", "null and null have no order"),
    ("sorted([1, 'a'])", "have no order"),
    ("sorted([null])", "have no order"),
    ("sorted(steps.search.items, 'size')", "have no order"),
    ("sorted(steps.search.items, 3)", "sorted() needs a text"),
    ("sorted([{}], 'a')", "no key 'a' in an item; it is empty"),
    ("round('a')", "round() needs a number, not a text"),
    ("round(1, 999)", "the digits of round()"),
    ("round(1.5, true)", "the digits of round()"),
    ("round(1.7e308, -308)", "too large"),
    ("abs(null)", "abs() needs a number, not null"),
    ("int('a')", "int() cannot read 'a'"),
    ("int('1_000')", "int() cannot read"),
    ("int(null)", "int() needs a number or a text, not null"),
    ("float('nan')", "float() cannot read"),
    ("float('1e999')", "not a JSON number"),
    ("str(null)", "null has no text; write default(value, '')"),
    ("str([1])", "write json(value)"),
    ("lower(1)", "lower() needs a text, not a number"),
    ("split('a', '')", "the separator of split() is not empty"),
    ("keys([1])", "keys() needs an object, not a list"),
    ("values(1)", "values() needs an object"),
    ("any([1])", "any() needs true or false"),
]  # fmt: skip


@pytest.mark.promise("expression-faults")
@pytest.mark.parametrize(("text", "told"), FAULTS)
def test_a_fault_says_what_was_met_and_what_to_write(text: str, told: str) -> None:
    with pytest.raises(ToolError) as refused:
        value_of(text)
    assert refused.value.code == INVALID_EXPRESSION
    assert told in refused.value.message


def test_a_missing_value_can_be_told_from_a_wrong_type() -> None:
    for text in ("steps.nothing", "input.none.x", "steps.search.items[7]", "steps.b"):
        with pytest.raises(MissingValueError):
            value_of(text)
    with pytest.raises(ToolError) as refused:
        value_of("default('a' + 1, 2)")
    assert not isinstance(refused.value, MissingValueError)


def test_a_text_of_a_value_that_is_long_is_cut_in_a_fault() -> None:
    with pytest.raises(ToolError) as refused:
        value_of(f"input['{'k' * 300}']")
    assert len(refused.value.message) < 200


def test_a_value_whose_integers_are_enormous_is_not_calculated_with() -> None:
    scope = Scope({"n": 1 << 5_000, "m": 1 << 2_000})
    for text in ("n + 1", "m * m * m", "str(n)", "int(n)"):
        with pytest.raises(ToolError) as refused:
            value_of(text, scope)
        assert refused.value.code == EXPRESSION_BUDGET
    with pytest.raises(ToolError, match="too large"):
        value_of("m * 1.5", scope)
    with pytest.raises(ToolError, match="too large for float"):
        value_of("float(m)", scope)
    assert value_of("n == n", scope) is True


def test_a_number_is_not_read_from_a_long_text() -> None:
    for text in ("int(t)", "float(t)"):
        with pytest.raises(ToolError, match="cannot read a text of 2,000 characters"):
            value_of(text, Scope({"t": "9" * 2_000}))


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    scope = Scope({"d": deep})  # type: ignore[dict-item]
    for text in ("d == d", "unique([d])"):
        with pytest.raises(ToolError) as refused:
            value_of(text, scope)
        assert refused.value.code == EXPRESSION_BUDGET
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ToolError, match="cannot write"):
        value_of("json(d)", Scope({"d": deep}))  # type: ignore[dict-item]


def test_a_value_that_is_not_json_does_not_come_out() -> None:
    with pytest.raises(ToolError, match="not a JSON number"):
        value_of("n", Scope({"n": float("nan")}))


def test_names_are_those_of_the_scope_and_of_comprehensions_around() -> None:
    with pytest.raises(ToolError, match="did you mean 'row'"):
        value_of("[rwo for row in [1]]")
    with pytest.raises(ToolError, match="'place' has a meaning here"):
        value_of("[place for place in [1]]", Scope({"place": 1}))


def test_an_absent_step_is_not_seen_through_a_variable_of_the_same_name() -> None:
    assert value_of("[x.b for x in [{'b': 1}]]") == [1]
    assert value_of("default(steps[['b', 'search'][0]], 1)") == 1


def test_one_meter_may_be_shared() -> None:
    meter = Meter(Limits(steps=10))
    expression = parse_expression("1 + 2")
    evaluate(expression, SCOPE, meter)
    evaluate(expression, SCOPE, meter)
    evaluate(expression, SCOPE, meter)
    with pytest.raises(ToolError) as refused:
        evaluate(expression, SCOPE, meter)
    assert refused.value.code == EXPRESSION_BUDGET
