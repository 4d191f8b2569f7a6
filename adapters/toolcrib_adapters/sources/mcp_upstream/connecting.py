"""How a connection to an upstream is made, and which generation it speaks.

Over HTTP the newest generation needs no connection in the SDK's sense: whether a server speaks it
is asked with a request of it (`stateless_http`). For all that is older, behind a proxy, or a
process, the SDK's streams are opened. Uses private names of mcp 2.x (`negotiate_auto`), as `wire`
does.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)
from pydantic import ValidationError

from toolcrib_adapters.outbound.http_endpoint import HeaderError, HttpEndpoint
from toolcrib_adapters.outbound.http_pool import HttpPool
from toolcrib_adapters.outbound.network import is_proxied
from toolcrib_adapters.sources.mcp_upstream.http_client import NotingClient, quiet_logs
from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec, StdioSpec
from toolcrib_adapters.sources.mcp_upstream.stateless_http import StatelessHttp
from toolcrib_adapters.sources.mcp_upstream.stdio_messages import LONGEST_LINE
from toolcrib_adapters.sources.mcp_upstream.stdio_process import stdio_process
from toolcrib_adapters.sources.mcp_upstream.wire import WatchedDispatcher, Wire
from toolcrib_protocol.errors import INVALID_SETTINGS, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2
    from mcp.client.session import MessageHandlerFnT

    from toolcrib_adapters.expansion import Secrets
    from toolcrib_adapters.outbound.addresses import Reach
    from toolcrib_adapters.sources.mcp_upstream.http_client import HttpFailures
    from toolcrib_adapters.sources.mcp_upstream.stdio_process import ProcessTies

CLIENT_INFO: Final = types.Implementation(name="toolcrib", version="0.1.0")
_FIXED: Final = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
_AGENT: Final = f"{CLIENT_INFO.name}/{CLIENT_INFO.version}"
_MOST_PROBES: Final = 2


@dataclass(frozen=True, slots=True)
class Approach:
    """What a connection is made with.

    Attributes:
        spec: expanded settings.
        secrets: what must not be shown.
        failures: where HTTP failures are noted.
        on_notice: told every notification of the server.
        ties: what binds a process to the crib.
        reach: which addresses may be connected to.
    """

    spec: StdioSpec | HttpSpec
    secrets: Secrets
    failures: HttpFailures
    on_notice: MessageHandlerFnT
    ties: ProcessTies
    reach: Reach

    def session(self, dispatcher: WatchedDispatcher | StatelessHttp) -> ClientSession:
        """A session that has not agreed on a version yet."""
        return _AskableSession(
            is_askable=self.spec.asks_callers,
            dispatcher=dispatcher,
            message_handler=self.on_notice,
            client_info=CLIENT_INFO,
        )

    def wire(self, session: ClientSession, dispatcher: WatchedDispatcher | StatelessHttp) -> Wire:
        """The wire over a session that has agreed."""
        return Wire(session, dispatcher, self.failures, self.secrets)


class _AskableSession(ClientSession):
    """A session that tells older servers what may be asked; newer ones are told with each call.

    Older servers are told once, before anybody calls, so they are told what some caller may answer.
    """

    def __init__(self, *, is_askable: bool, **settings: Any) -> None:
        super().__init__(**settings)
        self._is_askable = is_askable

    def _build_capabilities(self, version: str) -> types.ClientCapabilities:
        if version in MODERN_PROTOCOL_VERSIONS or not self._is_askable:
            return types.ClientCapabilities()
        return types.ClientCapabilities(
            elicitation=types.ElicitationCapability(
                form=types.FormElicitationCapability(), url=types.UrlElicitationCapability()
            ),
            sampling=types.SamplingCapability(),
            roots=types.RootsCapability(),
        )


@asynccontextmanager
async def connected(approach: Approach) -> AsyncIterator[Wire]:
    """A connection that has agreed on a protocol version.

    Raises:
        ToolError: the process cannot be started, or a header of the settings cannot be sent.
        MCPError: the server refused.
        Exception: whatever the transport raises, possibly grouped.
    """
    spec = approach.spec
    with quiet_logs(approach.secrets):
        is_older = spec.generation == "older"
        if isinstance(spec, HttpSpec) and _may_be_stateless(spec):
            async with _stateless(spec, approach) as stateless:
                if stateless is not None:
                    yield stateless
                    return
            is_older = True
        async with _over_streams(approach, is_older=is_older) as wire:
            yield wire


def _may_be_stateless(spec: HttpSpec) -> bool:
    return spec.transport == "http" and spec.generation == "auto" and not is_proxied(spec.url)


@asynccontextmanager
async def _stateless(spec: HttpSpec, approach: Approach) -> AsyncIterator[Wire | None]:
    """The wire to a server of the newest generation; None if it is an older one."""
    try:
        endpoint = HttpEndpoint.of(spec.url, {"User-Agent": _AGENT, **spec.headers}, _FIXED)
    except HeaderError as error:
        text = f"the settings of the source are wrong at headers: {error}"
        raise ToolError(INVALID_SETTINGS, text, ErrorKind.NEEDS_HUMAN) from error
    pool = HttpPool(approach.reach)
    dispatcher = StatelessHttp(endpoint, pool, approach.failures)
    is_orderly = False
    try:
        async with approach.session(dispatcher) as session:
            is_agreed = await _agreed(session, approach.failures)
            yield approach.wire(session, dispatcher) if is_agreed else None
        # One request that found no way in says nothing about those that are on their way.
        is_orderly = not dispatcher.why_ended
    finally:
        await (pool.retire() if is_orderly else pool.aclose())


async def _agreed(session: ClientSession, failures: HttpFailures) -> bool:
    """Whether the server speaks the newest generation; the SDK's rules for what says so.

    Raises:
        MCPError: it cannot be reached, or speaks no version that we do.
    """
    version = LATEST_MODERN_VERSION
    for attempt in range(_MOST_PROBES):
        try:
            answer = await session.send_discover(version)
        except MCPError as error:
            supported = _supported(error)
            mutual = [known for known in MODERN_PROTOCOL_VERSIONS if known in (supported or ())]
            if mutual and attempt == 0:
                version = mutual[-1]
                continue
            is_older = supported is None or any(v in HANDSHAKE_PROTOCOL_VERSIONS for v in supported)
            if failures.fatal.is_set() or not is_older:
                raise
            return False
        return _adopted(session, answer)
    return False


def _supported(error: MCPError) -> list[str] | None:
    """The versions that a refusal names."""
    if error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
        return None
    try:
        return types.UnsupportedProtocolVersionErrorData.model_validate(error.data).supported
    except ValidationError:
        return None


def _adopted(session: ClientSession, answer: dict[str, Any]) -> bool:
    try:
        found = types.DiscoverResult.model_validate(answer)
    except ValidationError:
        return False
    if not any(version in found.supported_versions for version in MODERN_PROTOCOL_VERSIONS):
        return False
    session.adopt(found)
    return True


@asynccontextmanager
async def _over_streams(approach: Approach, *, is_older: bool) -> AsyncIterator[Wire]:
    spec = approach.spec
    async with AsyncExitStack() as stack:
        if isinstance(spec, StdioSpec):
            streams = await stack.enter_async_context(stdio_process(spec, approach.ties))
        else:
            opened = _http_streams(spec, approach.failures, approach.reach)
            streams = await stack.enter_async_context(opened)
        dispatcher = WatchedDispatcher(*streams)
        session = await stack.enter_async_context(approach.session(dispatcher))
        await (session.initialize() if is_older else negotiate_auto(session))
        yield approach.wire(session, dispatcher)


@asynccontextmanager
async def _http_streams(spec: HttpSpec, failures: HttpFailures, reach: Reach) -> AsyncIterator[Any]:
    if spec.transport == "sse":

        def client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,  # noqa: ARG001
            auth: httpx2.Auth | None = None,  # noqa: ARG001
        ) -> NotingClient:
            # Its own time limit would end a connection that is silent for five minutes.
            return NotingClient(failures, headers, reach=reach, is_brittle=True)

        async with sse_client(
            spec.url, headers=spec.headers, httpx_client_factory=client
        ) as streams:
            yield streams
        return
    async with (
        NotingClient(failures, spec.headers, reach=reach) as http_client,
        streamable_http_client(
            spec.url, http_client=http_client, max_sse_event_size=LONGEST_LINE
        ) as streams,
    ):
        yield streams
