"""What foreign texts may do to whoever reads them in a terminal: nothing."""

from __future__ import annotations

import pytest

from toolcrib_adapters.surfaces.cli.output import Output, harmless


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 漢字 🧰 é\tand\nlines", "plain 漢字 🧰 é\tand\nlines"),
        ("\x1b]0;title\x07\x1b[31mred", "\\x1b]0;title\\x07\\x1b[31mred"),
        ("a\u202eb\u2066c\x9b", "a\\x202eb\\x2066c\\x9b"),
        ("over\rwritten\x7f", "over\\x0dwritten\\x7f"),
    ],
)
def test_control_characters_and_direction_marks_are_written_out(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_a_table_that_is_not_read_by_a_person_holds_names_whole_on_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "stock_room/a_rather_long_name_of_a_tool_that_no_terminal_could_show@1.0.0"
    Output().table(["reference", "text"], [(name, "two\nlines \x1b[31m" + "x" * 60)], empty="")
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2
    assert name in printed[1]
    assert "two lines \\x1b[31m" in printed[1]
