"""`toolcrib read`, and `toolcrib call --as-agent`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.adapters.cli.test_documentation import run_block
from tests.docs_blocks import ROOT, block_to_run

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell


@pytest.fixture
def handle(shell: Shell) -> str:
    assert shell.run("add", "sales", "--python", "examples/tools/sales_ledger.py").code == 0
    called = shell.run("call", "sales/list_sales", "--as-agent", "--no-attach", "--json").document
    return str(called["meta"]["io.toolcrib/handle"]["handle"])


@pytest.mark.promise("cli-read")
def test_a_kept_result_is_read_whole_and_in_part(shell: Shell, handle: str) -> None:
    whole = shell.run("read", handle, "--json").document
    assert [*whole["value"]] == ["rows", "total"]
    assert shell.run("read", handle, "--path", "rows[5].city").out == "Bonn\n"
    picked = shell.run("read", handle, "--filter", "[r.id for r in it.rows[:2]]", "--json")
    assert picked.document == {"value": [0, 1], "start": 0, "end": 2, "total": 2}
    part = shell.run("read", handle, "--path", "rows", "--range", "1:2")
    assert '"city": "Bonn"' in part.out
    assert shell.run("read", handle, "--path", "total", "--json").document == {"value": 249750.0}


@pytest.mark.promise("cli-read")
def test_what_a_hidden_tool_once_said_is_read_again_once_it_is_shown(
    shell: Shell, handle: str
) -> None:
    assert shell.run("overlay", "sales/list_sales", "--hide").code == 0
    refused = shell.run("read", handle, "--path", "total")
    assert refused.code == 1
    assert f"no kept result {handle!r}" in refused.err
    assert shell.run("overlay", "sales/list_sales", "--show").code == 0
    assert shell.run("read", handle, "--path", "total").code == 0


@pytest.mark.promise("cli-read")
def test_what_cannot_be_read_is_refused_with_what_would_be_right(shell: Shell, handle: str) -> None:
    refused = [
        (("h_nothing",), "no kept result 'h_nothing'"),
        ((handle, "--path", "rosw"), "did you mean 'rows'?"),
        ((handle, "--range", "7"), "write START:END"),
        ((handle, "--path", "rows", "--range", "9:3"), "is empty"),
    ]
    for arguments, words in refused:
        done = shell.run("read", *arguments)
        assert done.code == 1
        assert words in done.err


@pytest.mark.promise("cli-read")
def test_the_page_about_large_results_runs_as_it_stands_there(shell: Shell) -> None:
    assert (ROOT / "examples" / "large_results.py").is_file()
    done = run_block(shell, block_to_run("results"))
    assert done.returncode == 0, done.stderr
    assert "Bonn" in done.stdout
    assert "999,\n  1999,\n" in done.stdout
    assert "Read on with read_result" in done.stdout
