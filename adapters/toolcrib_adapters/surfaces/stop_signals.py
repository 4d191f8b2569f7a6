"""Ends a server when the process is told to end, in time to close what it opened.

Uvicorn and the SDK would let the signal kill the process before sources and their processes are
ended.
"""

from __future__ import annotations

import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.abc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def stop_signals() -> AsyncIterator[anyio.Event]:
    """An event, set at the first SIGTERM or SIGINT; a second one ends the process at once."""
    stop = anyio.Event()

    async def watch(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                stop.set()
                break

    async with anyio.create_task_group() as tasks:
        await tasks.start(watch)
        yield stop
        tasks.cancel_scope.cancel()
