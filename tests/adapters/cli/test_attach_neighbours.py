"""A shared crib beside `toolcrib serve` over HTTP and `toolcrib call`."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import pytest

from tests.adapters.cli.clients import MOST_SECONDS, client, made, owner
from tests.adapters.cli.running import COMMAND, Shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.promise("attach-http")
@pytest.mark.usefixtures("tools")
async def test_a_crib_that_serves_http_takes_the_clients_of_one_that_they_started(
    shell: Shell,
) -> None:
    async with client(shell) as member:
        await member.shake_hands()
        before = await member.crib()
        async with shell.serving() as (_url, process):
            after = await member.crib()
            assert after != before
            assert owner(shell) == process.pid
            done = await anyio.to_thread.run_sync(lambda: shell.spawn("call", "t/where"))
            assert done.out.split()[0] == str(after)
            process.send_signal(signal.SIGTERM)
            with anyio.fail_after(MOST_SECONDS):
                assert await process.wait() == 0
        assert await member.crib() not in {before, after}


@pytest.mark.promise("attach-http")
@pytest.mark.usefixtures("tools")
async def test_a_port_that_is_taken_costs_the_clients_nothing(shell: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        async with client(shell) as member:
            await member.shake_hands()
            before = owner(shell)
            done = await anyio.to_thread.run_sync(lambda: shell.spawn("serve", "--port", port))
            assert (done.code, port in done.err) == (1, True)
            assert await member.crib() > 0
            assert owner(shell) == before


@pytest.mark.promise("attach-http")
@pytest.mark.usefixtures("tools")
async def test_a_second_crib_over_http_runs_beside_the_first_and_says_so(shell: Shell) -> None:
    async with shell.serving() as (url, first), shell.serving() as (other, _second):
        assert url != other
        assert owner(shell) == first.pid


@pytest.mark.promise("attach-http")
async def test_a_call_of_the_command_line_is_honest_about_the_crib_that_made_it(
    shell: Shell, tools: Path, tmp_path: Path
) -> None:
    written = tmp_path / "written"
    given = json.dumps({"path": str(written), "until": str(tmp_path / "never")})
    async with client(shell) as member:
        await member.shake_hands()
        crib = str(await member.crib())
        own = await anyio.to_thread.run_sync(lambda: shell.spawn("call", "t/where", "--no-attach"))
        assert own.out.split()[0] != crib
        odd = await anyio.to_thread.run_sync(lambda: shell.spawn("call", "t/repeat", '{"no": 1}'))
        assert (odd.code, "text" in odd.err) == (1, True)
        command = [*COMMAND, "call", "t/write_line", given]
        async with await anyio.open_process(command, env=shell.environment) as process:
            await made(written)
            os.kill(owner(shell), signal.SIGKILL)
            with anyio.fail_after(MOST_SECONDS):
                assert await process.wait() == 4
            assert process.stderr is not None
            assert b"may have been carried out" in await process.stderr.receive()
    assert written.read_text() == "line\n"


@pytest.mark.promise("attach-environment")
async def test_a_call_with_other_variables_than_the_cribs_is_made_without_it(shell: Shell) -> None:
    server = [sys.executable, "-m", "tests.fake_upstreams.line_server"]
    words = ["add", "up", "--no-connect", "--env", "PLACE=${PLACE_TOKEN}", "--", *server]
    await anyio.to_thread.run_sync(lambda: shell.spawn(*words))

    async def place(value: str) -> tuple[str, str]:
        done = await anyio.run_process(
            [*COMMAND, "call", "up/environment"],
            env={**shell.environment, "PLACE_TOKEN": value},
            check=False,
        )
        return done.stdout.decode(), done.stderr.decode()

    async with client(shell, PLACE_TOKEN="first secret") as member:
        await member.shake_hands()
        while "unknown" in (await place("first secret"))[1]:
            pass  # until the crib has listed its tools
        out, said = await place("first secret")
        assert '"PLACE": "first secret"' in out
        assert said == ""
        out, said = await place("second secret")
        assert '"PLACE": "second secret"' in out
        assert "PLACE_TOKEN" in said
        assert "secret" not in said
