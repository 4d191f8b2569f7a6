"""The second connection of an HTTP upstream: made when it is wanted, and never waited for long."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import anyio
import pytest

from toolcrib_adapters.sources.mcp_upstream.older_connection import OlderConnection
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_adapters.sources.mcp_upstream.wire import Wire


@dataclass
class Server:
    """A server that takes handshakes in the way that a test wants."""

    refuses: bool = False
    is_silent: bool = False
    wires: list[Line] = field(default_factory=list)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Wire]:
        if self.refuses:
            raise ConnectionError("no")
        if self.is_silent:
            await anyio.sleep_forever()
        self.wires.append(Line())
        yield cast("Wire", self.wires[-1])


@dataclass
class Line:
    """A connection, as far as it matters here: it can end."""

    ended: anyio.Event = field(default_factory=anyio.Event)


@asynccontextmanager
async def older(
    server: Server, connect_seconds: float = 30.0, wait_seconds: float = 30.0
) -> AsyncIterator[OlderConnection]:
    connection = OlderConnection(server.connect, connect_seconds, wait_seconds)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.keep)
        with anyio.fail_after(30):
            yield connection
        tasks.cancel_scope.cancel()


@pytest.mark.promise("interaction-questions")
async def test_the_connection_is_made_once_and_again_after_it_ended() -> None:
    server = Server()
    async with older(server) as connection:
        await anyio.wait_all_tasks_blocked()
        assert server.wires == []
        first = await connection.wire(Patience(30))
        assert await connection.wire(Patience(30)) is first
        server.wires[0].ended.set()
        assert await connection.wire(Patience(30)) is not first
    assert len(server.wires) == 2


@pytest.mark.parametrize(
    ("server", "connect_seconds"), [(Server(refuses=True), 30.0), (Server(is_silent=True), 0.0)]
)
async def test_a_server_that_does_not_take_it_is_not_asked_again(
    server: Server, connect_seconds: float
) -> None:
    async with older(server, connect_seconds) as connection:
        assert await connection.wire(Patience(30)) is None
        server.refuses = server.is_silent = False
        assert await connection.wire(Patience(30)) is None
    assert server.wires == []


@pytest.mark.parametrize(("patience", "wait_seconds"), [(30.0, 0.0), (0.0, 30.0)])
async def test_a_call_does_not_wait_long_for_it(patience: float, wait_seconds: float) -> None:
    async with older(Server(is_silent=True), wait_seconds=wait_seconds) as connection:
        assert await connection.wire(Patience(patience)) is None
