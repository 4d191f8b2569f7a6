"""What an agent can ask one endpoint: its tool list, and the call of a tool or a meta-tool.

The handlers of one MCP server, free of its assembly (`mcp_server.py`) and of transports. Decides
nothing about tools: what is shown is in `endpoint_tools.py`; search and calls do the rest.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from anyio.lowlevel import checkpoint
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS

from toolcrib_adapters.surfaces.call_answers import direct_call, with_headers
from toolcrib_adapters.surfaces.caller_context import log_of, progress_of, session_of
from toolcrib_adapters.surfaces.caller_form import in_caller_form
from toolcrib_adapters.surfaces.interaction.callers import interaction_of, refuse_lacking
from toolcrib_adapters.surfaces.interaction.leaving import leaving_of
from toolcrib_adapters.surfaces.meta_tool_answers import MetaToolAnswers
from toolcrib_adapters.surfaces.meta_tools import META_TOOLS
from toolcrib_adapters.surfaces.native_tools import NativeTool
from toolcrib_adapters.surfaces.pages import StaleCursorError, page
from toolcrib_adapters.surfaces.session_modes import mode_of
from toolcrib_adapters.surfaces.stream_memory import letting_go_of
from toolcrib_adapters.surfaces.whole_answers import lay_beside, lay_interim
from toolcrib_protocol.errors import INTERNAL, ToolError
from toolcrib_protocol.result import META_PREFIX, Result
from toolcrib_registry.permissions import LOCAL_CALLER

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from toolcrib_adapters.surfaces.endpoint_tools import EndpointTools
    from toolcrib_adapters.surfaces.interaction.tasks import Tasks
    from toolcrib_adapters.surfaces.published_forms import PublishedForms
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.call import Call
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.questions import ToolSearch

    Context = ServerRequestContext[Any, Any]

_log = logging.getLogger(__name__)

LIST_TTL_MS: Final = 60_000
"""How long a client may keep the tool list; it is told earlier if the list changes."""

NO_TOOLS_META: Final = f"{META_PREFIX}no_tools"
"""`_meta` key of an empty list: why it is empty."""


class AgentSurface:
    """The handlers of the MCP server of one endpoint."""

    def __init__(
        self,
        tools: EndpointTools,
        calls: Calls,
        search: ToolSearch,
        forms: PublishedForms,
        tasks: Tasks,
    ) -> None:
        self._tools = tools
        self._tasks = tasks
        self._calls = calls
        self._meta_tools = MetaToolAnswers(tools, calls, search, forms)
        self._forms = forms

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> JsonObject:
        """Answer `tools/list`.

        Raises:
            MCPError: the cursor belongs to a list that has changed.
        """
        listed = self._tools.tool_list(mode_of(ctx, self._tools))
        try:
            shown, following = page(listed.entries, listed.stamp, params.cursor if params else None)
        except StaleCursorError:
            text = (
                "the tool list has changed since that cursor was given; list again from the start"
            )
            raise MCPError(INVALID_PARAMS, text) from None
        answer: JsonObject = {
            "tools": [await self._entry(entry, ctx.protocol_version) for entry in shown],
            "ttlMs": LIST_TTL_MS,
            # What is shown is the caller's, so nobody else may be served this list.
            "cacheScope": "private",
            "resultType": "complete",
        }
        if not listed.entries:
            answer["_meta"] = {NO_TOOLS_META: self._tools.shown().why_empty}
        return {**answer, "nextCursor": following} if following else answer

    async def _entry(self, entry: JsonObject | NativeTool, version: str) -> JsonObject:
        if not isinstance(entry, NativeTool):
            return entry
        if not entry.is_exact and not self._forms.has(entry.record):
            # Making forms is work: calls that wait must not wait for a whole page of them.
            await checkpoint()
        definition, links = entry.definition(self._forms, version), self._tools.links
        return definition if links is None else links.in_definition(entry.record.source, definition)

    def input_schema(self, name: str) -> JsonObject | None:
        """The schema whose `x-mcp-header` annotations a call has to follow, if it has any.

        Only the endpoint of a group shows them: elsewhere tools are called that no client listed.
        Without this hook the SDK would run `tools/list` before each call over HTTP.
        """
        native = self._tools.shown().native.get(name) if self._tools.endpoint.is_group else None
        if native is None or not native.has_mirrored_parameters:
            return None
        return native.record.contract.input_schema

    async def call(self, ctx: Context, params: CallToolRequestParams) -> JsonObject:
        """Answer `tools/call`: a meta-tool, or any tool by its own name."""
        asked = direct_call(
            params.name, params.arguments, LOCAL_CALLER, ctx.meta or {}, progress_of(ctx)
        )
        view = self._tools.shown().sight.view
        asked = replace(asked, view=view, interaction=interaction_of(ctx), log=log_of(ctx))
        asked = replace(asked, let_go=letting_go_of(ctx), session=session_of(ctx))
        if ctx.request is not None:
            asked = with_headers(asked, ctx.request.headers)
        with leaving_of(ctx.request).scope():
            answer = await self._tasks.answered(ctx, asked, partial(self._formed, ctx))
            return lay_interim(answer) if "resultType" in answer else lay_beside(answer)
        raise MCPError(CONNECTION_CLOSED, "the client has left")

    async def _formed(self, ctx: Context, asked: Call) -> JsonObject:
        """The answer in the form that the caller's generation takes.

        Raises:
            MCPError: the caller lacks an ability that the source needs.
        """
        answer = await self._answer(asked)
        if asked.tool not in META_TOOLS:
            refuse_lacking(answer, ctx.protocol_version)
        if "resultType" in answer:
            return answer
        links = self._tools.links
        linked = answer if links is None else links.in_answer(answer)
        return in_caller_form(linked, ctx.protocol_version)

    async def _answer(self, asked: Call) -> JsonObject:
        try:
            # In every mode: a model that learned them before the list turned around goes on.
            if asked.tool in META_TOOLS and not self._tools.endpoint.is_group:
                return await self._meta_tools.answer(asked)
            # Its schema was listed, and many clients refuse what comes without the promised data.
            named = replace(asked, tool=self._tools.shown().called(asked.tool), needs_data=True)
            # There is no `read_result` among the tools of one group.
            named = replace(named, is_mirrored=self._tools.endpoint.is_group)
            return (await self._calls.call(named)).as_mcp()
        except ToolError as error:
            return Result.failed(error).as_mcp()
        except Exception:  # noqa: BLE001 - the border of a request: a fault of ours becomes an answer
            _log.exception("the call of %r failed inside toolcrib", asked.tool)
            text = (
                f"a fault inside toolcrib while {asked.tool!r} was called; its log has the details"
            )
            return Result.failed(ToolError(INTERNAL, text)).as_mcp()
