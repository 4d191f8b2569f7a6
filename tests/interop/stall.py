"""A toolcrib with the stall server as its one source."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from tests.adapters.cli.running import Shell

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SOURCE: Final = "stall"
_SERVER: Final = str(Path(__file__).with_name("stall_server.py"))


@asynccontextmanager
async def stall_behind_toolcrib(home: Path) -> AsyncIterator[str]:
    """The endpoint's URL."""
    shell = Shell(home)
    words = ("add", SOURCE, "--", sys.executable, _SERVER)
    added = await anyio.to_thread.run_sync(lambda: shell.spawn(*words))
    assert added.code == 0, added.err
    # The table tells how much gets through; what is kept under a handle is another matter.
    rule = ("rules", "set", f"source:{SOURCE}", "max_result_bytes=10000000")
    ruled = await anyio.to_thread.run_sync(lambda: shell.spawn(*rule))
    assert ruled.code == 0, ruled.err
    async with shell.serving() as (url, _):
        yield url
