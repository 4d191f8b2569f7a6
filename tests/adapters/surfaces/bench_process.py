"""A crib over a playground in a process of its own: `python -m
tests.adapters.surfaces.bench_process stdio|http`.
"""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.abc

from tests.adapters.surfaces.bench import Bench
from toolcrib_adapters.surfaces.edge.edge import Backstage
from toolcrib_adapters.surfaces.http_app import HttpSettings, serve_http
from toolcrib_adapters.surfaces.stdio import serve_stdio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def said_goodbye() -> AsyncIterator[None]:
    """Says on standard error that what was opened is closed again."""
    try:
        yield
    finally:
        print("closed everything", file=sys.stderr, flush=True)


async def serve(transport: str) -> None:
    bench = await Bench.open()
    async with said_goodbye(), anyio.create_task_group() as tasks:
        tasks.start_soon(announce_hanging, bench)
        if transport == "stdio":
            await serve_stdio(bench.server(), bench.calls.interrupt)
        else:
            await serve_http(
                bench.server(),
                HttpSettings(port=0, drain_seconds=0.1),
                backstage=Backstage(bench.calls.interrupt),
                task_status=Announcement(),
            )
        tasks.cancel_scope.cancel()


async def announce_hanging(bench: Bench) -> None:
    await bench.playground.hanging.wait()
    print("hanging", file=sys.stderr, flush=True)


class Announcement(anyio.abc.TaskStatus[str]):
    """Prints the URL for the process that started this one."""

    def started(self, value: str | None = None) -> None:
        print(value, file=sys.stderr, flush=True)


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1])
