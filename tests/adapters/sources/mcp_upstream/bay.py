"""A bay: one upstream with a real server behind it, and the clock by which it waits."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.text import TextReceiveStream

from tests.adapters.sources.listening_host import ListeningHost, running
from tests.fake_upstreams import HERE
from toolcrib_adapters.sources.mcp_upstream import McpUpstream
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext, Progress, SourceState, SourceStatus
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import Process

    from toolcrib_protocol.errors import ToolError
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.listing import Listing

PATIENCE = 30


class BayHost(ListeningHost):
    """A host whose listings can be waited for, too."""

    def __init__(self) -> None:
        super().__init__()
        self._came = anyio.Event()

    def refuse(self, *refusals: ToolError) -> None:
        """Raise these for the next listings."""
        self._refusals.extend(refusals)

    async def listed(self, listing: Listing) -> None:
        await super().listed(listing)
        came, self._came = self._came, anyio.Event()
        came.set()

    async def listing(self, number: int) -> Sequence[object]:
        """The entries of listing `number`, counted from 1, once it is there."""
        with anyio.fail_after(PATIENCE):
            while len(self.listings) < number:
                await self._came.wait()
        return self.listings[number - 1].entries


@dataclass
class Bay:
    source: McpUpstream
    host: BayHost
    clock: HandClock
    state: SourceState = field(default_factory=lambda: SourceState(SourceStatus.CONNECTING, ""))

    async def call(
        self,
        name: str,
        /,
        limit: float = 30.0,
        on_progress: Callable[[Progress], Awaitable[None]] | None = None,
        **arguments: Json,
    ) -> Result:
        context = CallContext(limit, LOCAL_CALLER, on_progress)
        with anyio.fail_after(PATIENCE):
            return await self.source.call(name, arguments, context)

    async def facts(self, name: str, /, **arguments: Any) -> JsonObject:
        """The structured answer of a tool."""
        data = (await self.call(name, **arguments)).data
        assert isinstance(data, dict)
        return data

    async def pass_time(self, seconds: float) -> None:
        """Let `seconds` pass once somebody waits who is due then."""
        with anyio.fail_after(PATIENCE):
            await self.clock.sleeper(seconds)
        self.clock.advance(seconds)

    async def state_after_pause(self) -> SourceState:
        """The next settled state, after the pause that a failure made."""
        await self.pass_time(61)
        return await self.host.settled()


def names(entries: Sequence[object]) -> list[object]:
    return [entry.get("name") if isinstance(entry, dict) else None for entry in entries]


def upstream(
    spec: JsonObject, clock: HandClock, environment: Mapping[str, str] | None = None
) -> McpUpstream:
    return McpUpstream(
        SourceRecord("bay", SourceKind.MCP, spec, "bay"),
        environment=os.environ if environment is None else environment,
        clock=clock,
        connect_gate=anyio.CapacityLimiter(4),
        roll=lambda: 0.5,
    )


@asynccontextmanager
async def bay(spec: JsonObject, environment: Mapping[str, str] | None = None) -> AsyncIterator[Bay]:
    """An upstream whose first state is known."""
    clock, host = HandClock(), BayHost()
    made = Bay(upstream(spec, clock, environment), host, clock)
    async with running(made.source, host):
        made.state = await host.settled()
        yield made


@asynccontextmanager
async def http_server(mode: str, key: str | None = None, port: str = "0") -> AsyncIterator[Server]:
    """A running `sdk_server.py` over HTTP."""
    words = [str(HERE / "sdk_server.py"), mode, *([key] if key else [])]
    async with _serving(words, {"PORT": port}) as server:
        yield server


@asynccontextmanager
async def session_server(
    style: str, port: str = "0", effects: Path | None = None
) -> AsyncIterator[Server]:
    """A running `session_server.py`."""
    more = {"EFFECTS": str(effects)} if effects is not None else {}
    words = [str(HERE / "session_server.py"), style]
    async with _serving(words, {"PORT": port, **more}) as server:
        yield server


@asynccontextmanager
async def _serving(words: list[str], environment: dict[str, str]) -> AsyncIterator[Server]:
    command = [sys.executable, "-I", *words]
    async with await anyio.open_process(command, env={**os.environ, **environment}) as process:
        assert process.stdout is not None
        try:
            with anyio.fail_after(PATIENCE):
                url = (await TextReceiveStream(process.stdout).receive()).strip()
            yield Server(url, process)
        finally:
            if process.returncode is None:
                process.kill()


@dataclass
class Server:
    url: str
    process: Process

    @property
    def port(self) -> str:
        return self.url.split(":")[2].split("/")[0]

    def spec(self, transport: str = "http", **settings: Json) -> JsonObject:
        return {"transport": transport, "url": self.url, **settings}
