"""One member of a document with comments, set and taken out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from toolcrib_adapters.client_configs import without_comments
from toolcrib_adapters.clients.jsonc import text_of_member, with_member, without_member
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

COMMENTED = """\
// my settings
{
    "theme": "dark", // not "light"
    /* servers: { */
    "mcpServers": {
        "one": {"command": "a", "args": ["//no comment"]}, // first
        // about two
        "two": {
            "command": "b",
        },
    },
}
"""
ENTRY: Json = {"command": "toolcrib", "args": ["serve", "--stdio"]}


def test_a_member_is_added_where_it_belongs_and_comments_stay() -> None:
    assert with_member(COMMENTED, ("mcpServers", "toolcrib"), ENTRY) == snapshot("""\
// my settings
{
    "theme": "dark", // not "light"
    /* servers: { */
    "mcpServers": {
        "one": {"command": "a", "args": ["//no comment"]}, // first
        // about two
        "two": {
            "command": "b",
        },
        "toolcrib": {
            "command": "toolcrib",
            "args": [
                "serve",
                "--stdio"
            ]
        },
    },
}
""")


def test_a_member_is_taken_out_with_its_lines_and_nothing_else() -> None:
    assert without_member(COMMENTED, ("mcpServers", "two")) == snapshot("""\
// my settings
{
    "theme": "dark", // not "light"
    /* servers: { */
    "mcpServers": {
        "one": {"command": "a", "args": ["//no comment"]}, // first
        // about two
    },
}
""")
    assert without_member(COMMENTED, ("mcpServers", "three")) == COMMENTED
    assert without_member(COMMENTED, ("other", "three")) == COMMENTED


def test_what_was_taken_out_goes_back_as_it_was_written() -> None:
    written = text_of_member(COMMENTED, ("mcpServers", "two"))
    assert written is not None
    without = without_member(COMMENTED, ("mcpServers", "two"))
    again = with_member(without, ("mcpServers", "two"), written, raw=True)
    assert written in again
    assert text_of_member(again, ("mcpServers", "two")) == written
    assert text_of_member(again, ("mcpServers", "none")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"x": 1}', '{"x": 1,\n"a": {\n  "b": 1\n}}'),
        ('{\r\n\t"x": 1\r\n}', '{\r\n\t"x": 1,\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}'),
        ('\ufeff{"a": {"b": 2}}', '\ufeff{"a": {"b": 1}}'),
        ('{"a": {/* none */}}', '{"a": {/* none */\n  "b": 1\n}}'),
        ('{"a": {"b": 1}, "a": {"b": 2}}', '{"a": {"b": 1}, "a": {"b": 1}}'),
    ],
)
def test_the_files_own_habits_are_kept(text: str, expected: str) -> None:
    assert with_member(text, ("a", "b"), 1) == expected


@pytest.mark.parametrize(
    "text",
    ['{"a": ', "{", '{"a" 1}', '{"a": 1} x', "{]", '{"a": 1 "b": 2}', "[" * 200, '{"a": [}', "{,}"],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="line 1"):
        with_member(text, ("a", "b"), 1)
    with pytest.raises(ToolError):
        with_member('{"a": 1}', ("a", "b"), 1)


KEYS = st.text(min_size=0, max_size=6)
DOCUMENTS = st.dictionaries(
    KEYS,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=5,
)


@given(
    document=DOCUMENTS,
    key=KEYS,
    indent=st.none() | st.integers(0, 4) | st.just("\t"),
    ascii_only=st.booleans(),
)
def test_any_document_says_afterwards_what_it_should(
    document: dict[str, Json], key: str, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    commented = text.replace("{", "{ // odd } , \n", 1).replace("}", "/* end */ }", 1)
    for start in (text, commented if '"' not in commented.split("\n", 1)[0] else text):
        if json.loads(without_comments(start)) != document:
            continue  # the comment landed inside a string
        there = with_member(start, (key,), ENTRY)
        assert json.loads(without_comments(there)) == {**document, key: ENTRY}
        gone = without_member(there, (key,))
        rest = {name: value for name, value in document.items() if name != key}
        assert json.loads(without_comments(gone)) == rest


@pytest.mark.promise("connect-undo")
@pytest.mark.parametrize(
    "text",
    [
        '{\n  "s": {\n    "a": 1 // mine\n  }\n}\n',
        '{\n  "s": {\n    "a": 1, // mine\n  },\n}\n',
        '{\r\n  "s": {\r\n    "a": 1 /* x */ // mine\r\n    // end\r\n  }\r\n}\r\n',
        '{"s": {"a": 1}}',
        '{\n  "s": { "a": 1 /* x */ }\n}\n',
    ],
)
def test_a_member_that_comes_and_goes_leaves_remarks_and_commas_where_they_were(text: str) -> None:
    come = with_member(text, ("s", "b"), {"c": 2})
    assert json.loads(without_comments(come))["s"] == {"a": 1, "b": {"c": 2}}
    assert "mine" not in come[come.index('"b"') :]
    gone = without_member(come, ("s", "b"))
    # Where a line was all there was, the break that was put into it stays.
    assert gone == text or ("mine" not in text and "".join(gone.split()) == "".join(text.split()))
