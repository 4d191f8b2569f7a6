"""The HTTP endpoint as an operator meets it: addresses, hosts, sessions, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import httpx2
import pytest
from mcp.client.client import Client

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import MODERN, call_raw, over_http, post, raw_request
from toolcrib_adapters.surfaces.edge.hosts import is_loopback
from toolcrib_adapters.surfaces.http_app import HttpSettings, serve_http
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_protocol.json_value import JsonObject


@asynccontextmanager
async def crib_process() -> AsyncIterator[tuple[anyio.abc.Process, str, AsyncIterator[str]]]:
    """A process that serves HTTP: itself, its URL, and the lines it writes after that."""
    command = [sys.executable, "-m", "tests.adapters.surfaces.bench_process", "http"]
    async with await anyio.open_process(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ)
    ) as process:
        lines = lines_of(process)
        try:
            with anyio.fail_after(90):
                yield process, await anext(lines), lines
        finally:
            if process.returncode is None:
                process.kill()


async def lines_of(process: anyio.abc.Process) -> AsyncIterator[str]:
    assert process.stderr is not None
    pending = ""
    async for chunk in process.stderr:
        *lines, pending = (pending + chunk.decode()).split("\n")
        for line in lines:
            yield line


async def test_it_says_that_it_is_alive() -> None:
    bench = await Bench.open()
    async with over_http(bench.server()) as url, httpx2.AsyncClient() as http:
        response = await http.get(url.replace("/mcp", "/livez"))
    assert (response.status_code, response.text) == (200, "ok")


@pytest.mark.promise("surface-http-address")
async def test_a_taken_port_is_refused_with_what_to_do() -> None:
    bench = await Bench.open()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            ToolError, match=f"port {port} on 127.0.0.1 is in use.*--port"
        ) as refusal:
            await serve_http(bench.server(), HttpSettings(port=port), stop=anyio.Event())
    assert refusal.value.code == "invalid_settings"


async def test_an_address_of_another_machine_is_refused_with_what_to_do() -> None:
    bench = await Bench.open()
    with pytest.raises(ToolError, match=r"cannot listen on 192\.0\.2\.1:0: .*--host"):
        await serve_http(bench.server(), HttpSettings("192.0.2.1", 0), stop=anyio.Event())


async def test_a_name_that_does_not_resolve_is_refused_with_what_to_do() -> None:
    bench = await Bench.open()
    with pytest.raises(ToolError, match=r"cannot listen on no\.such\.name\.invalid:0: .*--host"):
        await serve_http(
            bench.server(), HttpSettings("no.such.name.invalid", 0), stop=anyio.Event()
        )


@pytest.mark.promise("surface-ends-gracefully")
async def test_when_it_ends_running_calls_finish_and_new_ones_are_turned_away() -> None:
    bench = await Bench.open()
    stop = anyio.Event()
    answers: list[JsonObject] = []

    async def serve(*, task_status: anyio.abc.TaskStatus[str]) -> None:
        settings = HttpSettings(port=0, drain_seconds=20)
        await serve_http(bench.server(), settings, stop=stop, task_status=task_status)

    with anyio.fail_after(90):
        async with anyio.create_task_group() as tasks, httpx2.AsyncClient() as http:
            url: str = await tasks.start(serve)

            async def meet() -> None:
                answers.append(await call_raw(url, "play__meet", {"company": 2}))

            tasks.start_soon(meet)
            while not bench.playground.arrived:
                await anyio.lowlevel.checkpoint()
            stop.set()
            while (await http.get(url.replace("/mcp", "/readyz"))).status_code != 503:
                pass
            refused = await post(http, url, raw_request("tools/list", {}))
            bench.playground.meeting.set()
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "2"
    assert answers[0]["structuredContent"] == {"company": 2}


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.promise("surface-ends-gracefully")
async def test_a_signal_ends_the_process_with_everything_closed(signum: signal.Signals) -> None:
    async with crib_process() as (process, url, lines), Client(url, mode="legacy") as client:
        result = await client.call_tool("play__echo", {"pid": 1})
        assert result.structured_content == {"pid": 1}
        process.send_signal(signum)
        assert [line async for line in lines][-1] == "closed everything"
        assert await process.wait() == 0


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("192.168.1.4", False),
        ("crib.example.org", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, is_local: bool) -> None:
    assert is_loopback(host) is is_local


@pytest.mark.promise("surface-both-generations")
async def test_both_generations_share_one_address() -> None:
    bench = await Bench.open()
    async with (
        over_http(bench.server()) as url,
        Client(url, mode=MODERN) as modern,
        Client(url, mode="legacy") as legacy,
    ):
        answers = [await client.call_tool("play__echo", {"a": 1}) for client in (modern, legacy)]
        assert legacy.protocol_version == "2025-11-25"
    assert [answer.structured_content for answer in answers] == [{"a": 1}, {"a": 1}]
