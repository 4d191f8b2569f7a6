"""The worker processes of a target: how many there are, and when they end."""

from __future__ import annotations

import fcntl
import os
import sys
import textwrap
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.adapters.sources.python_functions.desk import write
from toolcrib_adapters.sources.python_functions.pool import Pool, PoolLimits
from toolcrib_adapters.sources.python_functions.worker_process import WorkerSettings
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

CODE = """
    import os, pathlib
    kept = []

    @tool
    def pid() -> int:
        return os.getpid()

    @tool
    def read(note: str) -> int:
        pathlib.Path(note).read_text()
        return os.getpid()

    @tool
    async def grow(megabytes: int) -> int:
        kept.append(b"x" * (megabytes * 1024 * 1024))
        return os.getpid()
"""


@asynccontextmanager
async def pool_of(
    folder: Path, code: str, limits: PoolLimits, load_seconds: float = 60.0
) -> AsyncIterator[Pool]:
    write(folder / "a.py", code)
    settings = WorkerSettings(
        source="desk",
        target=str(folder / "a.py"),
        group="desk",
        folder=folder,
        environment=dict(os.environ),
        load_seconds=load_seconds,
    )
    async with anyio.create_task_group() as tasks:
        yield Pool(settings, tasks, limits)
        tasks.cancel_scope.cancel()


async def pid_of(pool: Pool) -> object:
    return (await pool.call_sync("pid", {}, 30)).data


async def test_processes_without_work_are_let_go_except_the_last(tmp_path: Path) -> None:
    note = tmp_path / "note"
    os.mkfifo(note)
    async with pool_of(tmp_path, CODE, PoolLimits(idle_seconds=0)) as pool:
        first = await pool.first()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: pool.call_sync("read", {"note": str(note)}, 30))
            with await anyio.to_thread.run_sync(lambda: note.open("w")):
                second = await pid_of(pool)
        pool.tidy()
        # The first worker came back last, so it is the one that stays.
        assert first.is_running
        assert await pid_of(pool) != second


async def test_processes_are_kept_while_their_idle_time_is_not_over(tmp_path: Path) -> None:
    async with pool_of(tmp_path, CODE, PoolLimits(idle_seconds=1_000)) as pool:
        await pool.first()
        before = await pid_of(pool)
        pool.tidy()
        assert await pid_of(pool) == before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the peak is known")
async def test_the_shared_process_is_replaced_when_it_keeps_too_much(tmp_path: Path) -> None:
    async with pool_of(tmp_path, CODE, PoolLimits(kept_bytes=120 * 1024**2)) as pool:
        small = (await pool.call_async("grow", {"megabytes": 1}, 30)).data
        assert (await pool.call_async("grow", {"megabytes": 130}, 30)).data == small
        assert (await pool.call_async("grow", {"megabytes": 1}, 30)).data != small


async def test_a_target_that_never_loads_is_given_up(tmp_path: Path) -> None:
    async with pool_of(tmp_path, "while True: pass", PoolLimits(), load_seconds=0.5) as pool:
        worker = await pool.first()
        assert worker.failure is not None
        assert "it did not load within 0.5 s" in worker.failure


async def test_a_call_that_cannot_wait_for_a_slow_start_was_not_started(tmp_path: Path) -> None:
    gate = (tmp_path / "gate").open("w")
    fcntl.flock(gate, fcntl.LOCK_EX)
    wait = f"import fcntl; fcntl.flock(open({gate.name!r}), fcntl.LOCK_SH)\n"
    async with pool_of(tmp_path, wait + textwrap.dedent(CODE), PoolLimits()) as pool:
        for call in (pool.call_sync, pool.call_async):
            with pytest.raises(ToolError, match="still loading") as caught:
                await call("pid", {}, 0.1)
            assert caught.value.code == SOURCE_UNAVAILABLE
        gate.close()
        # Both processes that were started for these calls went on loading, and are used.
        assert await pid_of(pool) is not None
        assert (await pool.call_async("grow", {"megabytes": 1}, 30)).data is not None


async def test_a_target_that_broke_since_it_was_loaded_refuses_with_the_reason(
    tmp_path: Path,
) -> None:
    async with pool_of(tmp_path, CODE, PoolLimits()) as pool:
        await pool.first()
        write(tmp_path / "a.py", "def f(:")
        with pytest.raises(ToolError, match="SyntaxError") as caught:
            await pool.call_async("grow", {"megabytes": 1}, 30)
        assert caught.value.code == SOURCE_UNAVAILABLE
        assert await pid_of(pool) is not None


async def test_a_retired_pool_ends_its_processes_and_starts_no_call(tmp_path: Path) -> None:
    async with pool_of(tmp_path, CODE, PoolLimits()) as pool:
        worker = await pool.first()
        pool.retire()
        assert not worker.is_running
        with pytest.raises(ToolError, match="was not started"):
            await worker.call("pid", {})
