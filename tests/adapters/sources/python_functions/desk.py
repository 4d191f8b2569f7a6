"""A desk of functions: a Python file written by the test, run as a source."""

from __future__ import annotations

import os
import textwrap
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from tests.adapters.sources.listening_host import ListeningHost, running
from toolcrib_adapters.sources.python_functions.source import PythonFunctions
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext, SourceState, SourceStatus
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result

HEAD = "from toolcrib_protocol.function_tool import tool\n"


@dataclass
class Desk:
    source: PythonFunctions
    host: ListeningHost
    clock: HandClock
    file: Path
    state: SourceState = field(default_factory=lambda: SourceState(SourceStatus.CONNECTING, ""))

    async def call(self, name: str, limit: float = 30.0, **arguments: Json) -> Result:
        context = CallContext(limit, LOCAL_CALLER)
        with anyio.fail_after(60):
            return await self.source.call(name, arguments, context)

    async def rewrite(self, code: str) -> SourceState:
        """The state after the file was changed and the source looked at it."""
        write(self.file, code)
        await self.look()
        return await self.host.settled()

    async def look(self, seconds: float = 1.0) -> None:
        with anyio.fail_after(30):
            await self.clock.sleeper()
        self.clock.advance(seconds)


def write(file: Path, code: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(HEAD + textwrap.dedent(code))


@asynccontextmanager
async def desk(file: Path, code: str | None = None, **spec: Json) -> AsyncIterator[Desk]:
    """The functions of `code`, written to `file`, as a source whose first state is known."""
    if code is not None:
        write(file, code)
    settings: JsonObject = {"target": str(file), **spec}
    clock, host = HandClock(), ListeningHost()
    record = SourceRecord("desk", SourceKind.PYTHON, settings, "desk")
    made = Desk(PythonFunctions(record, environment=os.environ, clock=clock), host, clock, file)
    async with running(made.source, host):
        made.state = await host.settled()
        yield made


async def ended(pid: int) -> bool:
    """Wait for the end of a process that may not be ours (Linux)."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        with anyio.fail_after(10):
            await anyio.wait_readable(handle)
    finally:
        os.close(handle)
    return True
