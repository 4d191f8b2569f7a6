"""Hands each HTTP request to the MCP server of its endpoint.

An ASGI application for every path below `/mcp`. The sessions of each endpoint are kept apart by the
SDK's session manager, one an endpoint, started when the first request arrives. An endpoint that
does not exist is answered with 404 and the nearest names.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.abc
from mcp_types import INVALID_REQUEST
from starlette.responses import JSONResponse

from toolcrib_adapters.surfaces.endpoints import endpoint_at
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import Receive, Scope, Send

    from toolcrib_adapters.surfaces.endpoint_servers import Servers
    from toolcrib_adapters.surfaces.endpoints import Endpoint
    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_protocol.json_value import JsonObject


class EndpointRouter:
    """The ASGI application; works inside `running`."""

    def __init__(
        self,
        servers: Servers,
        manager_of: Callable[[CribServer], StreamableHTTPSessionManager],
    ) -> None:
        self._servers = servers
        self._manager_of = manager_of
        self._managers: dict[Endpoint, StreamableHTTPSessionManager] = {}
        self._opening = anyio.Lock()
        self._tasks: anyio.abc.TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the sessions of all endpoints while the block runs; then they end."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        endpoint = endpoint_at(scope["path"])
        try:
            server = self._servers.at(endpoint)
        except ToolError as error:
            await JSONResponse(_as_error(error), status_code=404)(scope, receive, send)
            return
        manager = await self._manager(endpoint, server)
        await manager.handle_request(scope, receive, send)

    async def _manager(
        self, endpoint: Endpoint, server: CribServer
    ) -> StreamableHTTPSessionManager:
        if endpoint not in self._managers:
            async with self._opening:
                if endpoint not in self._managers:
                    self._managers[endpoint] = await self._started(server)
        return self._managers[endpoint]

    async def _started(self, server: CribServer) -> StreamableHTTPSessionManager:
        manager = self._manager_of(server)
        if self._tasks is None:
            raise RuntimeError("the router serves inside `running` only")
        await self._tasks.start(_keep, manager)
        return manager


async def _keep(
    manager: StreamableHTTPSessionManager,
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Hold a manager's context in a task of its own, where it has to be left as well."""
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()


def _as_error(error: ToolError) -> JsonObject:
    """A JSON-RPC error; the request was not read, so it has no id."""
    told: JsonObject = {"code": INVALID_REQUEST, "message": error.message, "data": error.as_json()}
    return {"jsonrpc": "2.0", "id": None, "error": told}
