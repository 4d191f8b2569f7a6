"""The one place that speaks MCP below the SDK's typed client.

`Client.call_tool` lists tools first, validates outputs and raises after the work is done, and
`list_tools` throws a whole page away for one odd entry. So requests go through the dispatcher as
plain dictionaries, and answers come back digit for digit. Uses private names of mcp 2.x (`_stamp`,
`_x_mcp_header_maps`): the distribution pins `mcp>=2.3,<3`, and the tests of this
package run against real servers of both generations.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from copy import copy
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.client.subscriptions import listen
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_NAME_HEADER,
    encode_header_value,
    find_invalid_x_mcp_header,
    x_mcp_header_map,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib_adapters.sources.mcp_upstream.failures import LONGEST_TEXT, RequestError
from toolcrib_adapters.sources.mcp_upstream.forgotten import Traffic
from toolcrib_registry.interaction import ABILITIES
from toolcrib_registry.ports import Progress

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Collection,
        Iterable,
        Mapping,
        Sequence,
    )

    from mcp.client.session import ClientSession
    from mcp.client.subscriptions import Subscription
    from mcp.shared.dispatcher import CallOptions, DispatchContext, OnRequest, ProgressFnT

    from toolcrib_adapters.expansion import Secrets
    from toolcrib_adapters.sources.mcp_upstream.http_client import HttpFailures
    from toolcrib_adapters.sources.mcp_upstream.stateless_http import StatelessHttp
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.patience import Patience

    Asked = Callable[[str, JsonObject], Awaitable[JsonObject]]
    """Answers a question (method and parameters) of a server, or raises `MCPError`."""

_FIRST_ID: Final = 1_000
"""The SDK numbers its own requests (the handshake) from 1."""
_LISTEN_SECONDS: Final = 30.0
_LONGEST_TITLE: Final = 200
_SIGN_IN: Final = 401


class WatchedDispatcher(JSONRPCDispatcher[Any]):
    """A dispatcher that says when its connection has ended; the SDK's tells only its waiters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ended = anyio.Event()
        self.why_ended = ""
        self.asked: Asked = _nobody

    async def run(self, on_request: OnRequest, *args: Any, **kwargs: Any) -> None:
        """Run until the connection ends, and say so."""

        async def answer(
            context: DispatchContext[Any], method: str, params: Mapping[str, Any] | None
        ) -> dict[str, Any]:
            # The SDK's models would drop what they do not know, in the question and in the answer.
            if method in ABILITIES:
                return await self.asked(method, dict(params or {}))
            return await on_request(context, method, params)

        try:
            await super().run(answer, *args, **kwargs)
        finally:
            self.ended.set()


async def _nobody(method: str, _params: JsonObject) -> JsonObject:
    raise MCPError(types.METHOD_NOT_FOUND, f"nobody can be asked for {method}")


class Wire:
    """An open connection to an upstream, of either protocol generation.

    Attributes:
        ended: set when the connection is gone or of no use any more.
        traffic: the requests under way.
    """

    def __init__(
        self,
        session: ClientSession,
        dispatcher: WatchedDispatcher | StatelessHttp,
        failures: HttpFailures,
        secrets: Secrets,
    ) -> None:
        self.ended = dispatcher.ended
        self.traffic = Traffic()
        self._session = session
        self._dispatcher = dispatcher
        self._failures = failures
        self._secrets = secrets
        self._ids = count(_FIRST_ID)
        self._own_headers: dict[str, str] = {}
        self._more_headers: Mapping[str, str] = {}

    def end(self, why: str) -> None:
        """Give the connection up; its owner makes another one."""
        self._dispatcher.why_ended = why
        self.ended.set()

    @property
    def why_ended(self) -> str:
        """Why it was given up."""
        return self._dispatcher.why_ended

    def carrying(self, headers: dict[str, str]) -> Wire:
        """The same connection, whose requests carry `headers` of one caller."""
        view = copy(self)
        view._own_headers = headers  # noqa: SLF001 - a copy of this very object
        view._secrets = self._secrets.with_more(headers.values())  # noqa: SLF001 - as above
        return view

    def adding(self, headers: Mapping[str, str]) -> Wire:
        """The same connection, whose requests carry `headers` that say nothing about who asks."""
        view = copy(self)
        view._more_headers = headers  # noqa: SLF001 - a copy of this very object
        return view

    @property
    def capabilities(self) -> types.ServerCapabilities:
        """What the server says it can do."""
        return self._session.server_capabilities or types.ServerCapabilities()

    @property
    def title(self) -> str:
        """What the server calls itself."""
        info = self._session.server_info
        return (info.title or info.name)[:_LONGEST_TITLE] if info is not None else ""

    @property
    def instructions(self) -> str:
        """What the server says about its tools."""
        return self._session.instructions or ""

    @property
    def is_modern(self) -> bool:
        """Whether the connection speaks the stateless generation (2026-07-28)."""
        return self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def has_session(self) -> bool:
        """Whether the server keeps a session for this connection, over HTTP."""
        return self._failures.gave_session

    async def request(
        self,
        method: str,
        params: JsonObject,
        *,
        patience: Patience,
        on_progress: Callable[[Progress], Awaitable[None]] | None = None,
        abilities: JsonObject | None = None,
    ) -> JsonObject:
        """The raw result of a request; cancelling this cancels it at the server.

        Args:
            method: what is asked for.
            params: its parameters.
            patience: the time limit.
            on_progress: where progress goes.
            abilities: what a modern server may ask back, as client capabilities.

        Raises:
            RequestError: the server's error, `REQUEST_TIMEOUT`, or `CONNECTION_CLOSED`.
        """
        request_id = next(self._ids)
        options: CallOptions = {"request_id": request_id}
        if on_progress is not None:
            options["on_progress"] = _progress(on_progress)
        data: dict[str, Any] = {"method": method, "params": params}
        self._session._stamp(data, options)  # noqa: SLF001 - see the module's docstring
        if self.is_modern and abilities:
            data["params"]["_meta"][types.CLIENT_CAPABILITIES_META_KEY] = abilities
        if self._own_headers or self._more_headers:
            of_sdk = options.get("headers", {})
            options["headers"] = {**self._more_headers, **self._own_headers, **of_sdk}
        if method.startswith("tasks/"):
            # The SDK does not know the extension, which routes by this header.
            name = encode_header_value(str(params.get("taskId")))
            options.setdefault("headers", {})[MCP_NAME_HEADER] = name
        # Not the SDK's time limit: that one starts only when the server has taken the request.
        self.traffic.begin()
        try:
            with patience.limit():
                answer: JsonObject = await self._dispatcher.send_raw_request(
                    method, data["params"], options
                )
                return answer
        except MCPError as error:
            raise self._failed(error, request_id) from error
        finally:
            self.traffic.end()
        self._failures.take(request_id)
        raise RequestError(types.REQUEST_TIMEOUT, "no answer in time", None, self.is_modern)

    def _failed(self, error: MCPError, request_id: int) -> RequestError:
        http = self._failures.take(request_id)
        message = self._secrets.hidden(error.message)[:LONGEST_TEXT]
        failed = RequestError(error.code, message, http, self.is_modern, error.data)
        # A caller whose own credential is refused takes the connection from nobody else.
        is_signed_out = http is not None and http.status == _SIGN_IN and not self._own_headers
        if failed.is_lost_session or is_signed_out:
            # Nothing will come of this connection any more; the owner makes another one.
            self.traffic.is_forgotten |= failed.is_lost_session
            self.ended.set()
        return failed

    def learn_headers(self, tools: Iterable[Json]) -> None:
        """Note which arguments the modern wire mirrors into HTTP headers (`x-mcp-header`)."""
        if not self.is_modern:
            return
        maps = self._session._x_mcp_header_maps  # noqa: SLF001 - see the module's docstring
        maps.clear()
        for tool in tools:
            schema = tool.get("inputSchema") if isinstance(tool, dict) else None
            if isinstance(tool, dict) and find_invalid_x_mcp_header(schema) is None:
                maps[str(tool.get("name"))] = x_mcp_header_map(schema)

    def let_ask(self, asked: Asked) -> None:
        """Let `asked` answer what an older server asks in the middle of calls."""
        if isinstance(self._dispatcher, WatchedDispatcher):
            self._dispatcher.asked = asked

    @property
    def tells_changes(self) -> frozenset[str]:
        """The lists (`tools`, `prompts`, `resources`) whose changes a modern server tells."""
        if not self.is_modern:
            return frozenset()
        offered = self.capabilities
        parts = {"tools": offered.tools, "prompts": offered.prompts, "resources": offered.resources}
        return frozenset(
            name for name, part in parts.items() if part is not None and part.list_changed
        )

    @asynccontextmanager
    async def listening(
        self, lists: Collection[str] = (), uris: Sequence[str] = ()
    ) -> AsyncIterator[Subscription]:
        """The stream on which a modern server tells changes of lists and of resources.

        Raises:
            MCPError: the server refuses to be listened to.
            SubscriptionLost: it stopped without a word.
            TimeoutError: it neither refuses nor agrees.
        """
        with anyio.fail_after(_LISTEN_SECONDS) as patience:
            async with listen(
                self._session,
                tools_list_changed="tools" in lists,
                prompts_list_changed="prompts" in lists,
                resources_list_changed="resources" in lists,
                resource_subscriptions=uris,
            ) as subscription:
                patience.deadline = inf
                yield subscription


def _progress(report: Callable[[Progress], Awaitable[None]]) -> ProgressFnT:
    async def hand_on(
        progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        await report(Progress(progress, total, message))

    return hand_on
