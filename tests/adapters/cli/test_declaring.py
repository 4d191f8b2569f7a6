"""A crib from a file: applied, exported, and followed by a crib that serves."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import pytest
from anyio.streams.text import TextReceiveStream

from toolcrib_client import Crib

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell
    from toolcrib_protocol.json_value import JsonObject


def crib_toml(folder: Path, mail: str, waiting: str, more: str = "") -> Path:
    file = folder / "crib.toml"
    file.write_text(
        f"[sources.mail]\npath = {json.dumps(mail)}\n"
        f"[sources.wait]\ntarget = {json.dumps(waiting)}\n"
        "[groups.office]\ndescription = 'Büro 📬'\nmembers = ['mail/list_letters']\n" + more,
        encoding="utf-8",
    )
    return file


OVERLAY = "[overlays.'mail/send_letter']\nwhen_to_use = 'for paper'\npresets = { to = 'Ana' }\n"


@pytest.mark.promise("config-only-what-changed")
def test_a_file_is_applied_whole_and_the_same_file_again_changes_nothing(
    shell: Shell, tmp_path: Path, mail: str, waiting: str
) -> None:
    file = crib_toml(tmp_path, mail, waiting, OVERLAY)
    dry = shell.run("apply", str(file), "--dry-run", "--diff")
    assert dry.code == 0, dry.err
    assert dry.out.splitlines()[:2] == ["+ source mail", '    kind: "snapshot"']
    assert shell.run("sources", "--json").document == {"sources": []}

    done = shell.run("apply", str(file), "--json")
    assert done.code == 0, done.err
    told = [(d["action"], d["kind"], d["name"]) for d in done.document["differences"]]
    assert told == [
        ("add", "source", "mail"),
        ("add", "source", "wait"),
        ("add", "group", "office"),
        ("add", "overlay", "mail/send_letter"),
    ]
    assert [row["status"] for row in done.document["sources"]] == ["ready", "ready"]
    assert "nothing to change" in shell.run("apply", str(file)).err
    shown = shell.run("show", "mail/send_letter", "--json").document
    assert shown["presets"] == {"to": "Ana"}

    crib_toml(tmp_path, mail, waiting)
    assert shell.run("apply", str(file), "--diff").out == "- overlay mail/send_letter\n"
    assert shell.run("show", "mail/send_letter", "--json").document["presets"] == {}
    assert shell.run("group", "create", "mine").code == 0
    assert "nothing to change" in shell.run("apply", str(file)).err
    assert "- group mine" in shell.run("apply", str(file), "--prune").out


@pytest.mark.promise("config-all-or-nothing")
@pytest.mark.parametrize(
    ("more", "place"),
    [
        ("[sources.x]\ncommand = 3\n", ":9: sources.x.command: "),
        ("[groups\n", "(at line 8, "),
        (
            "[overlays.'mail/send_letter'.presets]\nfrom = 'me'\n",
            ":8: overlays.mail/send_letter: the overlay of mail/send_letter cannot be laid",
        ),
    ],
)
def test_a_wrong_file_changes_nothing_and_is_told_with_line_and_key(
    shell: Shell, tmp_path: Path, mail: str, waiting: str, more: str, place: str
) -> None:
    assert shell.run("apply", str(crib_toml(tmp_path, mail, waiting))).code == 0
    before = shell.run("export", "--json").document
    done = shell.run("apply", str(crib_toml(tmp_path, "/elsewhere", waiting, more)))
    if "overlays" in more:  # its source changes as well, so it may fit what comes
        assert shell.run("apply", str(crib_toml(tmp_path, mail, waiting))).code == 0
        done = shell.run("apply", str(crib_toml(tmp_path, mail, waiting, more)))
    assert (done.code, place in done.err) == (1, True), done.err
    assert shell.run("export", "--json").document == before


def test_unknown_keys_are_warned_about_and_a_dead_source_ends_the_command_without_success(
    shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "crib.toml"
    file.write_text("[sources.gone]\ncommand = 'no-such-command'\ncolour = 1\n")
    done = shell.run("apply", str(file))
    assert done.code == 3
    assert f"warning: {file}:3: sources.gone.colour: nobody knows this key" in done.err
    assert shell.run("apply", str(file)).code == 0


@pytest.mark.promise("config-export")
def test_an_exported_crib_is_applied_elsewhere_and_holds_no_secret(
    shell: Shell, tmp_path: Path, mail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_WORD", "hunter2-in-the-clear")
    assert shell.run("add", "mail", "--snapshot", mail).code == 0
    words = ("add", "web", "--url", "https://x/mcp", "--header", "Authorization=Key ${SECRET_WORD}")
    assert shell.run(*words, "--no-connect").code == 0
    assert shell.run("overlay", "mail/list_letters", "--title", "Briefe 📬").code == 0
    file = tmp_path / "out.toml"

    assert shell.run("export", str(file)).code == 0

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text(encoding="utf-8")
    assert "Key ${SECRET_WORD}" in text
    assert "hunter2" not in text
    assert text == shell.run("export").out
    again = shell.run("export", str(file))
    assert (again.code, "--replace writes over it" in again.err) == (1, True)
    assert shell.run("export", str(file), "--replace").code == 0
    assert shell.run("export", str(tmp_path)).code == 1
    assert "nothing to change" in shell.run("apply", str(file)).err
    there = type(shell)(tmp_path / "there")
    assert there.run("apply", str(file), "--no-connect").code == 0
    assert there.run("export", "--json").document == shell.run("export", "--json").document


@pytest.mark.promise("config-schema")
def test_the_schema_is_printed_for_editors(shell: Shell) -> None:
    assert "overlays" in json.loads(shell.run("schema").out)["properties"]


def test_watching_without_a_file_is_a_wrong_usage(shell: Shell) -> None:
    assert shell.run("serve", "--watch").code == 2


@pytest.mark.promise("config-reload")
@pytest.mark.promise("field-o47-reload")
@pytest.mark.parametrize("told_by", ["watching", "SIGHUP"])
async def test_a_serving_crib_follows_its_file_and_keeps_what_it_has_when_the_file_is_wrong(
    shell: Shell, tmp_path: Path, mail: str, waiting: str, told_by: str
) -> None:
    file = crib_toml(tmp_path, mail, waiting)
    assert (await anyio.to_thread.run_sync(shell.spawn, "apply", str(file))).code == 0
    watch = ["--watch"] if told_by == "watching" else []
    async with shell.serving("--config", str(file), *watch) as (url, process):
        async with Crib(url) as crib:
            called = anyio.Event()
            flag = tmp_path / "flag"

            async def wait() -> None:
                result = await crib.call("wait__wait_for", {"path": str(flag)})
                assert result.unwrap() == {"result": "it is there"}
                called.set()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                while not Path(f"{flag}.waiting").exists():  # noqa: ASYNC110 - made by a process
                    await anyio.sleep(0.05)

                crib_toml(tmp_path, mail, waiting, OVERLAY)
                await heard(process, told_by, "add overlay mail/send_letter")
                found = await crib.describe("mail__send_letter")
                assert "for paper" in str(found)

                # As editors save in place: emptied first.
                file.write_text("")
                await heard(process, told_by, "is empty")
                crib_toml(tmp_path, mail, waiting, "[sources\n")
                await heard(process, told_by, "not applied, everything stays as it is")
                crib_toml(tmp_path, mail, waiting, OVERLAY)
                await heard(process, told_by, "nothing to change")
                crib_toml(tmp_path, mail, waiting, f"{OVERLAY}[limits]\nbody_mib = 3\n")
                await heard(process, told_by, "they hold from the next start")

                # The call that ran all the while was not broken off.
                assert not called.is_set()
                flag.touch()
        assert process.returncode is None


async def heard(process: anyio.abc.Process, told_by: str, words: str) -> None:
    """Tell the crib of its file, and wait until it has said so."""
    if told_by == "SIGHUP":
        os.kill(process.pid, signal.SIGHUP)
    assert process.stderr is not None
    said = ""
    with anyio.fail_after(30):
        async for chunk in TextReceiveStream(process.stderr):
            said += chunk
            if words in said:
                return
    raise AssertionError(said)


@pytest.mark.promise("config-reload")
def test_a_wrong_file_at_the_start_is_refused_before_anything_runs(
    shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "crib.toml"
    file.write_text("[limits]\nbody_mib = 0\n")
    done = shell.spawn("serve", "--port", "0", "--config", str(file))
    assert (done.code, ":2: limits.body_mib: " in done.err) == (1, True)


@pytest.mark.promise("config-limits-and-policies")
async def test_limits_and_policies_of_the_file_hold_where_the_command_line_says_nothing(
    shell: Shell, tmp_path: Path, mail: str, waiting: str
) -> None:
    more = "[limits]\nbody_mib = 1\n[policies]\nallow_publish = false\n"
    file = crib_toml(tmp_path, mail, waiting, more)
    arguments: JsonObject = {"path": "x" * 1_100_000}
    async with shell.serving("--config", str(file)) as (url, _):
        assert await is_refused(url, arguments)
    async with shell.serving("--config", str(file), "--body-limit", "2") as (url, _):
        assert not await is_refused(url, arguments)


async def is_refused(url: str, arguments: JsonObject) -> bool:
    """Whether the endpoint refuses so large a request."""
    async with Crib(url) as crib:
        result = await crib.call("mail__send_letter", arguments)
        assert result.error is not None
        return "1,048,576" in result.error.message or "large" in result.error.message


@pytest.mark.promise("config-limits-and-policies")
async def test_the_stricter_address_policy_of_file_and_environment_holds(
    shell: Shell, tmp_path: Path
) -> None:
    more = '[policies]\nupstream_addresses = "lan"\n'
    file = tmp_path / "crib.toml"
    file.write_text('[sources.here]\nurl = "http://127.0.0.1:9/mcp"\n' + more)
    async with shell.serving("--config", str(file)):
        reason = ""
        with anyio.fail_after(60):
            while "this machine itself" not in reason:
                listed = await anyio.to_thread.run_sync(shell.spawn, "sources", "--json")
                reason = listed.document["sources"][0]["reason"]


def test_a_file_is_applied_before_standard_streams_are_served_and_watched_alone_only(
    shell: Shell, tmp_path: Path, mail: str, waiting: str
) -> None:
    file = str(crib_toml(tmp_path, mail, waiting))
    assert shell.run("serve", "--stdio", "--watch", "--config", file).code == 2
    done = shell.spawn("serve", "--stdio", "--no-attach", "--config", file)
    assert done.code == 0, done.err
    assert "add source mail, add source wait, add group office" in done.err
    assert [row["name"] for row in shell.run("sources", "--json").document["sources"]] == [
        "mail",
        "wait",
    ]
