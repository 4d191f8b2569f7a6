"""Several operating-system processes on one database, SQLite and PostgreSQL."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.adapters.stores.opening import sql_store
from tests.adapters.stores.registrar import BATCH, batch
from tests.registry.samples import source
from toolcrib_adapters.stores.sql import notices
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import PutSource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.abc import Process

    from toolcrib_adapters.stores.sql import SqlStore
    from toolcrib_registry.snapshot import Snapshot

REPOSITORY = Path(__file__).parents[3]
REGISTRAR = [sys.executable, "-m", "tests.adapters.stores.registrar"]


async def run(url: str, *arguments: str) -> str:
    """What a process that did its work said; its failure is the test's."""
    command = [*REGISTRAR, url, *arguments]
    done = await anyio.run_process(command, cwd=REPOSITORY, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@asynccontextmanager
async def running(url: str, *arguments: str) -> AsyncIterator[Process]:
    """A process that works while the block runs."""
    command = [*REGISTRAR, url, *arguments]
    async with await anyio.open_process(command, cwd=REPOSITORY, stdout=PIPE) as process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[SqlStore]:
    store = sql_store(url, Path())
    yield store
    await store.aclose()


async def until_revision(catalogue: Catalogue, revision: int) -> None:
    while catalogue.snapshot.revision < revision:
        await catalogue.store.wait_changed(catalogue.snapshot.revision, timeout_seconds=60)
        await catalogue.refresh()


@pytest.mark.promise("store-many-processes")
async def test_four_processes_register_200_tools_each_and_a_follower_agrees(
    database_url: str,
) -> None:
    # The groups are chosen so that two and two spell the same published names.
    spellings = [("a.b", "t"), ("a_b", "t"), ("c", "d.t"), ("c", "d_t")]
    async with opened(database_url) as store:
        catalogue = await Catalogue.open(store)
        with anyio.fail_after(240):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(until_revision, catalogue, 800)
                for group, prefix in spellings:
                    tasks.start_soon(run, database_url, "register", group, prefix, "200")
        stored = await store.snapshot()

    assert len(stored.tools) == len(stored.by_published_name) == 800
    assert len(list(stored.live_tools())) == 800
    assert catalogue.snapshot == stored


def is_whole(snapshot: Snapshot) -> bool:
    """Whether each batch that is there is there with everything."""
    live = {record.tool for record in snapshot.live_tools()}
    groups = [tool.group for tool in live]
    return len(live) == len(snapshot.tools) and all(
        groups.count(name) == BATCH for name in [*snapshot.sources, *set(groups)]
    )


@pytest.mark.promise("store-all-or-nothing")
async def test_a_process_killed_while_it_commits_leaves_whole_commits_only(
    database_url: str,
) -> None:
    async with opened(database_url) as store:
        catalogue = await Catalogue.open(store)
        for round_ in range(3):
            with anyio.fail_after(120):
                async with running(database_url, "batches") as process:
                    await until_revision(catalogue, catalogue.snapshot.revision + 3 + round_)
                    process.kill()
        stored = await store.snapshot()
        after = await catalogue.change(lambda snapshot: batch(snapshot, 1_000_000))

    assert len(stored.sources) >= 3
    assert is_whole(stored)
    assert len(after.tools) == len(stored.tools) + BATCH


@pytest.mark.promise("store-change-seen-in-time")
async def test_a_waiting_process_sees_the_commit_of_another(
    database_url: str,
) -> None:
    async with opened(database_url) as store:
        with anyio.fail_after(60):
            async with running(database_url, "wait") as process:
                assert process.stdout is not None
                said = BufferedByteReceiveStream(process.stdout)
                assert await said.receive_until(b"\n", 100) == b"waiting"
                await store.commit([PutSource(source())], 0)
                assert await said.receive_until(b"\n", 100) == b"1"

    assert notices.POLL_SECONDS <= 0.25


@pytest.mark.promise("store-concurrent-start")
async def test_processes_that_start_at_once_on_an_empty_home_all_succeed(
    database_url: str,
) -> None:
    said: list[str] = []

    async def start() -> None:
        said.append(await run(database_url, "open"))

    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(start)

    assert said == ["0"] * 6
