"""`toolcrib connect` on files as clients keep them."""

from __future__ import annotations

import json
import stat
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.adapters.cli.running import Shell
from tests.docs_blocks import ROOT

if TYPE_CHECKING:
    from pathlib import Path

ZED = """\
// Zed settings
{
  "theme": "One Dark", // mine
  "context_servers": {
    "other": { "command": "x", "args": [] },
  },
}
"""


@pytest.fixture(autouse=True)
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.mark.promise("connect-undo")
def test_what_could_not_be_taken_back_is_not_written(shell: Shell, user_home: Path) -> None:
    notes = shell.home / "connections.json"
    notes.mkdir(parents=True)
    done = shell.run("connect", "cursor", "--write")
    assert (done.code, f"{notes}, which keeps" in done.err) == (4, True), done.err
    assert [*user_home.iterdir()] == []
    assert [path.name for path in shell.home.glob("connections*")] == [notes.name]


@pytest.mark.promise("connect-malformed")
def test_a_file_that_could_not_be_written_leaves_no_note(shell: Shell, user_home: Path) -> None:
    (user_home / ".cursor").write_text("not a folder")
    done = shell.run("connect", "cursor", "--write")
    assert (done.code, "Nothing was changed" in done.err) == (4, True), done.err
    assert (
        not (shell.home / "connections.json").exists()
        or json.loads((shell.home / "connections.json").read_text()) == []
    )


@pytest.mark.promise("connect-print")
def test_the_entry_is_printed_and_nothing_is_written(shell: Shell, user_home: Path) -> None:
    done = shell.run("connect", "vscode")
    assert done.code == 0
    entry = json.loads(done.out)["servers"]["toolcrib"]
    assert (entry["type"], entry["args"][:2]) == ("stdio", ["serve", "--stdio"])
    assert entry["args"][2:] == ["--home", str(shell.home)]
    assert str(user_home / ".config" / "Code" / "User" / "mcp.json") in done.err
    assert [*user_home.iterdir()] == []
    table = tomllib.loads(shell.run("connect", "codex", "--group", "mail").out)
    assert table["mcp_servers"]["toolcrib"]["args"][-2:] == ["--group", "mail"]
    url = ("--url", "http://127.0.0.1:8765")
    document = shell.run("connect", "windsurf", *url, "--profile", "a b", "--json").document
    assert document["entry"] == {"serverUrl": "http://127.0.0.1:8765/mcp/profile/a%20b"}
    grouped = shell.run("connect", "gemini-cli", *url, "-g", "mail", "--json").document
    assert grouped["entry"] == {"httpUrl": "http://127.0.0.1:8765/mcp/mail"}


@pytest.mark.promise("connect-write")
@pytest.mark.promise("connect-undo")
def test_an_entry_is_written_beside_comments_and_taken_back_with_later_edits_kept(
    shell: Shell, user_home: Path
) -> None:
    real = user_home / "dotfiles.json"
    real.write_text(ZED)
    real.chmod(0o640)
    link = user_home / ".config" / "zed" / "settings.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    shown = shell.run("connect", "zed", "--dry-run")
    assert '+    "toolcrib": {' in shown.out
    assert real.read_text() == ZED
    assert shell.run("connect", "zed", "--write").code == 0
    text = real.read_text()
    assert "// mine" in text
    assert '"toolcrib": {' in text
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    (backup,) = user_home.glob("dotfiles.json.toolcrib-*.bak")
    assert backup.read_text() == ZED
    assert "says that already" in shell.run("connect", "zed", "--write").err
    assert real.read_text() == text
    real.write_text(text.replace("One Dark", "One Light"))
    assert shell.run("connect", "zed", "--undo").code == 0
    assert real.read_text() == ZED.replace("One Dark", "One Light")
    again = shell.run("connect", "zed", "--undo")
    assert (again.code, "no server 'toolcrib'" in again.err) == (1, True)


@pytest.mark.promise("connect-undo")
def test_a_file_that_was_made_is_gone_again(shell: Shell, user_home: Path) -> None:
    for client, file in (
        ("cursor", user_home / ".cursor" / "mcp.json"),
        ("codex", user_home / ".codex" / "config.toml"),
    ):
        assert shell.run("connect", client, "--write").code == 0
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert shell.run("connect", client, "--undo").code == 0
        assert not file.exists()


@pytest.mark.promise("connect-undo")
def test_an_entry_that_the_user_changed_is_the_users(shell: Shell, user_home: Path) -> None:
    file = user_home / ".cursor" / "mcp.json"
    shell.run("connect", "cursor", "--write")
    file.write_text(file.read_text().replace("--stdio", "--port"))
    done = shell.run("connect", "cursor", "--undo")
    assert "kept" in done.err
    assert "--port" in file.read_text()


@pytest.mark.promise("connect-replace")
def test_imported_servers_are_taken_out_and_put_back(
    shell: Shell, user_home: Path, mail: str
) -> None:
    file = user_home / ".claude.json"
    servers = {
        "mine": {
            "command": sys.executable,
            "args": ["-m", "tests.fake_upstreams.sdk_server", "stdio"],
            "env": {"KEY": "k"},
            "cwd": str(ROOT),
        },
        "dead": {"command": "one"},
        "changed": {"command": "two"},
        "not-imported": {"command": "three"},
    }
    before = {"numStartups": 7, "mcpServers": servers, "projects": {"/p": {"mcpServers": {}}}}
    file.write_text(json.dumps(before, indent=2))
    text = file.read_text()
    shell.run("import", str(file))
    shell.run("remove", "not-imported")
    file.write_text(text.replace('"two"', '"other"'))
    offered = shell.run("connect", "claude-code", "--dry-run")
    assert "this crib serves mine of that file, too; --replace" in offered.err
    done = shell.run("connect", "claude-code", "--write", "--replace")
    assert "'mine' is served by this crib" in done.err
    assert "'changed' stays" in done.err
    assert "'dead' stays: this crib has it and could not start it yet" in done.err
    after = json.loads(file.read_text())
    assert [*after["mcpServers"]] == ["dead", "changed", "not-imported", "toolcrib"]
    assert {**after, "mcpServers": 0} == {**before, "mcpServers": 0}
    assert stat.S_IMODE((shell.home / "connections.json").stat().st_mode) == 0o600
    assert shell.run("connect", "claude-code", "--undo").code == 0
    restored = json.loads(file.read_text())["mcpServers"]
    assert restored == {**servers, "changed": {"command": "other"}}


@pytest.mark.promise("connect-undo")
def test_a_file_that_nobody_changed_is_what_it_was_to_the_last_comma(
    shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    words = f'"command": {json.dumps(sys.executable)}, "cwd": {json.dumps(str(ROOT))}'
    text = (
        '{\n  "mcpServers": {\n    "clock": { ARGS, WORDS }, // mine\n    /* end */\n  },\n}\n'
    ).replace("WORDS", words)
    text = text.replace("ARGS", '"args": ["-m", "tests.fake_upstreams.sdk_server", "stdio"]')
    file.write_text(text)
    assert shell.run("import", str(file)).code == 0
    connect = ("connect", "cursor", "--file", str(file))
    assert "taken out" in shell.run(*connect, "--write", "--replace").err
    assert shell.run(*connect, "--write", "--group", "clock").code == 0
    assert '"clock": {' not in file.read_text()
    assert shell.run(*connect, "--undo").code == 0
    assert file.read_text() == text


@pytest.mark.promise("connect-malformed")
@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", '{"mcpServers": {'),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {"toolcrib": {"command": "something-else"}}}'),
        ("codex", "mcp_servers = { one = { command = 'a' } }"),
        ("codex", 'mcp_servers = "no"'),
        ("codex", "[mcp_servers"),
        ("codex", 'note = """\n[mcp_servers.toolcrib]\n"""\n[mcp_servers]\ntoolcrib = 3'),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_left_alone(
    shell: Shell, tmp_path: Path, client: str, text: str
) -> None:
    file = tmp_path / "theirs"
    file.write_text(text)
    done = shell.run("connect", client, "--write", "--file", str(file))
    assert done.code in {1, 4}, done.out
    assert str(file) in done.err
    assert file.read_text() == text
    assert sorted(path.name for path in tmp_path.glob("theirs*")) == ["theirs"]
    file.write_bytes(b"\xff\xfe{")
    assert shell.run("connect", client, "--write", "--file", str(file)).code == 4
    assert file.read_bytes() == b"\xff\xfe{"


def test_wrong_wishes_are_refused(shell: Shell, tmp_path: Path) -> None:
    for words, hint in (
        (("custom", "--write"), "--file"),
        (("curser",), "did you mean cursor"),
        (("claude-desktop", "--url", "http://h/mcp"), "Connectors"),
        (("cursor", "--url", "ftp://h"), "no http(s) address"),
        (("cursor", "--group", "a", "--profile", "b"), "not both"),
    ):
        done = shell.run("connect", *words)
        assert (done.code, hint in done.err) == (1, True), done.err
    custom = tmp_path / "mcp.json"
    assert shell.run("connect", "custom", "--write", "--file", str(custom)).code == 0
    assert shell.run("connect", "custom", "--undo", "--file", str(custom), "--json").document[
        "changed"
    ]


def test_settings_that_a_file_does_not_carry_are_told(shell: Shell, tmp_path: Path) -> None:
    other = Shell(shell.home, database=f"sqlite:///{tmp_path}/secret.db")
    done = other.run("connect", "cursor")
    assert "TOOLCRIB_DATABASE" in done.err
    assert "secret.db" not in done.err + done.out
