"""The MCP server that agents talk to, assembled from the SDK's server and the agent surface.

One object serves both generations of the protocol over every transport. What is answered is in
`agent_surface.py`; transports are in `http_app.py` and `stdio.py`.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Final

from mcp.server.lowlevel import NotificationOptions, Server
from mcp_types import CallToolRequestParams, NotificationParams, PaginatedRequestParams

from toolcrib_adapters.surfaces.agent_surface import AgentSurface
from toolcrib_adapters.surfaces.endpoint_tools import EndpointTools
from toolcrib_adapters.surfaces.endpoints import MAIN, EndpointKind, not_there
from toolcrib_adapters.surfaces.instructions import instructions_of
from toolcrib_adapters.surfaces.interaction.sealing import Seal, SealedState
from toolcrib_adapters.surfaces.interaction.tasks import Tasks
from toolcrib_adapters.surfaces.list_changes import ListChanges
from toolcrib_adapters.surfaces.publish_method import PUBLISH, PublishParams, published
from toolcrib_adapters.surfaces.published_forms import PublishedForms
from toolcrib_adapters.surfaces.session_modes import mode_of
from toolcrib_adapters.surfaces.whole_answers import whole_answers
from toolcrib_registry.permissions import AllowAll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp_types import ServerCapabilities

    from toolcrib_adapters.surfaces.endpoints import Endpoint
    from toolcrib_adapters.surfaces.interaction.sealing import Keys
    from toolcrib_adapters.surfaces.passthrough.pass_through import PassThrough
    from toolcrib_adapters.surfaces.publish_method import Publisher
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.questions import ToolSearch


_KEY_BYTES: Final = 32


class CribServer(Server[None]):
    """The SDK's server of one endpoint.

    It says to older clients that it announces changes of its tool list.
    """

    tell: Callable[[], str | None]
    """What to tell clients before their first question, as it is then."""

    keys: Keys
    """Seal what clients have to bring back; at first a key of this server alone."""

    tasks: Tasks
    """Calls that go on as tasks; with a board, ours, too."""

    tools: EndpointTools
    """What is shown."""

    http_sessions: StreamableHTTPSessionManager | None = None
    """Who keeps its sessions over HTTP, once it is served there."""

    clients: ListChanges
    """Who is connected, and how they are told of changes."""

    lets_go: bool = False
    """Whether clients are let go when a source lets go of the stream of an answer."""

    pass_through: PassThrough | None = None
    """What is answered besides tools."""

    def let_through(self, pass_through: PassThrough) -> None:
        """Answer for resources, prompts and the like, too; called before anybody connects."""
        pass_through.register(self)
        self.pass_through = pass_through
        self.tools.links = pass_through.links

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> ServerCapabilities:
        """What there is to be had now: only what a source of this endpoint offers."""
        whole = super().get_capabilities(
            notification_options,
            experimental_capabilities,
            extensions,
            protocol_version=protocol_version,
        )
        return whole if self.pass_through is None else self.pass_through.trimmed(whole)

    @property
    def instructions(self) -> str | None:
        """What the SDK answers to a handshake or `server/discover`."""
        return self.tell()

    @instructions.setter
    def instructions(self, _fixed: str | None) -> None:
        """Nothing: what there is to say changes with the catalogue."""

    def at(self, endpoint: Endpoint) -> CribServer:
        """Itself: it may be served alone, at `/mcp`.

        Raises:
            ToolError: `unknown_group` or `unknown_profile` for every other endpoint.
        """
        if endpoint.kind is not EndpointKind.MAIN:
            raise not_there(endpoint, [])
        return self

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """The handshake's answer; the SDK asks for it without notification options."""
        options = notification_options or NotificationOptions(
            prompts_changed=True, resources_changed=True, tools_changed=True
        )
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def build_server(
    catalogue: Catalogue,
    calls: Calls,
    search: ToolSearch,
    *,
    policy: Policy | None = None,
    publisher: Publisher | None = None,
    endpoint: Endpoint = MAIN,
) -> CribServer:
    """The MCP server of an endpoint, for `serve_http`, `serve_stdio` or an in-process client.

    Args:
        catalogue: what there is.
        calls: the path of calls.
        search: finds tools.
        policy: what callers may see; everything by default. `calls` has to use the same.
        publisher: carries out `toolcrib/publish`; None refuses it.
        endpoint: what is shown of the crib.
    """
    forms = PublishedForms()
    tools = EndpointTools(catalogue, endpoint, policy or AllowAll())
    own_key = (token_bytes(_KEY_BYTES),)
    seal = Seal(lambda: server.keys())  # noqa: PLW0108 - the keys come after the server is made
    tasks = Tasks(calls, seal, lambda: tools.shown().sight.view)
    surface = AgentSurface(tools, calls, search, forms, tasks)
    changes = ListChanges(catalogue, tools.stamp, lambda ctx: mode_of(ctx, tools))

    @asynccontextmanager
    async def lifespan(_server: Server[None]) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(changes.running())
            if server.pass_through is not None:
                await stack.enter_async_context(server.pass_through.running())
            yield

    async def publish(_ctx: ServerRequestContext[Any, Any], params: PublishParams) -> JsonObject:
        return await published(publisher, params)

    server = CribServer(
        "toolcrib",
        version=version("toolcrib"),
        lifespan=lifespan,
        get_tool_input_schema=surface.input_schema,
        on_subscriptions_listen=changes.listen,
    )
    server.tools = tools
    server.tell = lambda: instructions_of(tools)
    server.add_request_handler("tools/list", PaginatedRequestParams, surface.list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, surface.call)
    server.add_request_handler(PUBLISH, PublishParams, publish)
    server.add_notification_handler(
        "notifications/initialized", NotificationParams, changes.client_initialized
    )
    server.clients = changes
    server.lets_go = endpoint.is_group
    server.keys = lambda: own_key
    server.tasks = tasks
    tasks.register(server)
    server.middleware.append(SealedState(seal))
    server.middleware.append(whole_answers)
    return server
