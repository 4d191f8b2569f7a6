"""Two processes of the operating system keep one limit together."""

from __future__ import annotations

import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.adapters.stores.limited_crib import LEASE_SECONDS
from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.schema_version import migrate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.abc import Process

REPOSITORY = Path(__file__).parents[3]


def command(url: str, name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.adapters.stores.limited_crib", url, name, *arguments]


def prepared(url: str) -> str:
    database = open_database(url, Path())
    migrate(database)
    database.engine.dispose()
    return url


async def events(url: str, *arguments: str) -> list[tuple[float, int]]:
    """When calls of two processes began and ended, in order."""
    found: list[tuple[float, int]] = []

    async def run(name: str) -> None:
        done = await anyio.run_process(command(url, name, *arguments), cwd=REPOSITORY)
        lines = done.stdout.decode().split()
        found.extend((float(line[1:]), 1 if line[0] == "+" else -1) for line in lines)

    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "a")
            tasks.start_soon(run, "b")
    return sorted(found)


@asynccontextmanager
async def running(url: str, name: str, *arguments: str) -> AsyncIterator[Process]:
    async with await anyio.open_process(
        command(url, name, *arguments), cwd=REPOSITORY, stdout=PIPE
    ) as process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()


async def line_of(process: Process) -> str:
    assert process.stdout is not None
    with anyio.fail_after(60):
        line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 100)
    return line.decode()


@pytest.mark.promise("shared-cap")
async def test_two_processes_never_run_more_than_three_calls_together(database_url: str) -> None:
    found = await events(prepared(database_url), "max_concurrency=3", "20", "0.03")
    running_now = most = 0
    for _, change in found:
        running_now += change
        most = max(most, running_now)
    assert (most, len(found), running_now) == (3, 80, 0)


@pytest.mark.promise("shared-rate")
async def test_two_processes_begin_ten_calls_a_second_together(database_url: str) -> None:
    found = await events(prepared(database_url), "calls_per_second=10", "15", "0.0")
    begun = [moment for moment, change in found if change > 0]
    assert len(begun) == 30
    # Thirty calls at ten a second, the first one at once; what is too slow is the machine's affair.
    assert begun[-1] - begun[0] >= 29 / 10 - 0.15
    # One may begin at once, and each process may use a moment later the token that it fetched.
    in_a_second = [sum(start <= one < start + 1 for one in begun) for start in begun]
    assert max(in_a_second) <= 13


@pytest.mark.promise("shared-dead")
async def test_a_killed_process_frees_its_slots_when_its_lease_ends(database_url: str) -> None:
    url = prepared(database_url)
    async with running(url, "a", "max_concurrency=1", "1", "100") as first:
        await line_of(first)
        first.kill()
        killed = time.monotonic()
        async with running(url, "b", "max_concurrency=1", "1", "0") as second:
            began = float((await line_of(second))[1:])
    # It was renewed a tenth of its time before at the latest.
    assert began >= killed + LEASE_SECONDS * 0.7
