from __future__ import annotations

import pytest

from toolcrib_protocol.expression import Read, parse_expression, plain_path, reads_of

READS = [
    ("1 + 2", []),
    ("steps.a.items[0].name", [Read(("steps", "a", "items", 0, "name"))]),
    ("steps['a'][-1]", [Read(("steps", "a", -1))]),
    ("input.x + input.x", [Read(("input", "x"))]),
    ("steps.a if input.c else steps.b",
     [Read(("input", "c")), Read(("steps", "a")), Read(("steps", "b"))]),
    ("default(steps.a.x, input.y)", [Read(("steps", "a", "x"), is_guarded=True),
                                     Read(("input", "y"))]),
    ("exists(steps.a)", [Read(("steps", "a"), is_guarded=True)]),
    ("steps[input.k].z", [Read(("steps",), is_computed=True), Read(("input", "k"))]),
    ("steps.a[1:input.n]", [Read(("input", "n")), Read(("steps", "a"))]),
    ("steps.a[true]", [Read(("steps", "a"), is_computed=True)]),
    ("steps.a[-'x']", [Read(("steps", "a"), is_computed=True)]),
    ("[r.name for r in steps.a.rows if r.n > input.n]",
     [Read(("steps", "a", "rows")), Read(("steps", "a", "rows", None, "name")),
      Read(("steps", "a", "rows", None, "n")), Read(("input", "n"))]),
    ("{r.k: r.v for r in input.rows}",
     [Read(("input", "rows")), Read(("input", "rows", None, "k")),
      Read(("input", "rows", None, "v"))]),
    ("[r.x[0] for r in sorted(input.rows)]", [Read(("input", "rows"))]),
    ("[r[0] for r in sorted(input.rows)]", [Read(("input", "rows"))]),
    ("[r[input.i] for r in sorted(input.rows)]", [Read(("input", "rows")), Read(("input", "i"))]),
    ("sorted(input.rows)[0].name", [Read(("input", "rows"))]),
    ("steps", [Read(("steps",))]),
]  # fmt: skip


@pytest.mark.promise("expression-reads")
@pytest.mark.parametrize(("text", "reads"), READS)
def test_what_an_expression_reads_is_told_from_its_text(text: str, reads: list[Read]) -> None:
    found = reads_of(parse_expression(text))
    assert sorted(found, key=str) == sorted(reads, key=str)


def test_a_plain_path_is_told_from_an_expression() -> None:
    assert plain_path(parse_expression("it.rows[0][1:2].a")) == ("it", "rows", 0, "a")
    for text in ("it.rows[it.n]", "1", "len(it)", "it.a[len(it.b):]", "sorted(it)[0]", "[1][0]"):
        assert plain_path(parse_expression(text)) is None
