"""Standard input and output as a client program meets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import pytest

from tests.adapters.surfaces.doors import raw_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject

COMMAND = [sys.executable, "-m", "tests.adapters.surfaces.bench_process", "stdio"]


@asynccontextmanager
async def crib_process() -> AsyncIterator[anyio.abc.Process]:
    async with await anyio.open_process(
        COMMAND, stderr=subprocess.PIPE, env=dict(os.environ)
    ) as process:
        try:
            with anyio.fail_after(90):
                yield process
        finally:
            if process.returncode is None:
                process.kill()


async def send(process: anyio.abc.Process, message: JsonObject) -> None:
    assert process.stdin is not None
    await process.stdin.send(json.dumps(message).encode() + b"\n")


async def everything(stream: anyio.abc.ByteReceiveStream | None) -> bytes:
    assert stream is not None
    return b"".join([chunk async for chunk in stream])


@pytest.mark.promise("surface-stdio-clean")
async def test_standard_output_carries_the_protocol_and_nothing_else() -> None:
    call: JsonObject = {"name": "play__print", "arguments": {"id": 9007199254740993}}
    async with crib_process() as process:
        await send(process, raw_request("tools/call", call))
        assert process.stdout is not None
        first = await process.stdout.receive()
        assert process.stdin is not None
        await process.stdin.aclose()
        written = first + await everything(process.stdout)
        told = await everything(process.stderr)
        assert await process.wait() == 0
    messages = [json.loads(line) for line in written.splitlines()]
    assert [message["result"]["structuredContent"] for message in messages] == [call["arguments"]]
    assert b"printed by a tool" in told


@pytest.mark.promise("surface-ends-gracefully")
async def test_it_ends_when_its_input_ends_with_everything_closed() -> None:
    async with crib_process() as process:
        assert process.stdin is not None
        await process.stdin.aclose()
        assert await everything(process.stdout) == b""
        assert b"closed everything" in await everything(process.stderr)
        assert await process.wait() == 0


async def test_a_message_may_arrive_in_pieces() -> None:
    async with crib_process() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        request = json.dumps(raw_request("tools/list", {})).encode() + b"\n"
        for piece in (request[:40], request[40:90], request[90:]):
            await process.stdin.send(piece)
        assert b"search_tools" in await process.stdout.receive()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.promise("surface-ends-gracefully")
async def test_a_signal_ends_it_while_its_input_stays_open(signum: signal.Signals) -> None:
    async with crib_process() as process:
        await send(process, raw_request("tools/call", {"name": "play__hang", "arguments": {}}))
        assert process.stderr is not None
        while b"hanging" not in await process.stderr.receive():
            pass
        process.send_signal(signum)
        assert b"closed everything" in await everything(process.stderr)
        assert await process.wait() == 0


async def test_input_from_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    requests = tmp_path / "requests.jsonl"
    requests.write_text(json.dumps(raw_request("tools/list", {})) + "\n")
    with requests.open("rb") as stdin, anyio.fail_after(90):
        done = await anyio.run_process(COMMAND, stdin=stdin, env=dict(os.environ))
    assert b"closed everything" in done.stderr
