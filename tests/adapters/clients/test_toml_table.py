"""One table of a TOML document, set and taken out."""

from __future__ import annotations

import tomllib

import pytest
from inline_snapshot import snapshot

from toolcrib_adapters.clients.toml_table import (
    text_of_table,
    with_table,
    without_table,
    written_table,
)

CODEX = """\
model = "m" # the usual one

[mcp_servers.one]
command = "a"

# about toolcrib
[mcp_servers.toolcrib]
command = "old"

[mcp_servers.toolcrib.env]
A = "1"
# the end of it

# about two
[mcp_servers."two.x"]
command = "b"
"""
PATH = ("mcp_servers", "toolcrib")
TABLE = written_table(PATH, {"command": "c", "args": ["é", "\x7f"], "env": {"B": "2"}})


def test_a_table_is_replaced_with_its_sub_tables_and_comments_of_others_stay() -> None:
    assert with_table(CODEX, PATH, TABLE) == snapshot("""\
model = "m" # the usual one

[mcp_servers.one]
command = "a"

# about toolcrib
[mcp_servers.toolcrib]
command = "c"
args = ["é", "\\u007f"]

[mcp_servers.toolcrib.env]
B = "2"

# the end of it

# about two
[mcp_servers."two.x"]
command = "b"
""")
    assert tomllib.loads(with_table(CODEX, PATH, TABLE))["mcp_servers"]["toolcrib"] == {
        "command": "c",
        "args": ["é", "\x7f"],
        "env": {"B": "2"},
    }


@pytest.mark.parametrize("text", ["", "a = 1", "a = 1\n", "[b]\nc = 1\n\n", "[[d]]\n", "a = 1\r\n"])
def test_a_new_table_goes_to_the_end_and_away_again(text: str) -> None:
    there = with_table(text, PATH, TABLE)
    assert tomllib.loads(there)["mcp_servers"]["toolcrib"]["command"] == "c"
    assert text_of_table(there, PATH) is not None
    assert ("\r\n" in there) == ("\r\n" in text)
    gone = without_table(there, PATH)
    assert tomllib.loads(gone) == tomllib.loads(text)
    assert text_of_table(gone, PATH) is None


def test_a_table_goes_and_the_others_stay_as_they_are() -> None:
    gone = without_table(CODEX, PATH)
    assert tomllib.loads(gone)["mcp_servers"] == {
        "one": {"command": "a"},
        "two.x": {"command": "b"},
    }
    assert gone.count("#") == CODEX.count("#")
