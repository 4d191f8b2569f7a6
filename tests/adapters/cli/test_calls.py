"""`toolcrib calls`, `capture`, and `call --explain`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.adapters.cli.running import COMMAND
from tests.adapters.surfaces.doors import call_raw
from tests.docs_blocks import ROOT

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell
    from toolcrib_protocol.json_value import JsonObject

STOCK = str(ROOT / "examples" / "tools" / "stock_room.py")
CHECK = "stock-room/check_stock"
FOUR = '{"number": "BB-608", "count": "4"}'


@pytest.fixture
def stocked(shell: Shell) -> Shell:
    assert shell.run("add", "stock-room", "--python", STOCK).code == 0
    return shell


@pytest.mark.promise("cli-calls")
def test_calls_are_listed_by_what_is_asked_summed_up_and_shown_step_by_step(
    stocked: Shell,
) -> None:
    assert stocked.run("calls").err.startswith("no calls are recorded")
    assert stocked.run("call", CHECK, FOUR).code == 0
    refused = stocked.run("call", CHECK, '{"count": "x"}')
    assert refused.code == 1
    good, bad = stocked.run("calls", "--json").document["calls"]
    assert (good["tool"], good["status"], good["attempts"]) == (CHECK, "success", 1)
    assert (bad["code"], bad["attempts"]) == ("invalid_arguments", 0)
    assert "BB-608" not in stocked.run("calls", "--json").out
    only = stocked.run("calls", "--status", "failed", "--since", "5m", "--json").document["calls"]
    assert [call["id"] for call in only] == [bad["id"]]
    for narrowed in (("--tool", "a/b"), ("--caller", "ann"), ("--since", "2099-01-01")):
        assert stocked.run("calls", *narrowed, "--json").document == {"calls": []}
    assert bad["id"] in stocked.run("calls", "--source", "stock-room", "--limit", "1").out
    shown = stocked.run("calls", "show", good["id"]).out
    assert f"call       {good['id']}" in shown
    assert "repairs    /count" in shown
    assert "attempt" in shown
    document = stocked.run("calls", "show", good["id"], "--json").document
    assert [step["step"] for step in document["steps"]] == ["checked", "attempt", "outcome"]
    summed = stocked.run("calls", "stats", "--json").document["tools"]
    assert [(row["tool"], row["calls"], row["failed"]) for row in summed] == [(CHECK, 2, 1)]
    assert CHECK in stocked.run("calls", "stats", "--since", "1d").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("calls", "--since", "yesterday"), "15m"),
        (("calls", "--since", "999999999d"), "15m"),
        (("calls", "--status", "bad"), "cancelled"),
        (("calls", "show", "0000"), "no record"),
        (("capture", "start", "--scope", "mail"), "group:NAME"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_can(
    stocked: Shell, words: tuple[str, ...], told: str
) -> None:
    refused = stocked.run(*words)
    assert (refused.code, told in refused.err) == (1, True), refused.err
    assert "Traceback" not in refused.err


@pytest.mark.promise("cli-call-explain")
def test_call_explain_prints_the_path_beside_the_result(stocked: Shell) -> None:
    done = stocked.run("call", CHECK, FOUR, "--explain")
    assert (done.code, done.out.strip()) == (0, "true")
    assert "outcome    success" in done.err
    document = stocked.run("call", CHECK, FOUR, "--explain", "--json").document
    assert document["record"]["id"] == document["meta"]["io.toolcrib/call"]


@pytest.mark.promise("cli-capture")
def test_a_debug_session_captures_sealed_and_redacted_until_it_is_stopped(stocked: Shell) -> None:

    assert stocked.run("capture", "status").err == "nothing is captured\n"
    started = stocked.run("capture", "start", "--minutes", "5", "--json").document
    assert list(started["captures"]) == ["source:stock-room"]
    stocked.run("call", CHECK, '{"number": "BB-608", "count": 4, "password": "hunter2"}')
    (call,) = stocked.run("calls", "--json").document["calls"]
    raw = stocked.run("calls", "show", call["id"], "--raw", "--json").document["captured"]
    assert raw["arguments"]["value"]["number"] == "BB-608"
    assert raw["arguments"]["redacted"] == ["/password"]
    assert "delivered" in stocked.run("calls", "show", call["id"], "--raw").out
    with closing(sqlite3.connect(stocked.home / "crib.db")) as connection:
        ((body,),) = connection.execute("SELECT body FROM captures").fetchall()
    assert b"BB-608" not in body
    assert stocked.run("capture", "stop", "--json").document == {"captures": {}}
    stocked.run("call", CHECK, FOUR)
    (_, call) = stocked.run("calls", "--json").document["calls"]
    assert "nothing was captured" in stocked.run("calls", "show", call["id"], "--raw").err
    stocked.run("rules", "set", "group:stock-room", "capture=true")
    assert "always" in stocked.run("capture", "status").out


def test_there_is_nothing_to_capture_without_a_source(shell: Shell) -> None:
    assert "no source" in shell.run("capture", "start").err


@pytest.mark.promise("cli-calls-follow")
async def test_calls_are_followed_as_they_come(stocked: Shell) -> None:
    command = [*COMMAND, "calls", "--follow", "--json"]
    async with await anyio.open_process(command, env=stocked.environment) as process:
        assert process.stdout is not None
        await anyio.to_thread.run_sync(stocked.spawn, "call", CHECK, FOUR)
        with anyio.fail_after(60):
            line = await process.stdout.receive()
        process.terminate()
    assert json.loads(line)["tool"] == CHECK


@pytest.mark.promise("call-record-kill")
async def test_what_a_crib_recorded_is_seen_by_others_and_survives_that_it_is_killed(
    stocked: Shell,
) -> None:
    arguments: JsonObject = {"number": "BB-608", "count": 4}
    async with stocked.serving() as (url, process):
        answer = await call_raw(url, "stock-room__check_stock", arguments)
        meta = answer["_meta"]
        assert isinstance(meta, dict)
        show = ("calls", "show", str(meta["io.toolcrib/call"]), "--json")
        with anyio.fail_after(60):
            # Written by the process that serves, read by this one.
            while (await anyio.to_thread.run_sync(stocked.run, *show)).code != 0:
                await anyio.lowlevel.checkpoint()
        for _ in range(5):
            await call_raw(url, "stock-room__check_stock", arguments)
        process.kill()
        await process.wait()
    assert (await anyio.to_thread.run_sync(stocked.run, *show)).code == 0
    told = await anyio.to_thread.run_sync(stocked.run, "call", CHECK, FOUR, "--explain")
    assert "outcome    success" in told.err
