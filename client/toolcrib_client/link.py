"""One open MCP session, and raw requests over it. The only file that knows the SDK's layers.

Answers come back as the JSON that the server sent. The SDK's typed calls would list all tools
before a call, refuse an answer for one odd block, and drop fields they do not know; so this sends
through the dispatcher under the session, with the headers and `_meta` that the protocol revision
asks for. Reconnecting is `connection`'s business.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import anyio
from mcp.client.session import ClientSession
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.runner import modern_on_request
from mcp.shared.direct_dispatcher import create_direct_dispatcher_pair
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.memory import create_client_server_memory_streams
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    Implementation,
)
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

from toolcrib_client.http_client import HTTP_FAILED, McpHttpClient
from toolcrib_client.target import HttpTarget, ServerTarget, StdioTarget
from toolcrib_protocol.errors import UPSTREAM_PROTOCOL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from mcp.server import Server
    from mcp.shared.dispatcher import CallOptions, Dispatcher, ProgressFnT
    from mcp.shared.memory import MessageStream
    from mcp.shared.transport_context import TransportContext

    from toolcrib_client.target import Target
    from toolcrib_protocol.json_value import JsonObject

Mode = Literal["auto", "2026-07-28", "legacy"]
"""Which protocol generation to speak: the newest both know, only the stateless one, only the one
with a handshake."""

OnProgress: TypeAlias = "Callable[[float, float | None, str | None], Awaitable[None]]"
"""Awaited with progress, total or None, message or None."""

LARGEST_EVENT_BYTES: Final = 64 * 1024 * 1024
"""The largest answer that is read from an event stream."""
_ME: Final = Implementation(name="toolcrib-client", version=version("toolcrib"))


@dataclass(frozen=True, slots=True)
class Link:
    """An open session.

    Attributes:
        protocol_version: the revision that both sides speak.
    """

    protocol_version: str
    _dispatcher: Dispatcher[TransportContext]

    async def request(
        self,
        method: str,
        params: JsonObject,
        on_progress: OnProgress | None = None,
    ) -> JsonObject:
        """The server's answer, as it came; waits without a bound of its own.

        Raises:
            MCPError: the server's error, or the session's end.
        """
        stamped, headers = self._stamped(method, params)
        options: CallOptions = {"headers": headers}
        if on_progress is not None:
            # The SDK names the parameters in its type, but never in its calls.
            options["on_progress"] = cast("ProgressFnT", on_progress)
            # Dispatchers over streams write their own token here; the direct one leaves that to us.
            meta = stamped.get("_meta")
            known = meta if isinstance(meta, dict) else {}
            stamped = {**stamped, "_meta": {**known, "progressToken": "progress"}}
        return await self._dispatcher.send_raw_request(method, stamped, options)

    def _stamped(self, method: str, params: JsonObject) -> tuple[JsonObject, dict[str, str]]:
        headers = {MCP_PROTOCOL_VERSION_HEADER: self.protocol_version}
        if self.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return params, headers
        headers[MCP_METHOD_HEADER] = method
        name = params.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        meta = params.get("_meta")
        stamp: JsonObject = {
            PROTOCOL_VERSION_META_KEY: self.protocol_version,
            CLIENT_INFO_META_KEY: {"name": _ME.name, "version": _ME.version},
            CLIENT_CAPABILITIES_META_KEY: {},
        }
        return {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), **stamp}}, headers


@asynccontextmanager
async def open_link(target: Target, mode: Mode) -> AsyncIterator[Link]:
    """An open session with the target; enter and leave it in the same task.

    Raises:
        MCPError: no session came about.
        OSError: the command cannot be started.
    """
    async with AsyncExitStack() as stack:
        dispatcher = await _connected(target, mode, stack)
        session = await stack.enter_async_context(
            ClientSession(dispatcher=dispatcher, client_info=_ME)
        )
        yield Link(await _negotiated(session, mode), dispatcher)


async def _connected(
    target: Target, mode: Mode, stack: AsyncExitStack
) -> Dispatcher[TransportContext]:
    match target:
        case HttpTarget():
            http = await stack.enter_async_context(McpHttpClient(target))
            streams = await stack.enter_async_context(
                streamable_http_client(
                    target.url, http_client=http, max_sse_event_size=LARGEST_EVENT_BYTES
                )
            )
        case StdioTarget():
            streams = await stack.enter_async_context(stdio_client(target.parameters))
        case ServerTarget() if mode == "legacy":
            streams = await stack.enter_async_context(_served_in_memory(target.server))
        case ServerTarget():
            return await _direct(target.server, stack)
    return JSONRPCDispatcher(*streams)


async def _direct(server: Server[Any], stack: AsyncExitStack) -> Dispatcher[TransportContext]:
    """The stateless way into a server of this process: no streams, no framing."""
    state = await stack.enter_async_context(server.lifespan(server))
    mine, theirs = create_direct_dispatcher_pair(raise_handler_exceptions=False)
    tasks = await stack.enter_async_context(anyio.create_task_group())
    stack.callback(theirs.close)
    await tasks.start(theirs.run, modern_on_request(server, state), _no_notifications)
    return mine


async def _no_notifications(
    _context: object, _method: str, _params: Mapping[str, object] | None
) -> None:
    """The stateless generation has no notifications from client to server."""


@asynccontextmanager
async def _served_in_memory(server: Server[Any]) -> AsyncIterator[MessageStream]:
    async with (
        create_client_server_memory_streams() as (mine, theirs),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(server.run, *theirs, server.create_initialization_options())
        yield mine
        tasks.cancel_scope.cancel()


async def _negotiated(session: ClientSession, mode: Mode) -> str:
    """The protocol revision after the opening exchange."""
    if mode != "legacy" and await _is_modern(session, mode):
        return session.protocol_version or LATEST_MODERN_VERSION
    try:
        return str((await session.initialize()).protocol_version)
    except MCPError as error:
        if error.code != UNSUPPORTED_PROTOCOL_VERSION or mode == "legacy":
            raise
        # A slow start answered our first question after we stopped waiting: it is modern after all.
        await session.discover()
        return session.protocol_version or LATEST_MODERN_VERSION


async def _is_modern(session: ClientSession, mode: Mode) -> bool:
    try:
        await session.discover()
    except MCPError as error:
        if mode != "auto" or _is_final(error):
            raise
        return False
    except (RuntimeError, ValueError):
        # It answers the question, but names no revision of that generation, or not in its form.
        if mode != "auto":
            raise
        return False
    return True


def _is_final(error: MCPError) -> bool:
    """Whether nobody is there, or nobody we may talk to, in the older generation's way too."""
    data = error.data
    return (
        error.code == HTTP_FAILED
        and isinstance(data, dict)
        and data.get("code") != UPSTREAM_PROTOCOL
    )
