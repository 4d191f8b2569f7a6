"""The one place that speaks MCP below the SDK's typed client.

`Client.call_tool` lists tools first, validates outputs and raises after the work is done; `list_tools` throws a whole page away
for one odd entry. So requests go through the dispatcher as plain dictionaries: answers come back digit for digit. Uses
private names of mcp 2.x (`_stamp`, `_x_mcp_header_maps`): the distribution pins `mcp>=2.3,<3`, and the tests of this
package run against real servers of both generations.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp.shared.inbound import x_mcp_header_map
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib_adapters.sources.mcp_upstream.http_answers import HttpAnswer, HttpAnswers
from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec, StdioSpec
from toolcrib_adapters.sources.mcp_upstream.stdio_process import stdio_process

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mcp.shared.dispatcher import CallOptions

    from toolcrib_protocol.json_value import Json, JsonObject

CLIENT_INFO: Final = types.Implementation(name="toolcrib", version="0.1.0")


class _WatchedDispatcher(JSONRPCDispatcher[Any]):
    """A dispatcher that says when its connection has ended; the SDK's tells only its waiters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - handed on as they are
        super().__init__(*args, **kwargs)
        self.ended = anyio.Event()

    async def run(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - handed on as they are
        try:
            await super().run(*args, **kwargs)
        finally:
            self.ended.set()


class Wire:
    """An open connection to an upstream, of either protocol generation."""

    def __init__(
        self, session: ClientSession, dispatcher: _WatchedDispatcher, answers: HttpAnswers
    ) -> None:
        self._session = session
        self._dispatcher = dispatcher
        self._answers = answers
        self._ids = count(1_000)

    @property
    def ended(self) -> anyio.Event:
        """Set when the connection is gone."""
        return self._dispatcher.ended

    @property
    def capabilities(self) -> types.ServerCapabilities:
        """What the server says it can do."""
        return self._session.server_capabilities or types.ServerCapabilities()

    @property
    def title(self) -> str:
        """What the server calls itself."""
        info = self._session.server_info
        return (info.title or info.name) if info is not None else ""

    @property
    def instructions(self) -> str:
        """What the server says about its tools."""
        return self._session.instructions or ""

    @property
    def is_modern(self) -> bool:
        """Whether the connection speaks the stateless generation (2026-07-28)."""
        return self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def request(
        self, method: str, params: JsonObject, options: CallOptions | None = None
    ) -> JsonObject:
        """The raw result of a request.

        Raises:
            MCPError: the server's error, `REQUEST_TIMEOUT`, or `CONNECTION_CLOSED`; with `http_answer_of` telling
                the HTTP status behind it.
        """
        options = options or {}
        options["request_id"] = next(self._ids)
        data: dict[str, Any] = {"method": method, "params": params}
        self._session._stamp(data, options)  # noqa: SLF001 - see the module's docstring
        answer: JsonObject = await self._dispatcher.send_raw_request(method, data["params"], options)
        return answer

    def http_answer(self, options: CallOptions) -> HttpAnswer | None:
        """The failed HTTP answer to the request that was sent with `options`, if there was one."""
        return self._answers.take(options.get("request_id"))

    def learn_headers(self, tools: list[Json]) -> None:
        """Note which arguments the modern wire mirrors into HTTP headers (`x-mcp-header`)."""
        if not self.is_modern:
            return
        maps = self._session._x_mcp_header_maps  # noqa: SLF001 - see the module's docstring
        maps.clear()
        for tool in tools:
            if isinstance(tool, dict) and isinstance(tool.get("inputSchema"), dict):
                maps[str(tool.get("name"))] = x_mcp_header_map(tool["inputSchema"])

    async def tool_list_changes(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever a modern server says its list changed; returns if it cannot tell."""
        if not self.is_modern or self.capabilities.tools is None:
            return
        if not self.capabilities.tools.list_changed:
            return
        async with listen(self._session, tools_list_changed=True) as subscription:
            async for _ in subscription:
                changed()


@asynccontextmanager
async def connected(
    spec: StdioSpec | HttpSpec,
    answers: HttpAnswers,
    on_notice: Callable[[object], Awaitable[None]],
    on_stderr: Callable[[str], None],
) -> AsyncIterator[Wire]:
    """A connection that has agreed on a protocol version.

    Args:
        spec: expanded settings.
        answers: where failed HTTP answers are noted.
        on_notice: told every notification of the server.
        on_stderr: told the tail of a process's standard error at the end.

    Raises:
        ToolError: the process cannot be started.
        TimeoutError: no agreement within the connect timeout.
        MCPError: the server refused.
        Exception: whatever the transport raises, possibly grouped.
    """
    async with AsyncExitStack() as stack:
        if isinstance(spec, StdioSpec):
            streams = await stack.enter_async_context(stdio_process(spec, on_stderr))
        elif spec.transport == "sse":
            streams = await stack.enter_async_context(sse_client(spec.url, headers=spec.headers))
        else:
            client = await stack.enter_async_context(answers.client(spec.headers))
            streams = await stack.enter_async_context(
                streamable_http_client(spec.url, http_client=client)
            )
        dispatcher = _WatchedDispatcher(*streams)
        session = await stack.enter_async_context(
            ClientSession(dispatcher=dispatcher, message_handler=on_notice, client_info=CLIENT_INFO)
        )
        with anyio.fail_after(spec.connect_timeout_seconds):
            await negotiate_auto(session)
        yield Wire(session, dispatcher, answers)
