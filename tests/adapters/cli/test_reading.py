"""What the commands that only read say, to people and to programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.cli.running import Shell


@pytest.mark.promise("read-only-home")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_told_in_a_sentence(shell: Shell, mail: str) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    for words in (("tools",), ("tools", "--json")):
        full = ("sh", "-c", 'exec "$@" > /dev/full', "sh")
        done = shell.spawn(*words, prefix=full)
        assert (done.code, done.err) == (
            1,
            "error: the output, or a file, cannot be written: No space left on device\n",
        )


@pytest.mark.promise("read-only-home")
def test_a_home_that_may_only_be_read_is_read_and_a_write_says_why_it_is_not(
    shell: Shell, mail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    # Root may write to whatever has no such mode, so the system is made to say it.
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    for words in (("tools",), ("sources",), ("show", "mail/send_letter"), ("export",)):
        done = shell.run(*words)
        assert (done.code, "mail" in done.out) == (0, True), done.err
    done = shell.run("remove", "mail")
    assert (done.code, "allow this user to write" in done.err) == (4, True), done.err


@pytest.mark.promise("read-only-home")
def test_a_search_answers_where_no_index_can_be_kept(shell: Shell, mail: str) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    shutil.rmtree(shell.home / "index")
    (shell.home / "index").write_text("a file")
    done = shell.run("search", "send a letter")
    assert (done.code, "mail/send_letter" in done.out) == (0, True), done.err
    assert f"mend: mv {shell.home / 'index'}" in shell.run("doctor").out


@pytest.fixture
def filled(shell: Shell, mail: str) -> Shell:
    assert shell.run("add", "mail", "--snapshot", mail).code == 0
    return shell


def test_sources_say_what_they_are_and_what_they_offer(filled: Shell, mail: str) -> None:
    (row,) = filled.run("sources", "--json").document["sources"]
    assert row == {
        "name": "mail",
        "kind": "snapshot",
        "group": "mail",
        "state": "not running",
        "reason": "",
        "retry_at": None,
        "tools": 2,
        "quarantined": 1,
        "held": 0,
        "where": mail,
        "processes": [],
    }
    assert "not running" in filled.run("sources").out


def test_tools_are_listed_with_reference_name_and_first_line(filled: Shell) -> None:
    listed = filled.run("tools").out
    assert "mail/send_letter@1.0.0" in listed
    assert "mail__send_letter" in listed
    assert "By post" not in listed
    rows = filled.run("tools", "--group", "mail", "--json").document["tools"]
    assert [row["reference"] for row in rows] == [
        "mail/list_letters@1.0.0",
        "mail/send_letter@1.0.0",
    ]


def test_quarantined_entries_are_listed_with_place_and_reason(filled: Shell) -> None:
    (entry,) = filled.run("tools", "--quarantined", "--json").document["quarantined"]
    assert (entry["name"], entry["position"]) == ("broken", 2)
    assert entry["pointer"] == "/inputSchema"
    assert "broken" in filled.run("tools", "--quarantined").out


def test_groups_say_how_many_tools_they_have(filled: Shell) -> None:
    (group,) = filled.run("groups", "--json").document["groups"]
    assert (group["name"], group["tools"]) == ("mail", 2)
    assert "mail" in filled.run("groups").out


def test_a_tool_is_shown_whole(filled: Shell) -> None:
    shown = filled.run("show", "mail__send_letter").out
    assert "mail/send_letter@1.0.0" in shown
    assert "destructive: yes" in shown
    assert "open_world: unknown" in shown
    assert "By post." in shown
    document = filled.run("show", "mail/send_letter@^1", "--json").document
    assert document["contract"]["description"] == "Send a letter to somebody.\nBy post."
    assert document["versions"] == [{"version": "1.0.0", "status": "active", "reason": ""}]


@pytest.mark.promise("healing-defaults")
@pytest.mark.promise("healing-fallback")
def test_a_tool_is_shown_with_what_holds_for_its_calls_and_who_may_answer_for_it(
    filled: Shell,
) -> None:
    told = filled.run("show", "mail/send_letter").out
    assert "timeout_seconds = 30.0 (default)" in told
    assert "source:mail: 8 at once (default)" in told
    assert "stand-in" not in told
    rules = ("rules", "set", "tool:mail/send_letter", "timeout_seconds=4")
    assert filled.run(*rules, "equivalents=mail/list_letters").code == 0
    assert filled.run("rules", "set", "group:mail", "calls_per_second=5").code == 0
    told = filled.run("show", "mail/send_letter").out
    assert "timeout_seconds = 4.0 (tool:mail/send_letter)" in told
    document = filled.run("show", "mail/send_letter", "--json").document
    assert document["settings"]["timeout_seconds"] == {"value": 4, "from": "tool:mail/send_letter"}
    assert "group:mail: 5 a second (rules)" in told
    assert [gate["scope"] for gate in document["gates"]] == ["group:mail", "source:mail"]
    assert document["equivalents"] == [
        {"tool": "mail/list_letters", "grounds": "approved by the operator"}
    ]
    assert "stand-in        mail/list_letters (approved by the operator)" in told


def test_a_retired_tool_is_listed_only_when_all_are_asked_for(filled: Shell) -> None:
    assert filled.run("remove", "mail").code == 0
    assert filled.run("tools", "--json").document["tools"] == []
    rows = filled.run("tools", "--all", "--json").document["tools"]
    assert {row["status"] for row in rows} == {"retired"}


def test_search_answers_each_query_by_itself(filled: Shell) -> None:
    answer = filled.run("search", "send a letter", "列出信件", "--json").document
    first, second = answer["results"]
    assert first["query"] == "send a letter"
    assert first["hits"][0]["reference"] == "mail/send_letter@1.0.0"
    assert second["hits"][0]["published_name"] == "mail__list_letters"
    told = filled.run("search", "send a letter", "qwxzv")
    assert "mail/send_letter" in told.out
    assert "nothing fits 'qwxzv'" in told.err


def test_search_keeps_to_a_group_and_a_limit(filled: Shell) -> None:
    one = filled.run("search", "letters", "--group", "mail", "-n", "1", "--json").document
    assert len(one["results"][0]["hits"]) == 1
    refused = filled.run("search", "letters", "--group", "mial")
    assert refused.code == 1
    assert "did you mean mail?" in refused.err


@pytest.mark.promise("field-o41-network-cut")
def test_search_finds_by_meaning_with_the_network_cut(tmp_path: Path, mail: str) -> None:
    cut = ("unshare", "--net", "--map-root-user")
    if subprocess.run([*cut, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine does not permit `unshare --net`")
    shell = Shell(tmp_path / "home", encoder="default")
    assert shell.run("add", "mail", "--snapshot", mail).code == 0
    answer = shell.spawn("search", "post something to a friend", "--json", prefix=cut)
    assert answer.code == 0, answer.err
    assert answer.document["results"][0]["hits"][0]["reference"] == "mail/send_letter@1.0.0"
    assert answer.document["degraded"] is None


@pytest.mark.promise("cli-search-light")
def test_search_starts_no_source_and_loads_neither_mcp_nor_web_server(filled: Shell) -> None:
    script = (
        "import sys; sys.argv = ['toolcrib', *{words}]\n"
        "from toolcrib_adapters.command import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print(sorted({heavy} & set(sys.modules)))"
    )
    heavy = {"mcp", "starlette", "uvicorn", "httpx2", "alembic", "yaml", "asyncpg"}
    of_reading = {"sqlalchemy", "jsonschema_rs", "toolcrib_protocol.tool"}
    for words, never in (
        (["search", "letter"], heavy | of_reading),
        (["search", "letter", "--json"], heavy | of_reading),
        (["tools"], heavy),
        (["show", "mail/send_letter"], heavy),
        (["sources"], heavy),
        (["--help"], heavy | {"numpy", "sqlalchemy"}),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script.format(words=words, heavy=never)],
            env=filled.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.stdout.splitlines()[-1] == "[]", (words, done.stderr)


def test_an_empty_crib_says_how_to_fill_it(shell: Shell) -> None:
    for words in (("sources",), ("tools",), ("groups",)):
        assert "toolcrib add NAME" in shell.run(*words).err
    assert "nothing is quarantined" in shell.run("tools", "--quarantined").err
    assert json.loads(shell.run("tools", "--json").out) == {"tools": []}


@pytest.mark.parametrize("words", [["tools"], ["search", "mail"], ["sources"], ["show", "a/b"]])
def test_reading_a_crib_that_is_not_there_says_so_and_makes_nothing(
    shell: Shell, words: list[str], tmp_path: Path
) -> None:
    missing = tmp_path / "typo"
    done = shell.run(*words, "--home", str(missing))
    assert (done.code, "there is no crib at" in done.err) == (1, True)
    assert not missing.exists()


def test_a_search_of_an_empty_crib_says_how_tools_come_in(shell: Shell) -> None:
    done = shell.run("search", "send a letter")
    assert (done.code, "toolcrib import" in done.err) == (0, True)


@pytest.mark.promise("store-last-failures")
def test_why_a_source_failed_is_told_while_no_crib_runs(shell: Shell) -> None:
    shell.run("add", "gone", "--", "/no/such/server")
    (row,) = shell.run("sources", "--json").document["sources"]
    assert row["state"] == "not running"
    assert row["reason"].startswith("when it ran last: the command '/no/such/server' was not found")
