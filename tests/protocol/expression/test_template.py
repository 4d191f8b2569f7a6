from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.protocol.expression.scopes import ROWS, SCOPE
from toolcrib_protocol.errors import EXPRESSION_BUDGET, ToolError
from toolcrib_protocol.expression import (
    Limits,
    Meter,
    Read,
    Scope,
    evaluate,
    mustaches,
    parse_field,
    parse_template,
)

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

FILLED: list[tuple[Json, Json]] = [
    ("plain", "plain"),
    ("", ""),
    (7, 7),
    ({"a": [None, True, 1.5]}, {"a": [None, True, 1.5]}),
    ("${steps.search.items}", ROWS),
    ("${input.none}", None),
    ("${input.big}", 9007199254740993),
    ("q=${input.q}, ${input.big}!", "q=hi, 9007199254740993!"),
    ("${input.q}${input.q}", "hihi"),
    ("${4 / 2} ${true} ${1 > 2}", "2.0 true false"),
    ("$${input.q} costs $5 {x}", "${input.q} costs $5 {x}"),
    ("a $${", "a ${"),
    ("${{'a': '}'}.a}", "}"),
    ("${ {'a': {'b': \"}}\"}} }", {"a": {"b": "}}"}}),
    ({"${input.q}": "${input.q}"}, {"${input.q}": "hi"}),
    ("{{input.q}}", "{{input.q}}"),
]


@pytest.mark.promise("expression-templates")
@pytest.mark.parametrize(("template", "value"), FILLED)
def test_a_template_keeps_types_and_makes_texts(template: Json, value: Json) -> None:
    assert parse_template(template).fill(SCOPE) == value


@pytest.mark.promise("expression-templates")
def test_what_an_expression_gave_is_never_looked_through_again() -> None:
    scope = Scope({"a": "${b}", "b": "secret"})
    assert parse_template(["${a}", "x ${a}"]).fill(scope) == ["${b}", "x ${b}"]


def test_null_and_structures_have_no_place_inside_a_text() -> None:
    for text in ("a ${input.none}", "a ${steps.search}", "a ${steps.search.items}"):
        with pytest.raises(ToolError, match="has no text"):
            parse_template(text).fill(SCOPE)


def test_a_fault_names_the_place_of_its_text() -> None:
    with pytest.raises(ToolError) as refused:
        parse_template({"a/b": ["x", "${1 +}"]})
    assert refused.value.details["path"] == "/a~1b/1"
    with pytest.raises(ToolError, match=r"is not closed.*\$\$\{"):
        parse_template("${input.q")
    with pytest.raises(ToolError, match="a set is not JSON"):
        parse_template("${{ input.q }}")


def test_a_template_tells_what_it_reads_and_whether_it_is_constant() -> None:
    template = parse_template({"a": "${input.q} ${input.q}", "b": ["${steps.x}"]})
    assert template.reads() == (Read(("input", "q")), Read(("steps", "x")))
    assert not template.is_constant
    assert [place for place, _ in template.expressions] == ["/a", "/a", "/b/0"]
    assert parse_template("$${x}").is_constant


def test_a_template_is_bounded_as_a_whole() -> None:
    meter = Meter(Limits(steps=1_000, size=100))
    with pytest.raises(ToolError) as refused:
        parse_template(["${input.q}"] * 60).fill(SCOPE, meter)
    assert refused.value.code == EXPRESSION_BUDGET
    deep: Json = "x"
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ToolError) as refused:
        parse_template(deep)
    assert refused.value.code == EXPRESSION_BUDGET


def test_a_field_is_written_bare_or_in_braces() -> None:
    for text in ("input.q == 'hi'", " ${input.q == 'hi'} ", "'${' != input.q"):
        assert evaluate(parse_field(text), SCOPE) is True
    for text in ("a ${input.q}", "${input.q} and ${input.q}"):
        with pytest.raises(ToolError, match="write one expression"):
            parse_field(text)
    with pytest.raises(ToolError, match="write == to compare"):
        parse_field("input.q = 1")


@pytest.mark.promise("expression-templates")
def test_mustaches_are_pointed_out() -> None:
    value: Json = {"a": ["{{ input.q }}", "fine", 3], "b~": "x {{name}} {{b}}"}
    assert dict(mustaches(value)) == {
        "/a/0": "'{{ input.q }}' stays as it is; write ${input.q}",
        "/b~0": "'{{name}}' stays as it is; write ${name}",
    }
