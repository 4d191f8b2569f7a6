from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.json_strategies import json_values
from toolcrib_protocol.errors import EXPRESSION_BUDGET, INVALID_EXPRESSION, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_registry.handles.selecting import Selection

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

_pieces = st.lists(
    st.sampled_from([*"$[].'\"/-: 0159*()", "it", "content", "rows", "a", "[0]", "[-1:]", "len("]),
    max_size=9,
).map("".join)


@settings(max_examples=150, deadline=None)
@given(
    path=_pieces | st.none(),
    chosen=_pieces | st.none(),
    value=json_values,
    blocks=st.lists(json_values, max_size=2),
)
def test_whatever_is_picked_is_json_or_refused_in_words(
    path: str | None, chosen: str | None, value: Json, blocks: list[Json]
) -> None:
    try:
        picked = Selection.read(path, chosen).of(value, blocks)
    except ToolError as error:
        if error.code not in {INVALID_EXPRESSION, EXPRESSION_BUDGET}:
            raise
        return
    dump_json(picked)


def test_a_path_may_be_written_in_several_ways() -> None:
    value: Json = {"it": 1, "rows": [{"from": 2, "$x": 3}], "content": 4, "items": 5}
    paths: list[tuple[str, Json]] = [
        ("rows[0].from", 2),
        ("$.rows[0].from", 2),
        ("it.rows[0]['$x']", 3),
        ("it.it", 1),
        ("content", 4),
        ("it.content", 4),
        ("items", 5),
        ("$", value),
        ("it", value),
        ("", value),
        (" rows [ 0 ] . from ", 2),
    ]
    for path, picked in paths:
        assert Selection.read(path, None).of(value, []) == picked
    assert Selection.read("content", None).of({"a": 1}, [7]) == [7]
    assert Selection.read("[0]", "it + 1").of([1], []) == 2
