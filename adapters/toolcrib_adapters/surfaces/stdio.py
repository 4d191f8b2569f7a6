"""The MCP server over standard input and output.

Standard output carries the protocol and nothing else: what tools or libraries print goes to
standard error. The server ends when its input ends or the process is told to end; either way what
it opened is closed.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio
from mcp.server.stdio import stdio_server

from toolcrib_adapters.surfaces.checked_streams import checked_streams, request_line
from toolcrib_adapters.surfaces.standard_streams import lines_of, received
from toolcrib_adapters.surfaces.stop_signals import stop_signals

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from toolcrib_adapters.surfaces.mcp_server import CribServer

_ANSWER_SECONDS: Final = 1.0
"""How long the answers of interrupted calls may take to leave; who ended us waits seconds only."""


async def serve_stdio(server: CribServer, interrupt: Callable[[], None] = lambda: None) -> None:
    """Serve the process's standard streams until the input ends or a SIGTERM or SIGINT arrives.

    Args:
        server: what to serve.
        interrupt: ends the calls that run, each with an honest answer; called at a signal.
    """
    async with stop_signals() as stop, anyio.create_task_group() as tasks:
        with _claimed_streams() as (source, sink):
            lines = _Lines(source)
            writer = anyio.wrap_file(os.fdopen(sink, "w", encoding="utf-8", closefd=False))
            async with (
                stdio_server(lines, writer) as (raw_read, raw_write),  # type: ignore[arg-type]
                checked_streams(raw_read, raw_write) as (read, write, checked),
            ):

                async def end_when_told() -> None:
                    await stop.wait()
                    interrupt()
                    with anyio.move_on_after(_ANSWER_SECONDS):
                        await checked.idle()
                    # As if the input had ended: what was answered is written before the end.
                    lines.end()
                    await anyio.sleep(_ANSWER_SECONDS)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(end_when_told)
                await server.run(read, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


class _Lines:
    """The lines of a file descriptor, as the SDK's server expects them."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = anyio.CancelScope()
        self._has_ended = False

    def end(self) -> None:
        """Give no more lines."""
        self._has_ended = True
        self._waiting.cancel()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in lines_of(self._read):
            yield request_line(line.decode("utf-8", "replace"))

    async def _read(self) -> bytes:
        if self._has_ended:
            return b""
        with anyio.CancelScope() as self._waiting:
            return await received(self._descriptor)
        return b""


@contextmanager
def _claimed_streams() -> Iterator[tuple[int, int]]:
    """Private copies of the standard streams; prints go to standard error, reads find nothing."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(sink, 1)
        os.close(source)
        os.close(sink)
