"""`toolcrib doctor` on cribs with something wrong."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from tests.adapters.cli.clients import client, ended, owner
from tests.adapters.cli.running import Shell
from toolcrib_adapters.doctor.processes import Process, my_processes, orphan_findings
from toolcrib_adapters.doctor.source_settings import source_findings
from toolcrib_registry.changes import PutSource
from toolcrib_registry.ports import SourceState, SourceStatus
from toolcrib_registry.records import SourceKind, SourceRecord
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import JsonObject


def findings(shell: Shell, *words: str) -> dict[str, Any]:
    """What doctor found, by check; the last of several."""
    done = shell.run("doctor", "--json", *words)
    document = done.document
    found = {finding["check"]: finding for finding in document["findings"]}
    problems = [f for f in document["findings"] if f["severity"] == "problem"]
    assert done.code == (1 if problems else 0)
    return found


@pytest.mark.promise("doctor-well")
def test_of_a_crib_that_is_well_it_says_so(shell: Shell, mail: str) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    found = findings(shell)
    assert [*found] == ["quarantine"]
    assert "broken" in found["quarantine"]["text"]
    shell.run("remove", "mail")
    done = shell.run("doctor")
    assert (done.code, "nothing is wrong" in done.out) == (0, True)
    assert "toolcrib 0." in done.out


@pytest.mark.promise("doctor-says")
def test_a_home_that_is_not_there_is_not_made(shell: Shell) -> None:
    found = findings(shell)
    assert str(shell.home) in found["home"]["text"]
    assert "toolcrib import" in found["home"]["mend"]
    assert not shell.home.exists()
    shell.home.mkdir()
    assert "home" in findings(shell)
    assert [*shell.home.iterdir()] == []


def test_a_crib_in_a_database_elsewhere_needs_no_home(shell: Shell, tmp_path: Path) -> None:
    other = Shell(shell.home, database=f"sqlite:///{tmp_path / 'elsewhere.db'}")
    other.run("tools")
    assert findings(other) == {}


@pytest.mark.promise("doctor-says")
@pytest.mark.parametrize(
    ("words", "check", "hint"),
    [
        (("--", "no-such-command-here"), "command", "'no-such-command-here'"),
        (("--cwd", "/no/such/folder", "--", sys.executable), "source-folder", "/no/such/folder"),
        (("--env", "A=${NOT_SET_ANYWHERE}", "--", "sh"), "variables", "NOT_SET_ANYWHERE"),
        (("--url", "http://127.0.0.1:1/mcp?k=${NOT_SET_ANYWHERE}"), "variables", "NOT_SET"),
    ],
)
def test_what_a_source_needs_and_has_not_is_told(
    shell: Shell, words: Sequence[str], check: str, hint: str
) -> None:
    shell.run("add", "s", "--no-connect", *words)
    found = findings(shell)
    assert [*found] == [check]
    assert hint in found[check]["text"]
    assert found[check]["mend"]


@pytest.mark.promise("doctor-says")
def test_a_source_that_failed_is_told_with_its_reason(shell: Shell, tmp_path: Path) -> None:
    shell.run("add", "s", "--", sys.executable, "-c", "import sys; sys.exit('out of paper')")
    found = findings(shell)
    assert "out of paper" in found["source"]["text"]
    file = tmp_path / "gone.json"
    file.write_text('{"tools": []}')
    shell.run("add", "t", "--snapshot", str(file))
    file.unlink()
    assert str(file) in findings(shell)["source-file"]["text"]


@pytest.mark.promise("doctor-says")
def test_names_that_clients_would_make_too_long_are_told(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    tools = [{"name": "a" * length, "inputSchema": {"type": "object"}} for length in (40, 55, 90)]
    file.write_text(json.dumps({"tools": tools}))
    shell.run("add", "long", "--snapshot", str(file))
    done = shell.run("doctor")
    assert done.code == 0
    assert "2 tools have names of more than 49 characters" in done.out
    assert "1 tools are called by their source" in done.out


@pytest.mark.promise("doctor-mends")
def test_it_mends_permissions_and_nothing_it_should_not(shell: Shell, mail: str) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    shell.home.chmod(0o777)
    database = shell.home / "crib.db"
    database.chmod(0o644)
    found = findings(shell)
    assert found["permissions"]["can_mend"]
    assert "0644" in shell.run("doctor").out
    done = shell.run("doctor", "--mend", "--json")
    assert [m["check"] for m in done.document["mended"]] == ["permissions", "permissions"]
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert not shell.home.stat().st_mode & 0o022


@pytest.mark.promise("doctor-mends")
@pytest.mark.promise("search-mends-index")
@pytest.mark.parametrize("damage", ["damaged", "missing"])
def test_an_index_that_is_damaged_or_lost_is_completed(
    tmp_path: Path, mail: str, damage: str
) -> None:
    shell = Shell(tmp_path / "home", encoder="default")
    shell.run("add", "mail", "--snapshot", mail)
    index = shell.home / "index" / "search.npz"

    def harm() -> None:
        index.write_bytes(b"garbage") if damage == "damaged" else index.unlink()

    harm()
    found = findings(shell)
    assert "2 of 2 tools have no vector" in found["index"]["text"]
    done = shell.run("doctor", "--mend", "--json").document
    assert [m["check"] for m in done["mended"]] == ["index"]
    assert "index" not in findings(shell)
    harm()
    answer = shell.run("search", "send a letter", "--json").document
    assert answer["degraded"] is None
    assert "index" not in findings(shell)


@pytest.mark.promise("doctor-says")
def test_an_encoder_that_cannot_be_used_is_told(shell: Shell, mail: str) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    other = Shell(shell.home, encoder="sentence-transformers:/nowhere")
    found = findings(other)
    assert "TOOLCRIB_ENCODER" in found["encoder"]["mend"]


@pytest.mark.promise("doctor-says")
@pytest.mark.parametrize(
    ("harm", "hint"),
    [
        ("UPDATE alembic_version SET version_num = '9999'", "newer"),
        (None, "no database"),
    ],
)
def test_a_database_that_cannot_be_used_is_told(
    shell: Shell, mail: str, harm: str | None, hint: str
) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    if harm is None:
        (shell.home / "crib.db").write_bytes(b"this is text " * 1000)
    else:
        with sqlite3.connect(shell.home / "crib.db") as database:
            database.execute(harm)
    found = findings(shell)
    assert hint in found["database"]["text"]


@pytest.mark.promise("doctor-says")
@pytest.mark.parametrize(
    ("name", "check", "hint"),
    [("keys.json", "keys", "not a key ring"), ("crib.sock", "socket", "is no socket")],
)
def test_what_keeps_a_crib_from_starting_is_told_by_doctor_and_by_serve(
    shell: Shell, mail: str, name: str, check: str, hint: str
) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    file = shell.home / name
    file.write_text('{"keys": [1]')
    file.chmod(0o600)
    found = findings(shell)[check]
    assert (hint in found["text"], str(file) in found["mend"]) == (True, True)
    for words in (("--port", "0"), ("--stdio",)):
        done = shell.spawn("serve", *words)
        assert (done.code, "error: " in done.err, hint in done.err) == (4, True, True), done.err
        assert "fault" not in done.err
        assert "Traceback" not in done.err


@pytest.mark.promise("doctor-says")
@pytest.mark.promise("doctor-mends")
async def test_the_running_crib_and_what_a_killed_one_left_behind_are_told(
    shell: Shell, mail: str
) -> None:
    async def run(*words: str) -> Any:
        done = await anyio.to_thread.run_sync(lambda: shell.spawn("doctor", "--json", *words))
        return done.document

    await anyio.to_thread.run_sync(lambda: shell.spawn("add", "mail", "--snapshot", mail))
    async with client(shell) as member:
        await member.shake_hands()
        crib = owner(shell)
        facts = (await run())["facts"]["crib"]
        assert (facts["pid"], facts["clients"], facts["kind"]) == (crib, 1, "stdio")
        member.process.kill()
        os.kill(crib, signal.SIGSTOP)
        try:
            checks = [f["check"] for f in (await run())["findings"]]
            assert "crib" in checks
        finally:
            os.kill(crib, signal.SIGKILL)
        await ended(crib)
    assert "socket" in [f["check"] for f in (await run())["findings"]]
    assert "socket" in [f["check"] for f in (await run("--mend"))["mended"]]
    assert not (shell.home / "crib.sock").exists()


SOURCE = SourceRecord(
    "files",
    SourceKind.MCP,
    {
        "transport": "stdio",
        "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-filesystem@1.2", "/data/files"],
    },
    "files",
)


@pytest.mark.promise("doctor-says")
def test_processes_without_a_crib_that_look_like_a_source_are_told() -> None:
    command = ("node", "/root/.npm/_npx/1/mcp-server-filesystem", "/data/files")
    processes = [
        Process(1, 0, "init", ("/sbin/init",)),
        Process(10, 1, "node", command),
        Process(11, 12, "node", command),
        Process(12, 1, "toolcrib", ("toolcrib", "serve")),
        Process(13, 14, "node", command),
        Process(14, 1, "systemd", ("systemd", "--user")),
        Process(15, 1, "node", ("node", "server-filesystem", "/other")),
        Process(
            16,
            1,
            "python",
            ("python", "-m", "toolcrib_adapters.x", "server-filesystem", "/data/files"),
        ),
        Process(17, 1, "python", ("/usr/bin/python", "-m", "other")),
        Process(18, 1, "serve", ("/bin/sh", "/opt/serve")),
    ]
    bare = [
        SourceRecord(name, SourceKind.MCP, {"transport": "stdio", "command": command}, name)
        for name, command in (("a", "/usr/bin/python"), ("b", "/opt/serve"), ("c", "serve"))
    ]
    assert [f.value for f in orphan_findings([SOURCE, *bare], processes)] == [10, 13, 18]


@pytest.mark.promise("doctor-says")
def test_sources_of_one_command_are_told_apart_by_their_arguments_and_each_process_once() -> None:
    def source(name: str, *args: str, command: str = "python3", cwd: str = "") -> SourceRecord:
        spec: JsonObject = {"command": command, "args": [*args], **({"cwd": cwd} if cwd else {})}
        return SourceRecord(name, SourceKind.MCP, spec, name)

    sources = [
        source("a", "/srv/a.py"),
        source("b", "/srv/a.py", "--port", "${PORT}"),
        source("c", "-m", "mail", cwd="/srv/c"),
        source("d", "-m", "mail", cwd="/srv/d"),
        source("e", command="/opt/bin/notes"),
        source("f", command="sh"),
    ]
    lines = [
        ("/usr/bin/python3", "/srv/a.py"),
        ("python3", "/srv/a.py", "--port", "80"),
        ("python3", "-m", "mail"),
        ("python3", "/srv/other.py"),
        ("/usr/bin/python3", "/opt/bin/notes"),
        ("sh",),
    ]
    processes = [Process(10 + n, 1, "x", line, "/srv/d") for n, line in enumerate(lines)]
    found = [*orphan_findings(sources, processes)]
    assert [f.value for f in found] == [10, 11, 12, 14]
    for finding, name in zip(found, "abde", strict=True):
        assert f"looks like source {name!r} and" in finding.text


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_the_processes_of_this_user_are_read() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        found = {process.pid: process for process in my_processes()}
        child.kill()
    assert found[child.pid].command == "sleep 60"
    assert found[child.pid].folder == str(Path.cwd())
    assert found[child.pid].parent == os.getpid()
    assert my_processes(Path("/nowhere")) == []


@pytest.mark.promise("doctor-says")
def test_a_source_that_wants_a_sign_in_is_told_how() -> None:
    record = SourceRecord("hub", SourceKind.MCP, {"transport": "http", "url": "http://h"}, "hub")
    catalogue = Snapshot().with_changes([PutSource(record)], 1)
    state = SourceState(SourceStatus.NEEDS_SIGN_IN, "2026-01-01", "it answered 401")
    (finding,) = source_findings(catalogue, {"hub": state}, {})
    assert (finding.check, "401" in finding.text) == ("sign-in", True)
    assert "--header" in finding.mend
