"""What commands do with a crib that runs in their process: count, publish, call."""

from __future__ import annotations

import gc
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.key_ring import KeyRing
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.surfaces.endpoint_servers import EndpointServers
from toolcrib_adapters.surfaces.endpoints import EndpointKind
from toolcrib_adapters.surfaces.interaction.task_board import TaskBoard
from toolcrib_adapters.surfaces.mcp_server import build_server
from toolcrib_adapters.surfaces.passthrough.offerings import Offerings
from toolcrib_adapters.surfaces.passthrough.pass_through import PassThrough
from toolcrib_adapters.surfaces.publish_method import PublishParams, as_json
from toolcrib_adapters.surfaces.publisher import CribPublisher
from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_protocol.result import Result
from toolcrib_registry.call import Call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_adapters.main import Crib
    from toolcrib_adapters.settings import CribSettings
    from toolcrib_adapters.surfaces.endpoints import Endpoint
    from toolcrib_adapters.surfaces.interaction.sealing import Keys
    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.records import EndpointMode

_CONNECT_SECONDS: Final = 120.0
_CATCH_UP_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.05
_HEAD_START_SECONDS: Final = 0.3
"""What a client asks first is answered in a tenth of that, if nothing else runs."""
_OBJECTS_A_COLLECTION: Final = 50_000


def counts(crib: Crib) -> str:
    """How much there is, in words."""
    snapshot = crib.catalogue.snapshot
    tools = sum(1 for tool in snapshot.tools.values() if tool.head is not None)
    return f"{_number(tools, 'tool')} of {_number(len(snapshot.sources), 'source')}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


@dataclass(frozen=True, slots=True)
class ReadyCrib:
    """A running crib with all that its endpoints need.

    Attributes:
        crib: the crib.
        keys: its key ring.
        offerings: what its sources offer besides tools.
        board: where long calls go on as tasks.
        has_replicas: whether other processes may serve the same catalogue to the same clients.
    """

    crib: Crib
    keys: Keys
    offerings: Offerings
    board: TaskBoard
    has_replicas: bool = False

    def servers(self, *, publishes: bool, mode: EndpointMode | None = None) -> EndpointServers:
        """The servers of all endpoints; only the plain one takes publications, if any does.

        Args:
            publishes: whether `toolcrib/publish` is carried out.
            mode: of the plain endpoint, instead of its profile's.
        """
        crib = self.crib
        publisher = publisher_of(crib) if publishes else None

        def build(endpoint: Endpoint) -> CribServer:
            taker = publisher if endpoint.kind is EndpointKind.MAIN else None
            server = build_server(
                crib.catalogue, crib.calls, crib.search, publisher=taker, endpoint=endpoint
            )
            server.keys = self.keys
            server.tasks.board = self.board
            server.tools.states = lambda: crib.supervisor.states
            server.tools.has_replicas = self.has_replicas
            server.let_through(
                PassThrough(self.offerings, crib.catalogue, endpoint, server.clients, crib.clock)
            )
            return server

        return EndpointServers(crib.catalogue, build, mode=mode)


@asynccontextmanager
async def open_ready(settings: CribSettings) -> AsyncIterator[ReadyCrib]:
    """A crib that is about to be served; what clients ask first has the processor to itself.

    Raises:
        ToolError: the store cannot be used.
    """
    async with (
        open_crib(settings, head_start_seconds=_HEAD_START_SECONDS) as crib,
        anyio.create_task_group() as tasks,
    ):
        ring = KeyRing.open(settings.keys_file, crib.clock.now())
        offerings = Offerings(crib.supervisor, crib.supervisor, crib.clock)
        tasks.start_soon(offerings.run)
        board = TaskBoard(crib.clock)
        tasks.start_soon(board.run)
        # What was made until now stays: nothing in it is garbage.
        gc.freeze()
        gc.set_threshold(_OBJECTS_A_COLLECTION)
        has_replicas = settings.database is not None
        yield ReadyCrib(crib, ring.secrets, offerings, board, has_replicas)
        tasks.cancel_scope.cancel()


def publisher_of(crib: Crib) -> CribPublisher:
    """The publisher into a running crib."""
    return CribPublisher(crib.catalogue, crib.supervisor, crib.clock)


async def publish_into(crib: Crib, wish: JsonObject) -> JsonObject:
    """The receipt of `toolcrib/publish` for these parameters.

    Raises:
        ToolError: it cannot be published.
    """
    params = PublishParams.model_validate(wish)
    return as_json(await publisher_of(crib)(params.wish()))


async def called(crib: Crib, wish: JsonObject) -> JsonObject:
    """The answer, as MCP writes it, to one call that the command line asks for.

    Args:
        crib: runs the source.
        wish: `tool`, `arguments`, `timeout_seconds`, `as_agent` (large results are kept), `key`,
            `fresh`, and the `revision` of the catalogue in which the command found the tool: a crib
            that has not read it yet reads it first.
    """
    tool, timeout, revision = wish.get("tool"), wish.get("timeout_seconds"), wish.get("revision")
    key = wish.get("key")
    if not isinstance(tool, str):
        return Result.failed(ToolError(INVALID_ARGUMENTS, f"{tool!r} names no tool")).as_mcp()
    if isinstance(revision, int):
        await _caught_up(crib, revision)
    call = Call(
        tool,
        wish.get("arguments"),
        timeout_seconds=float(timeout) if isinstance(timeout, int | float) else None,
        takes_whole=wish.get("as_agent") is not True,
        key=key if isinstance(key, str) else None,
        is_fresh=wish.get("fresh") is True,
    )
    try:
        source = crib.calls.resolve(call).source
    except ToolError as error:
        return Result.failed(error).as_mcp()
    # Connecting is not part of the call's own time limit.
    with anyio.move_on_after(_CONNECT_SECONDS):
        await crib.supervisor.settled(source)
    return (await crib.calls.call(call)).as_mcp()


async def _caught_up(crib: Crib, revision: int) -> None:
    with anyio.move_on_after(_CATCH_UP_SECONDS):
        # The catalogue is followed anyway; this only waits for it.
        while crib.catalogue.snapshot.revision < revision:  # noqa: ASYNC110
            await anyio.sleep(_POLL_SECONDS)
