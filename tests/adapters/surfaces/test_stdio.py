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


async def messages_until(process: anyio.abc.Process, number: int) -> list[JsonObject]:
    """The first `number` messages that the process writes."""
    assert process.stdout is not None
    written = b""
    while written.count(b"\n") < number:
        written += await process.stdout.receive()
    return [json.loads(line) for line in written.splitlines()]


def meet(company: int, tag: str) -> JsonObject:
    return {"name": "play__meet", "arguments": {"company": company, "tag": tag}}


def tag_of(message: JsonObject) -> object:
    result = message["result"]
    assert isinstance(result, dict)
    structured = result["structuredContent"]
    assert isinstance(structured, dict)
    return structured["tag"]


@pytest.mark.promise("field-o24-duplicate-ids")
async def test_an_id_in_flight_is_refused_and_one_that_looks_alike_is_another() -> None:
    async with crib_process() as process:
        await send(process, raw_request("tools/call", meet(2, "A"), 1))
        await send(process, raw_request("tools/call", meet(2, "B"), 1))
        twin: JsonObject = {**raw_request("tools/call", meet(2, "C")), "id": "1"}
        await send(process, twin)
        refusal, *answers = await messages_until(process, 3)
        assert refusal["id"] is None
        assert "the id 1 still runs" in json.dumps(refusal["error"])
        assert {(type(a["id"]), tag_of(a)) for a in answers} == {(int, "A"), (str, "C")}
        # What was answered may be used again.
        await send(process, raw_request("tools/call", meet(1, "D"), 1))
        assert [tag_of(a) for a in await messages_until(process, 1)] == ["D"]


@pytest.mark.promise("field-o24-duplicate-ids")
async def test_an_id_that_was_cancelled_may_be_used_again() -> None:
    async with crib_process() as process:
        await send(process, raw_request("tools/call", {"name": "play__hang", "arguments": {}}, 1))
        assert process.stderr is not None
        while b"hanging" not in await process.stderr.receive():
            pass
        params: JsonObject = {"requestId": 1}
        cancel: JsonObject = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": params,
        }
        await send(process, cancel)
        await send(process, raw_request("tools/call", meet(1, "again"), 1))
        assert [tag_of(a) for a in await messages_until(process, 1)] == ["again"]


@pytest.mark.promise("edge-drain")
async def test_a_call_that_runs_when_the_signal_comes_is_answered_before_the_end() -> None:
    async with crib_process() as process:
        await send(process, raw_request("tools/call", {"name": "play__hang", "arguments": {}}, 7))
        assert process.stderr is not None
        while b"hanging" not in await process.stderr.receive():
            pass
        process.send_signal(signal.SIGTERM)
        [answer] = await messages_until(process, 1)
        assert answer["id"] == 7
        assert "outcome_unknown" in json.dumps(answer)
        assert b"Traceback" not in await everything(process.stderr)
        assert await process.wait() == 0


@pytest.mark.promise("stdio-lines-answered")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"jsonrpc":"2.0","id":1,', -32700),
        ("no JSON at all", -32700),
        ('{"a":"\\ud800"}', -32700),
        ("[" * 5_000, -32700),
        ("[]", -32600),
        ("{}", -32600),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
        ('{"jsonrpc":"2.0","method":"ping","id":true}', -32600),
        ('{"jsonrpc":"2.0","id":{"n":1},"method":"ping"}', -32600),
    ],
)
async def test_a_line_that_is_no_message_is_answered_as_such(line: str, code: int) -> None:
    async with crib_process() as process:
        assert process.stdin is not None
        await process.stdin.send(f"\n  \n{line}\n".encode())
        inside: JsonObject = {"name": "play__echo", "arguments": {"id": 1.5, "method": "x"}}
        await send(process, raw_request("tools/call", inside, 7))
        refusal, answer = await messages_until(process, 2)
        error = refusal["error"]
        assert isinstance(error, dict)
        assert (refusal["id"], error["code"]) == (None, code)
        assert answer["id"] == 7
        assert "result" in answer


@pytest.mark.promise("stdio-capacity")
async def test_more_requests_than_may_run_at_once_are_refused_until_one_is_answered() -> None:
    async with crib_process() as process:
        for number in range(100):
            await send(process, raw_request("tools/call", meet(101, "x"), number))
        for number in (100, 101):
            await send(process, raw_request("tools/list", {}, number))
        for refusal in await messages_until(process, 2):
            assert refusal["id"] in {100, 101}
            assert "100 requests of this connection run already" in json.dumps(refusal["error"])
        cancelled: JsonObject = {"requestId": 5}
        notice: JsonObject = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        await send(process, {**notice, "params": cancelled})
        await send(process, raw_request("tools/list", {}, 102))
        [answer] = await messages_until(process, 1)
        assert answer["id"] == 102
        assert "result" in answer
