"""Clients that each start `toolcrib serve --stdio` on one home, as real processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.abc
import pytest

from tests.adapters.cli.clients import (
    MOST_SECONDS,
    client,
    ended,
    made,
    owner,
    socket_of,
    started_in_turn,
)
from tests.adapters.cli.running import Shell

if TYPE_CHECKING:
    from tests.adapters.cli.clients import Client
    from toolcrib_protocol.json_value import JsonObject


WHOLE: Final[JsonObject] = {"io.toolcrib/whole_results": True}
"""Large results come as they are, not as a handle."""


@pytest.mark.promise("attach-shared")
@pytest.mark.usefixtures("tools")
async def test_a_second_client_shares_the_crib_of_the_first_and_outlives_it(shell: Shell) -> None:
    async with client(shell) as first, client(shell) as second:
        await first.shake_hands()
        await second.shake_hands()
        crib = await first.crib()
        assert await second.crib() == crib
        first.process.kill()
        await first.process.wait()
        assert await second.crib() == crib
        assert await second.leave() == 0
    await ended(crib)
    await ended(owner(shell))
    assert not socket_of(shell).exists()


@pytest.mark.promise("attach-race")
@pytest.mark.usefixtures("tools")
async def test_of_ten_clients_started_at_once_exactly_one_starts_a_crib(shell: Shell) -> None:
    cribs: list[int] = []

    async def one(stack: AsyncExitStack) -> None:
        member = await stack.enter_async_context(client(shell))
        await member.shake_hands()
        cribs.append(await member.crib())
        cribs_done.set() if len(cribs) == 10 else None

    async def live() -> None:
        async with AsyncExitStack() as stack:
            await one(stack)
            await cribs_done.wait()

    cribs_done = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(live)
    assert len(cribs) == 10
    assert len(set(cribs)) == 1


@pytest.mark.promise("attach-takeover")
async def test_when_the_crib_is_killed_its_clients_go_on_and_no_call_is_repeated(
    shell: Shell, tools: Path, tmp_path: Path
) -> None:
    written, go_on = tmp_path / "written", tmp_path / "go on"
    async with client(shell) as old, client(shell) as other:
        await old.shake_hands()
        await other.shake_hands()
        before = await old.crib()
        assert await other.crib() == before
        arguments: JsonObject = {"path": str(written), "until": str(go_on)}
        call: JsonObject = {"name": "t__write_line", "arguments": arguments}
        await old.send({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": call})
        await made(written)
        os.kill(owner(shell), signal.SIGKILL)
        lost = await old.until(lambda message: message.get("id") == "w")
        assert lost["error"]["data"]["code"] == "outcome_unknown"
        assert "t__write_line" in lost["error"]["message"]
        go_on.touch()
        after = await old.crib()
        assert after != before
        assert await other.crib() == after
        assert {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"} in old.seen
    assert written.read_text() == "line\n"


@pytest.mark.promise("attach-keyed")
async def test_a_call_with_a_key_is_asked_again_when_the_crib_is_killed_and_made_once(
    shell: Shell, tools: Path, tmp_path: Path
) -> None:
    written, go_on = tmp_path / "written", tmp_path / "go on"
    async with client(shell) as member:
        await member.shake_hands()
        call: JsonObject = {
            "name": "t__write_line",
            "arguments": {"path": str(written), "until": str(go_on)},
            "_meta": {"io.toolcrib/idempotency_key": "k1"},
        }
        await member.send({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": call})
        await made(written)
        os.kill(owner(shell), signal.SIGKILL)
        go_on.touch()
        # The ledger answers: it was begun, and nobody saw its end.
        answer = await member.until(lambda message: message.get("id") == "w")
        assert "outcome_unknown" in json.dumps(answer)
        assert "the running crib ended" not in json.dumps(answer)
    assert written.read_text() == "line\n"


@pytest.mark.promise("attach-takeover")
@pytest.mark.usefixtures("tools")
async def test_a_client_of_the_newer_generation_keeps_its_subscription(
    shell: Shell, mail: str
) -> None:
    meta: JsonObject = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    wish: JsonObject = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    changed = "notifications/tools/list_changed"

    def is_told(message: JsonObject) -> bool:
        return message.get("method") == changed

    async with client(shell) as member:
        await member.send(
            {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": wish}
        )
        await member.until(lambda m: str(m.get("method")).endswith("acknowledged"))
        os.kill(owner(shell), signal.SIGKILL)
        told = await member.until(is_told)
        assert told["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": 7}
        await anyio.to_thread.run_sync(lambda: shell.spawn("add", "mail", "--snapshot", mail))
        await member.until(is_told)
        answer = await member.ask("tools/list", {"_meta": meta})
        assert "mail" in json.dumps(answer)
    acknowledged = [m for m in member.seen if str(m.get("method")).endswith("acknowledged")]
    assert len(acknowledged) == 1


@pytest.mark.promise("attach-takeover")
async def test_a_crib_that_is_told_to_end_answers_what_runs_first(
    shell: Shell, tools: Path, tmp_path: Path
) -> None:
    written, go_on = tmp_path / "written", tmp_path / "go on"
    async with client(shell) as member:
        await member.shake_hands()
        call: JsonObject = {
            "name": "t__write_line",
            "arguments": {"path": str(written), "until": str(go_on)},
        }
        await member.send({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": call})
        await made(written)
        first = owner(shell)
        os.kill(first, signal.SIGTERM)
        await member.send({"jsonrpc": "2.0", "id": "n", "method": "tools/call", "params": call})
        go_on.touch()
        answers = {}
        for _ in range(2):
            answer = await member.until(lambda message: message.get("id") in {"w", "n"})
            answers[answer["id"]] = answer["result"]["structuredContent"]["result"]
        assert answers == {"w": "written", "n": "written"}
        await ended(first)
        assert await member.crib() > 0
        assert owner(shell) != first
    assert written.read_text() == "line\nline\n"


@pytest.mark.promise("attach-stale-socket")
@pytest.mark.usefixtures("tools")
async def test_what_a_killed_crib_leaves_behind_is_no_obstacle(shell: Shell) -> None:
    async with client(shell) as member:
        await member.shake_hands()
        crib = owner(shell)
        member.process.kill()
        os.kill(crib, signal.SIGKILL)
        await ended(crib)
    assert socket_of(shell).is_socket()
    async with client(shell) as member:
        await member.shake_hands()
        assert await member.crib() > 0
    (shell.home / "crib.lock").write_text("no JSON")
    async with client(shell) as member:
        await member.shake_hands()


@pytest.mark.promise("attach-long-path")
async def test_a_home_whose_path_is_too_long_for_a_socket_is_shared_too(
    tmp_path: Path, mail: str
) -> None:
    home = tmp_path / ("deep" * 30) / "家"
    shell = Shell(home)
    assert shell.spawn("add", "mail", "--snapshot", mail).code == 0
    async with (
        client(shell, XDG_RUNTIME_DIR="/nonexistent", TMPDIR=str(tmp_path)) as first,
        client(shell) as second,
    ):
        await first.shake_hands()
        place = json.loads((home / "crib.lock").read_text())
        await second.shake_hands()
        assert owner(shell) == place["pid"]
        folder = Path(place["socket"]).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert not folder.is_relative_to(home)


@pytest.mark.promise("attach-environment")
async def test_a_client_with_another_environment_is_told_and_changes_nothing(
    shell: Shell, tmp_path: Path
) -> None:
    server = [sys.executable, "-m", "tests.fake_upstreams.line_server"]
    added = await anyio.to_thread.run_sync(
        lambda: shell.spawn(
            "add", "up", "--no-connect", "--env", "TOKEN=${PLACE_TOKEN}", "--", *server
        )
    )
    assert added.code == 0, added.err
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with started_in_turn(
        client(shell, cwd=elsewhere, PLACE_TOKEN="first secret"),
        client(shell, PLACE_TOKEN="second secret"),
        client(shell, PLACE_TOKEN="first secret"),
    ) as (first, second, third):
        assert Path(f"/proc/{owner(shell)}/cwd").resolve() == Path.home().resolve()
        for member in (first, second, third):
            await member.leave()
        said = [await member.told() for member in (first, second, third)]
    assert ["PLACE_TOKEN" in text for text in said] == [False, True, False]
    assert "--no-attach" in said[1]
    assert "secret" not in "".join(said)


@pytest.mark.promise("repeat-streams")
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("options", [(), ("--no-attach",)])
@pytest.mark.parametrize("generation", ["modern", "legacy"])
async def test_a_stream_is_one_conversation_in_which_repetitions_are_noticed(
    shell: Shell, tmp_path: Path, options: tuple[str, ...], generation: str
) -> None:
    envelope: JsonObject = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    more: JsonObject = {"_meta": envelope} if generation == "modern" else {}
    wrong: JsonObject = {"path": str(tmp_path / "nowhere" / "file")}

    async def taught(member: Client) -> list[bool]:
        if generation == "legacy":
            await member.shake_hands()
        asked: JsonObject = {"name": "t__write_line", "arguments": wrong, **more}
        answers = [await member.ask("tools/call", asked) for _ in range(3)]
        return ["repeated" in str(answer["result"]["_meta"]) for answer in answers]

    async with client(shell, *options) as one, client(shell, *options) as other:
        assert await taught(one) == [False, True, False]
        assert await taught(other) == [False, True, False]


@pytest.mark.promise("attach-alone")
@pytest.mark.usefixtures("tools")
async def test_a_client_can_have_a_crib_of_its_own(shell: Shell) -> None:
    async with client(shell) as shared, client(shell, "--no-attach") as alone:
        await shared.shake_hands()
        await alone.shake_hands()
        assert await shared.crib() != await alone.crib()
        assert await alone.leave() == 0


@pytest.mark.promise("attach-alone")
@pytest.mark.usefixtures("tools")
async def test_a_client_with_another_database_gets_a_crib_of_its_own(
    shell: Shell, tmp_path: Path
) -> None:
    other = Shell(shell.home, database=f"sqlite:///{tmp_path / 'other.db'}")
    async with started_in_turn(client(shell), client(other)) as (_shared, alone):
        assert (await alone.call("t__where"))["result"]["isError"] is True
        await alone.leave()
        assert "another database" in await alone.told()


@pytest.mark.promise("attach-lines")
@pytest.mark.usefixtures("tools")
async def test_large_and_odd_messages_pass_and_a_client_that_does_not_read_holds_up_nobody(
    shell: Shell,
) -> None:
    large = "é\u0000 😀" * 750_000
    async with client(shell) as lazy, client(shell) as member:
        await lazy.shake_hands()
        await member.shake_hands()
        for number in range(3):
            call: JsonObject = {"name": "t__repeat", "arguments": {"text": large}, "_meta": WHOLE}
            with anyio.move_on_after(5):
                await lazy.send(
                    {"jsonrpc": "2.0", "id": f"big{number}", "method": "tools/call", "params": call}
                )
        assert await member.crib() > 0
        answer = await member.ask("tools/call", call)
        assert answer["result"]["structuredContent"]["result"] == large
        assert member.process.stdin is not None
        await member.process.stdin.send(b"no JSON\n[1, 2]\n\n{}\n" + b"[" * 100_000 + b"\n")
        assert (await member.call("t__repeat", text="after all"))["id"] == member.number
        assert await member.leave() == 0


@pytest.mark.promise("attach-signal")
@pytest.mark.usefixtures("tools")
async def test_a_client_that_does_not_read_does_not_keep_its_bridge_from_ending(
    shell: Shell,
) -> None:
    async with client(shell) as lazy:
        await lazy.shake_hands()
        arguments: JsonObject = {"text": "x" * 5_000_000}
        call: JsonObject = {"name": "t__repeat", "arguments": arguments, "_meta": WHOLE}
        await lazy.send({"jsonrpc": "2.0", "id": "big", "method": "tools/call", "params": call})
        await anyio.to_thread.run_sync(lambda: shell.spawn("sources"))
        lazy.process.send_signal(signal.SIGTERM)
        with anyio.fail_after(MOST_SECONDS):
            assert await lazy.process.wait() == 0
    await ended(owner(shell))


async def test_a_crib_that_cannot_start_says_why(shell: Shell) -> None:
    shell.home.mkdir()
    (shell.home / "crib.db").write_text("no database at all, but long enough to look at" * 100)
    done = await anyio.to_thread.run_sync(lambda: shell.spawn("serve", "--stdio"))
    assert done.code == 4
    assert done.err.startswith("error: ")
    assert "crib.db" in done.err


async def test_something_else_on_the_socket_is_told_apart_and_strangers_get_nothing(
    shell: Shell, tools: Path
) -> None:
    async with client(shell) as member:
        await member.shake_hands()
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(str(socket_of(shell)))
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert stranger.recv(100) == b""
        assert await member.crib() > 0


@pytest.mark.promise("attach-options")
@pytest.mark.usefixtures("tools")
async def test_each_client_gets_the_endpoint_it_asks_for(shell: Shell) -> None:
    async with (
        client(shell) as plain,
        client(shell, "--group", "t") as group,
        client(shell, "--mode", "dynamic") as dynamic,
        client(shell, "--no-attach", "--group", "t") as alone,
    ):
        listed = []
        for member in (plain, group, dynamic, alone):
            await member.shake_hands()
            answer = await member.ask("tools/list")
            listed.append({tool["name"] for tool in answer["result"]["tools"]})
    own = {"where", "repeat", "write_line"}
    assert {f"t__{name}" for name in own} <= listed[0]
    assert listed[1] == listed[3] == own
    assert "search_tools" in listed[2]


@pytest.mark.promise("attach-options")
@pytest.mark.usefixtures("tools")
def test_an_endpoint_there_is_not_is_refused(shell: Shell) -> None:
    done = shell.spawn("serve", "--stdio", "-g", "tt")
    assert done.code == 1
    assert "did you mean t (/mcp/t)" in done.err


@pytest.mark.promise("attach-lines")
async def test_cancelling_progress_and_changed_lists_pass_through_a_bridge(shell: Shell) -> None:
    server = [sys.executable, "-m", "tests.fake_upstreams.line_server"]
    added = await anyio.to_thread.run_sync(lambda: shell.spawn("add", "up", "--", *server))
    assert added.code == 0, added.err
    async with client(shell, "--group", "up") as member, client(shell) as other:
        await member.shake_hands()
        await other.shake_hands()
        names = [tool["name"] for tool in (await member.ask("tools/list"))["result"]["tools"]]
        assert {"progress", "wait", "heard"} <= set(names), names
        call: JsonObject = {
            "name": "progress",
            "arguments": {"steps": 3},
            "_meta": {"progressToken": "p"},
        }
        await member.ask("tools/call", call)
        told: Any = [m["params"] for m in member.seen if str(m.get("method")).endswith("progress")]
        assert [(t["progressToken"], t["progress"]) for t in told] == [("p", 0), ("p", 1), ("p", 2)]
        wait: JsonObject = {"name": "wait", "arguments": {}}
        await member.send({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": wait})
        # A call that is cancelled before it has left is never heard of.
        while '"name": "wait"' not in json.dumps(await member.call("heard")):
            await anyio.lowlevel.checkpoint()
        cancel: JsonObject = {"requestId": "w", "reason": "enough"}
        await member.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
        heard = ""
        while "cancelled" not in heard:
            heard = json.dumps(await member.call("heard"))
        await member.call("add", name="new_one")
        await member.until(lambda m: m.get("method") == "notifications/tools/list_changed")
        await other.until(lambda m: m.get("method") == "notifications/tools/list_changed")
        assert all(message.get("id") != "w" for message in member.seen)
