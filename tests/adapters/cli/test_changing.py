"""The commands that change a catalogue, call a tool or publish one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.cli.running import Shell

ROOT = Path(__file__).parents[3]
CONTRACTS = str(ROOT / "examples" / "contracts" / "stock_room.yaml")


def test_the_servers_of_a_client_configuration_become_sources(shell: Shell, tmp_path: Path) -> None:
    config = tmp_path / ".mcp.json"
    servers = {
        "one": {"command": "no-such-command"},
        "two": {"url": "https://example.org/mcp"},
        "three": 3,
    }
    config.write_text(json.dumps({"mcpServers": servers}))
    done = shell.run("import", str(config), "--no-connect", "--json")
    assert done.code == 0, done.err
    assert [(row["source"], row["outcome"]) for row in done.document["entries"]] == [
        ("one", "added"),
        ("two", "added"),
        ("three", "skipped: the entry is not an object but int"),
    ]
    again = shell.run("import", str(config), "--no-connect").err
    assert "one: unchanged" in again
    servers["one"] = {"command": "another-command"}
    config.write_text(json.dumps({"mcpServers": servers}))
    assert "one: kept as it is" in shell.run("import", str(config), "--no-connect").err
    assert "one: replaced" in shell.run("import", str(config), "--no-connect", "--replace").err


def test_importing_connects_once_and_tells_what_became_of_each_server(
    shell: Shell, tmp_path: Path
) -> None:
    config = tmp_path / ".mcp.json"
    config.write_text(json.dumps({"mcpServers": {"gone": {"command": "no-such-command"}}}))
    first = shell.run("import", str(config), "--json")
    (row,) = first.document["sources"]
    assert (first.code, row["source"], row["status"]) == (3, "gone", "failed")
    assert "no-such-command" in str(row["reason"])
    again = shell.run("import", str(config))
    assert (again.code, "failed" in again.out, "toolcrib remove" in again.err) == (3, True, True)


@pytest.mark.promise("cli-exit-codes")
def test_a_source_that_does_not_start_is_registered_but_the_command_does_not_end_with_success(
    shell: Shell, tmp_path: Path, waiting: str
) -> None:
    done = shell.run("add", "gone", "--", "no-such-command")
    assert (done.code, "registered, but not usable yet" in done.err) == (3, True)
    assert [row["name"] for row in shell.run("sources", "--json").document["sources"]] == ["gone"]
    assert shell.run("add", "wait", "--python", waiting).code == 0
    # One dead server of several is no failure of the import.
    config = tmp_path / ".mcp.json"
    server = {"command": sys.executable, "args": ["-m", "tests.fake_upstreams.sdk_server", "stdio"]}
    entries = {"good": {**server, "cwd": str(ROOT)}, "gone": {"command": "no-such-command"}}
    config.write_text(json.dumps({"mcpServers": entries}))
    assert shell.run("import", str(config)).code == 0


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://x/y", "an address begins with http:// or https://, or with ${NAME}"),
        ("http://", "that is no whole address"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused_before_it_is_registered(
    shell: Shell, url: str, why: str
) -> None:
    done = shell.run("add", "u1", "--url", url)
    assert (done.code, why in done.err) == (4, True), done.err
    assert shell.run("sources", "--json").document == {"sources": []}


@pytest.mark.parametrize(
    ("words", "spec"),
    [
        (
            ["--env", "KEY=${KEY}", "--cwd", ".", "--", "srv", "--flag", "x=y"],
            {
                "transport": "stdio",
                "command": "srv",
                "args": ["--flag", "x=y"],
                "env": {"KEY": "${KEY}"},
                "cwd": str(Path.cwd()),
            },
        ),
        (["--", "srv"], {"transport": "stdio", "command": "srv", "args": [], "env": {}}),
        (
            ["--url", "https://example.org/mcp", "--header", "X-Key=a=b"],
            {"transport": "http", "url": "https://example.org/mcp", "headers": {"X-Key": "a=b"}},
        ),
        (
            ["--url", "https://example.org/sse", "--sse"],
            {"transport": "sse", "url": "https://example.org/sse", "headers": {}},
        ),
        (
            ["--url", "https://example.org/mcp", "--forward-header", "X-Up-Token=Authorization"],
            {
                "transport": "http",
                "url": "https://example.org/mcp",
                "headers": {},
                "forward_headers": {"X-Up-Token": "Authorization"},
            },
        ),
    ],
    ids=["command", "bare command", "url", "sse", "url with forwarded headers"],
)
def test_a_server_is_added_as_it_was_written(
    shell: Shell, words: list[str], spec: dict[str, object]
) -> None:
    done = shell.run("add", "a", "--no-connect", *words)
    assert done.code == 0, done.err
    assert "a: added" in done.err
    (row,) = shell.run("sources", "--json").document["sources"]
    assert str(spec.get("url") or spec["command"]) in str(row["where"])
    assert shell.run("add", "a", "--no-connect", *words).code == 0
    other = shell.run("add", "a", "--no-connect", "--", "other")
    assert (other.code, "--replace" in other.err) == (1, True)
    assert shell.run("add", "a", "--no-connect", "--replace", "--", "other").code == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "say what the source is, once"),
        (["--python", "json", "--", "srv"], "say what the source is, once"),
        (["--url", "https://example.org", "--", "srv"], "not both"),
        (["--snapshot", "no/such/file.json"], "there is no file"),
        (["--python", "no/such/file.py"], "neither a Python file nor a module"),
        (["--python", "missing.py"], "neither a Python file nor a module"),
        (["--env", "KEY", "--", "srv"], "--env 'KEY' is not NAME=VALUE"),
    ],
)
def test_a_source_that_makes_no_sense_is_refused_with_what_would(
    shell: Shell, words: list[str], reason: str
) -> None:
    done = shell.run("add", "a", *words)
    assert done.code == 1
    assert reason in done.err


def test_python_functions_are_added_and_called(shell: Shell, waiting: str, tmp_path: Path) -> None:
    done = shell.run("add", "wait", "--python", waiting, "--group", "patience", "--json")
    assert done.document["sources"][0]["tools"] == 2
    there = tmp_path / "there"
    there.touch()
    called = shell.run("call", "patience/wait_for", json.dumps({"path": str(there)}))
    assert (called.code, called.out.strip()) == (0, "it is there")
    given = shell.run(
        "call", "patience__wait_for", "-", "--json", given=json.dumps({"path": str(there)})
    )
    assert given.document["status"] == "success"
    assert given.document["error"] is None


@pytest.mark.promise("cli-exit-codes")
def test_a_failed_call_says_why_and_ends_with_a_code(
    shell: Shell, waiting: str, tmp_path: Path
) -> None:
    shell.run("add", "wait", "--python", waiting)
    failed = shell.run("call", "wait/fail")
    assert (failed.code, failed.out) == (1, "")
    assert "as it was told" in failed.err
    document = shell.run("call", "wait/fail", "--json").document
    assert document["error"]["code"] == "tool_failed"
    never = json.dumps({"path": str(tmp_path / "never")})
    late = shell.run("call", "wait/wait_for", never, "--timeout", "0.5")
    assert (late.code, "0.5 s" in late.err) == (3, True)
    wrong = shell.run("call", "wait/wait_for", '{"path": {}}')
    assert (wrong.code, "/path" in wrong.err) == (1, True)


def test_a_lenient_source_lets_unknown_arguments_through(shell: Shell, mail: str) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    assert "unknown argument" in shell.run("call", "mail/send_letter", '{"x": 1}').err
    shell.run("add", "mail", "--snapshot", mail, "--lenient")
    assert "for reading only" in shell.run("call", "mail/send_letter", '{"x": 1}').err
    assert shell.run("add", "mail", "--snapshot", mail, "--lenient").code == 0


def test_a_removed_source_is_gone_and_an_unknown_one_is_named(shell: Shell, mail: str) -> None:
    shell.run("add", "mail", "--snapshot", mail, "--no-connect")
    assert shell.run("remove", "mail", "--json").document == {"removed": ["mail"]}
    assert "removed: again" not in shell.run("sources").err
    done = shell.run("remove", "mail")
    assert (done.code, "'mail'" in done.err) == (1, True)


@pytest.mark.promise("cli-publish-again")
def test_a_contract_file_is_published_and_published_again_without_a_change(shell: Shell) -> None:
    first = shell.run("publish", CONTRACTS, "--source", "plans")
    assert first.code == 0, first.err
    assert "added      plans/reserve_part@0.3.0" in first.out
    again = shell.run("publish", CONTRACTS, "--source", "plans", "--json").document
    assert {tool["status"] for tool in again["published"]} == {"unchanged"}
    assert "plans/reserve_part" in shell.run("search", "reserve a part").out
    called = shell.run("call", "plans/release_part", '{"reservation": "R-1"}')
    assert (called.code, "for reading only" in called.err) == (1, True)


def test_a_second_file_of_a_source_joins_the_first(shell: Shell, mail: str) -> None:
    shell.run("publish", CONTRACTS, "--source", "plans")
    done = shell.run("publish", mail, "--source", "plans")
    assert "refused    broken" in done.err
    listed = shell.run("tools", "--group", "plans", "--json").document["tools"]
    assert [row["published_name"] for row in listed] == [
        "plans__list_letters",
        "plans__release_part",
        "plans__reserve_part",
        "plans__send_letter",
    ]


def test_a_python_file_is_published_under_its_own_name(shell: Shell, waiting: str) -> None:
    done = shell.run("publish", waiting)
    assert done.code == 0, done.err
    assert "added      waiting/wait_for@1.0.0" in done.out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "line 1"),
        ('{"tools": []}', "nothing to publish"),
        ('[{"name": "x", "limits": 1}]', "x: /limits"),
    ],
)
def test_what_cannot_be_published_ends_with_its_reason(
    shell: Shell, tmp_path: Path, text: str, reason: str
) -> None:
    file = tmp_path / "odd.json"
    file.write_text(text)
    done = shell.run("publish", str(file))
    assert (done.code, done.out) == (1, "")
    assert reason in done.err


@pytest.mark.promise("cli-no-traceback")
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["call", "a/b", "{"], "line 1"),
        (["call", "a/b", "[]"], "a/b"),
        (["call", "no such", "{}"], "no such"),
        (["show", "日本/語 🧰"], "日本"),
        (["show", "a/b@^x"], "x"),
        (["import", "/no/such/file.json"], "/no/such/file.json"),
        (["import", "/"], "cannot be read"),
        (["tools", "--group", "nope"], "nope"),
        (["publish", "no-such-module-"], "neither a Python file nor a module"),
        (["publish", "/no/such/contract.yaml"], "there is no such file"),
        (["serve", "--host", "no.such.host.invalid"], "cannot listen"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_answered_with_a_sentence(shell: Shell, words: list[str], reason: str) -> None:
    done = shell.run(*words)
    assert done.code in {1, 3}, done
    assert done.err.startswith("error: ")
    assert reason in done.err
    as_json = shell.run(*words, "--json") if words[0] != "serve" else None
    if as_json is not None:
        assert isinstance(as_json.document["error"]["code"], str)


def test_usage_errors_end_with_two(shell: Shell) -> None:
    assert shell.run("search").code == 2
    assert shell.run("nonsense").code == 2
    assert shell.run("serve", "--port", "70000").code == 2


@pytest.mark.promise("cli-no-traceback")
def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = Shell(tmp_path / "file").spawn("tools")
    assert done.code == 4
    assert done.err.startswith("error: ")
    assert str(tmp_path / "file") in done.err


@pytest.mark.promise("cli-no-traceback")
def test_an_encoder_that_does_not_exist_is_named(shell: Shell, tmp_path: Path) -> None:
    done = Shell(shell.home, encoder="nope").spawn("search", "x")
    assert (done.code, "no encoder is called 'nope'" in done.err) == (1, True)


def test_a_fault_of_ours_is_one_line_unless_tracebacks_are_asked_for(shell: Shell) -> None:
    broken = (
        "import sys; sys.argv = ['toolcrib', 'tools']\n"
        "from toolcrib_adapters.settings import CribSettings\n"
        "CribSettings.read = None\n"
        "from toolcrib_adapters.command import main; main()"
    )

    def run(**extra: str) -> subprocess.CompletedProcess[str]:
        environment = {**shell.environment, **extra}
        return subprocess.run(
            [sys.executable, "-c", broken],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    quiet, loud = run(), run(TOOLCRIB_TRACEBACKS="1")
    assert quiet.returncode == 70
    assert quiet.stderr.startswith("error: a fault inside toolcrib (TypeError")
    assert "Traceback" in loud.stderr


def test_every_command_explains_itself(shell: Shell) -> None:
    whole = shell.run("--help").out
    names = [
        "import",
        "add",
        "remove",
        "sources",
        "tools",
        "groups",
        "show",
        "search",
        "call",
        "publish",
        "serve",
        "demo",
    ]
    for name in names:
        assert f" {name} " in whole
        assert shell.run(name, "--help").code == 0
    assert shell.run("--version").out.startswith("toolcrib ")
