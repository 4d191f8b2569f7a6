"""`toolcrib serve` as a process, with other commands beside it on the same home."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest

from tests.adapters.cli.running import COMMAND, Finished, Shell
from toolcrib_client import Crib, NotPermitted, UnknownTool

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject

MOST_SECONDS = 60


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, shell: Shell) -> Shell:
    if request.param == "sqlite":
        return shell
    return Shell(shell.home, database=request.getfixturevalue("postgres_url"))


async def spawn(shell: Shell, *words: str) -> None:
    done = await anyio.to_thread.run_sync(lambda: shell.spawn(*words))
    assert done.code == 0, done.err


async def found(crib: Crib, query: str, reference: str) -> None:
    """Return once a search finds the tool."""
    with anyio.fail_after(MOST_SECONDS):
        while all(hit.reference != reference for hit in await crib.search(query)):
            pass


@pytest.mark.promise("cli-changes-take-effect")
async def test_what_another_command_adds_is_served_without_restart_or_a_dropped_call(
    home: Shell, waiting: str, mail: str, tmp_path: Path
) -> None:
    await spawn(home, "add", "slow", "--python", waiting)
    flag = tmp_path / "flag"
    async with home.serving() as (url, process), Crib(url) as crib:
        results = []

        async def call_slowly() -> None:
            wish: JsonObject = {"path": str(flag), "seconds": 600.0}
            results.append(await crib.call("slow/wait_for", wish, timeout_seconds=600))

        with anyio.fail_after(3 * MOST_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call_slowly)
                while not (tmp_path / "flag.waiting").exists():  # noqa: ASYNC110 - made by a process
                    await anyio.sleep(0.02)
                other = tmp_path / "other.py"
                other.write_text(OTHER)
                await spawn(home, "add", "other", "--python", str(other))
                await spawn(home, "add", "mail", "--snapshot", mail)
                await found(crib, "send a letter", "mail/send_letter@1.0.0")
                answered = await crib.call("other/double", {"number": 21})
                await spawn(home, "remove", "mail")
                await gone(crib, "mail/send_letter")
                assert not results
                flag.touch()
        assert answered.unwrap() == {"result": 42}
        assert results[0].unwrap() == {"result": "it is there"}
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(MOST_SECONDS):
            assert await process.wait() == 0


OTHER = '''
from toolcrib_protocol.function_tool import tool

@tool(read_only=True)
def double(number: int) -> int:
    """Double a number."""
    return 2 * number
'''


async def gone(crib: Crib, name: str) -> None:
    with anyio.fail_after(MOST_SECONDS):
        while True:
            error = (await crib.call(name)).error
            if error is not None and error.code in {"unknown_tool", "no_such_version"}:
                return


@pytest.mark.promise("cli-publish-stays")
async def test_what_is_published_to_a_running_crib_is_there_after_its_restart(
    shell: Shell, waiting: str, mail: str, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: plan_trip\ndescription: Plan a trip.\nversion: 1.2.0\n")
    async with shell.serving() as (url, _):
        await spawn(shell, "publish", waiting, "--to", url)
        await spawn(shell, "publish", str(plan), "--to", url, "--source", "plans")
        await spawn(shell, "publish", mail, "--to", url, "--source", "plans")
        await spawn(shell, "publish", str(plan), "--to", url, "--source", "plans")
    async with shell.serving() as (url, _), Crib(url) as crib:
        names = ["plans/plan_trip", "plans/send_letter", "waiting/fail"]
        assert [tool.reference for tool in await crib.describe(names)] == [
            "plans/plan_trip@1.2.0",
            "plans/send_letter@1.0.0",
            "waiting/fail@1.0.0",
        ]


async def test_publications_can_be_refused(shell: Shell, mail: str, tmp_path: Path) -> None:
    async with shell.serving("--no-publish") as (url, _):
        done = await anyio.to_thread.run_sync(lambda: shell.spawn("publish", mail, "--to", url))
        assert (done.code, "--allow-publish" in done.err) == (1, True)
        async with Crib(url) as crib:
            with pytest.raises(NotPermitted):
                await crib.publish(mail)
    odd = tmp_path / "odd.json"
    odd.write_text("[7]")

    def publish_nowhere(path: str) -> Finished:
        return shell.spawn("publish", path, "--to", "http://127.0.0.1:1/mcp")

    refused = await anyio.to_thread.run_sync(publish_nowhere, str(odd))
    assert (refused.code, "7 is no tool" in refused.err) == (1, True)
    away = await anyio.to_thread.run_sync(publish_nowhere, mail)
    assert away.code in {1, 3}
    assert away.err.startswith("error: ")


@pytest.mark.promise("cli-serve-stdio")
async def test_a_client_starts_the_crib_itself_over_standard_streams(
    shell: Shell, mail: str
) -> None:
    await spawn(shell, "add", "mail", "--snapshot", mail)
    command = [
        "env",
        *(f"{k}={v}" for k, v in shell.environment.items() if k.startswith("TOOLCRIB_")),
    ]
    async with Crib([*command, *COMMAND, "serve", "--stdio"]) as crib:
        hits = await crib.search("send a letter")
        assert next(iter(hits)).reference == "mail/send_letter@1.0.0"
        with pytest.raises(UnknownTool):
            (await crib.call("mail/send_leter")).unwrap()


@pytest.mark.promise("cli-serve-stdio")
async def test_the_end_of_the_input_ends_it(shell: Shell) -> None:
    command = [*COMMAND, "serve", "--stdio"]
    with anyio.fail_after(MOST_SECONDS):
        done = await anyio.run_process(command, input=b"", env=shell.environment, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"0 tools of 0 sources on standard input and output" in done.stderr


@pytest.mark.promise("cli-no-traceback")
async def test_a_port_in_use_is_named_and_what_to_do(shell: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = await anyio.to_thread.run_sync(lambda: shell.spawn("serve", "--port", port))
    assert (done.code, f"port {port}" in done.err, "--port" in done.err) == (1, True, True)
    assert "Traceback" not in done.err


async def test_ctrl_c_ends_it_as_asked(shell: Shell) -> None:
    async with shell.serving() as (_, process):
        process.send_signal(signal.SIGINT)
        with anyio.fail_after(MOST_SECONDS):
            assert await process.wait() == 0


@pytest.mark.promise("cli-no-traceback")
def test_a_newer_database_is_refused_and_left_alone(shell: Shell) -> None:
    import sqlite3

    shell.run("tools")
    with sqlite3.connect(shell.home / "crib.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    done = shell.run("tools")
    assert done.code in {1, 4}
    assert "newer" in done.err


@pytest.mark.promise("cli-demo-offline")
def test_the_demo_goes_on_with_what_there_is(shell: Shell, tmp_path: Path) -> None:
    done = shell.spawn("demo", "--offline", "--folder", str(tmp_path / "demo"))
    assert done.code == 0, done.err + done.out
    assert "demo/amount_in_capitals" in done.out
    assert "贰万零贰佰陆拾元整" in done.out
    assert "tokens" in done.out
    assert not shell.home.exists()
    config = json.loads((tmp_path / "demo" / "mcp.json").read_text())
    assert config == {"mcpServers": {}}
    assert subprocess.run(["git", "--version"], check=False, capture_output=True).returncode == 0


@pytest.mark.promise("edge-readiness")
@pytest.mark.promise("edge-numbers")
async def test_a_served_crib_tells_its_readiness_its_numbers_and_its_public_address(
    shell: Shell, waiting: str
) -> None:
    await spawn(shell, "add", "slow", "--python", waiting)
    options = ("--public-url", "https://crib.example.org", "--trusted-proxy", "127.0.0.1")
    async with shell.serving(*options) as (url, _), Crib(url) as crib, httpx2.AsyncClient() as http:
        with anyio.fail_after(MOST_SECONDS):
            while not (await http.get(url.replace("/mcp", "/readyz"))).json()["ready"]:
                pass
        await crib.call("slow/no_such_tool")
        numbers = (await http.get(url.replace("/mcp", "/metrics"))).text.splitlines()
        proxied = {"host": "inner", "x-forwarded-host": "crib.example.org"}
        named = await http.get(url.replace("/mcp", "/readyz"), headers=proxied)
    assert 'toolcrib_sources{state="ready"} 1.0' in numbers
    assert 'toolcrib_calls_total{source="",status="fatal_error"} 1.0' in numbers
    assert named.status_code == 200
