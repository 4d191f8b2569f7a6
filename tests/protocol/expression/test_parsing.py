from __future__ import annotations

import pytest

from tests.docs_blocks import ROOT
from tests.protocol.expression.scopes import value_of
from toolcrib_protocol.errors import EXPRESSION_BUDGET, INVALID_EXPRESSION, ToolError
from toolcrib_protocol.expression import Scope, evaluate, parse_expression
from toolcrib_protocol.expression.functions import FUNCTIONS

SPELLINGS = [
    ("true && !false || 1 === 2", True),
    ("1 !== 2", True),
    ("null == undefined", True),
    ("None == null and True and not False", True),
    ("$.steps.search.total", 2),
    ("$.input.q", "hi"),
    ("'a\\'b\"\\u00e4\\x41\\n\\/'", "a'b\"äA\n/"),
    ('"\\ud83d\\ude00"', "😀"),
    ("'a' 'b'", "ab"),
    ("  1\n +  2 ", 3),
    (".5 + 1.", 1.5),
    ("{'class': 1}.class", 1),
    ("{'true': 1}.true", 1),
]


@pytest.mark.promise("expression-spelling")
@pytest.mark.parametrize(("text", "value"), SPELLINGS)
def test_habits_of_other_languages_are_read(text: str, value: object) -> None:
    assert value_of(text) == value


REFUSED = [
    ("", "is empty"),
    ("input.q ? 1 : 2", "`a if condition else b`"),
    ("input?.q", "default(a.b, null)"),
    ("input.q ?? 1", "default(a, b)"),
    ("input.rows.map(x => x.id)", "a comprehension"),
    ("$..name", "no `..`"),
    ("$['a']", "means nothing"),
    ("1 + $", "stands at the start"),
    ("input.rows[?(@.a > 1)]", "`a if condition else b`"),
    ("input.q = 1", "write == to compare"),
    ("1 & 2", "write `and`"),
    ("1 | 2", "write `or`"),
    ("`a`", "'a' + str(b)"),
    ("input.rows.0.name", "written [0]"),
    ("input.rows[0].1", "written [1]"),
    ("f(1).2", "written [2]"),
    ("007", "is not an expression"),
    ("0x1F", "is not a number"),
    ("1_000", "is not a number"),
    ("1.2.3", "is not a number"),
    ("'abc", "is not closed"),
    ("'\\d'", "unknown escape"),
    ("'\\xzz'", "is not a character"),
    ("'\\u12'", "unknown escape"),
    ("'\\udc00'", "half a character"),
    ("r'a'", "no prefix"),
    ("input.städte", "write ['städte'] instead"),
    ("größe", "plain ASCII"),
    ("import os", "'import' means nothing"),
    ("1 +", "is not an expression"),
    ("[x for x in [1] for y in [2]]", "one `for`"),
    ("[x for x, y in [1]]", "one name"),
    ("[item for item in [1]]", "'item' has a meaning here"),
    ("[[x for x in [1]] for x in [2]]", "'x' has a meaning here"),
    ("(x for x in [1])", "into brackets"),
    ("{x for x in [1]}", "a set means nothing"),
    ("{1, 2}", "a set is not JSON"),
    ("~1", "means nothing"),
    ("1 ^ 2", "means nothing"),
    ("1 @ 2", "no `@`"),
    ("1 is 1", "compares with null only"),
    ("{'a': 1, * *input}", "is not an expression"),
    ("[*input]", "cannot be spread"),
    ("len(a, b)", "2 arguments do not fit len(list)"),
    ("len()", "0 arguments do not fit"),
    ("round(1, digits: 2)", "is not an expression"),
    ("lenn(a)", "did you mean 'len'?"),
    ("frobnicate(a)", "there is len, sum"),
    ("input.q.lower()", "write lower(text)"),
    ("input.get('a')", "default(a.b, null)"),
    ("input.frob()", "functions: len"),
    ("1 << 2", "is not an expression"),
    ("len(a)(1)", "only functions can be called"),
]


@pytest.mark.promise("expression-spelling")
@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_what_cannot_be_read_is_refused_with_the_form_that_works(text: str, told: str) -> None:
    with pytest.raises(ToolError) as refused:
        value_of(text)
    assert refused.value.code == INVALID_EXPRESSION
    assert told in refused.value.message


def test_a_leading_dollar_may_stand_for_a_name() -> None:
    scope = Scope({"it": [{"a": 1}]})
    expression = parse_expression("$[0].a", reserved=frozenset({"it"}), dollar="it")
    assert evaluate(expression, scope) == 1
    assert evaluate(parse_expression("$", dollar="it"), scope) == [{"a": 1}]


def test_other_names_may_be_reserved() -> None:
    expression = parse_expression("[item for item in it]", reserved=frozenset({"it"}))
    assert evaluate(expression, Scope({"it": [1]})) == [1]
    assert expression.written == "${[item for item in it]}"


def test_what_is_nested_beyond_reading_is_refused() -> None:
    for text in (
        "(" * 2_000 + "1" + ")" * 2_000,
        "{'a':" * 600 + "1" + "}" * 600,
        "-" * 4_000 + "1",
    ):
        with pytest.raises(ToolError) as refused:
            parse_expression(text)
        assert refused.value.code in {INVALID_EXPRESSION, EXPRESSION_BUDGET}


def test_arguments_have_no_names() -> None:
    with pytest.raises(ToolError):
        parse_expression("round(1, digits=2)")


def test_every_function_says_how_it_is_used() -> None:
    for name, function in FUNCTIONS.items():
        assert function.usage.startswith(f"{name}(")


@pytest.mark.promise("expression-documented")
def test_every_function_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "expressions.md").read_text(encoding="utf-8")
    assert [name for name in FUNCTIONS if f"`{name}(" not in page] == []
