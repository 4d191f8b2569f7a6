"""The everything-server of the MCP SDK as a process: alone, and behind `toolcrib serve`."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from tests.adapters.cli.running import Shell

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conformance.kit import Kit

GROUP: Final = "everything"
_SERVER: Final = """
import runpy, sys
# uvicorn takes this parser where it is installed, and that one keeps white space around headers.
sys.modules["httptools"] = None
runpy.run_module("mcp_everything_server.server", run_name="__main__", alter_sys=True)
"""
_START_SECONDS: Final = 90


@asynccontextmanager
async def everything_server(kit: Kit, *, log: Path) -> AsyncIterator[str]:
    """The URL of a running everything-server; what it says goes to the file `log`."""
    port = _free_port()
    command = [sys.executable, "-c", _SERVER, "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(kit.everything)}
    with log.open("wb") as said:
        async with await anyio.open_process(
            command, env=environment, stdout=said, stderr=said
        ) as process:
            try:
                with anyio.fail_after(_START_SECONDS):
                    await _accepting(port)
                yield f"http://127.0.0.1:{port}/mcp"
            finally:
                process.kill()


@asynccontextmanager
async def behind_toolcrib(upstream: str, home: Path) -> AsyncIterator[str]:
    """The main endpoint of a toolcrib that has the server at `upstream` as its one source."""
    shell = Shell(home)
    added = await anyio.to_thread.run_sync(lambda: shell.spawn("add", GROUP, "--url", upstream))
    assert added.code == 0, added.err
    async with shell.serving() as (url, _):
        yield url


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


async def _accepting(port: int) -> None:
    while True:
        try:
            stream = await anyio.connect_tcp("127.0.0.1", port)
        except OSError:
            await anyio.sleep(0.05)
        else:
            await stream.aclose()
            return
