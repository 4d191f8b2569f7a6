"""What an agent can ask: the tool list, the three meta-tools, and every tool by its own name.

The handlers of one MCP server, free of its assembly (`mcp_server.py`) and of transports. Decides
nothing about tools: search and calls do.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib_adapters.surfaces.call_answers import call_tool, direct_call
from toolcrib_adapters.surfaces.caller_form import in_caller_form
from toolcrib_adapters.surfaces.group_summary import summary, visible_groups
from toolcrib_adapters.surfaces.meta_tools import (
    CALL_TOOL,
    DESCRIBE_TOOLS,
    META_TOOLS,
    SEARCH_TOOLS,
    USUAL_HITS,
    definitions,
)
from toolcrib_adapters.surfaces.pages import StaleCursorError, page
from toolcrib_adapters.surfaces.published_forms import PublishedForms
from toolcrib_adapters.surfaces.search_answers import (
    ShownAnswer,
    ShownHit,
    ShownQuery,
    rendered,
)
from toolcrib_adapters.surfaces.tool_descriptions import described, description_of, not_described
from toolcrib_adapters.surfaces.whole_answers import lay_beside
from toolcrib_protocol.errors import INTERNAL, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import Result
from toolcrib_registry.arguments import ready_arguments
from toolcrib_registry.calls import Call
from toolcrib_registry.checkers import Checkers
from toolcrib_registry.permissions import LOCAL_CALLER, AllowAll
from toolcrib_registry.search import SearchRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from toolcrib_adapters.surfaces.group_summary import GroupView
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.ports import Progress
    from toolcrib_registry.records import ToolRecord, VersionRecord
    from toolcrib_registry.search import Hit, Search, SearchAnswer
    from toolcrib_registry.snapshot import Snapshot

    Context = ServerRequestContext[Any, Any]

_log = logging.getLogger(__name__)

LIST_TTL_MS: Final = 60_000
"""How long a client may keep the tool list; it is told earlier if the list changes."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What callers see of one snapshot."""

    snapshot: Snapshot
    groups: tuple[GroupView, ...]
    tools: list[JsonObject]
    text: str


class AgentSurface:
    """The handlers of one MCP server."""

    def __init__(self, catalogue: Catalogue, calls: Calls, search: Search, policy: Policy) -> None:
        self._catalogue = catalogue
        self._calls = calls
        self._search = search
        self._policy = policy
        self._checkers = Checkers()
        self._forms = PublishedForms()
        self._last_seen: _Seen | None = None
        self._meta_tools = {
            SEARCH_TOOLS: self._search_tools,
            DESCRIBE_TOOLS: self._describe_tools,
            CALL_TOOL: self._call_tool,
        }

    def seen(self) -> _Seen:
        """What callers see now; made anew only when the catalogue has moved."""
        snapshot = self._catalogue.snapshot
        if self._last_seen is None or self._last_seen.snapshot is not snapshot:
            groups = visible_groups(snapshot, self._policy, LOCAL_CALLER)
            tools = definitions(summary(groups))
            self._last_seen = _Seen(snapshot, groups, tools, dump_json([*tools]))
        return self._last_seen

    def list_text(self) -> str:
        """The tool list as text, to tell whether it changed."""
        return self.seen().text

    async def list_tools(self, _ctx: Context, params: PaginatedRequestParams | None) -> JsonObject:
        """Answer `tools/list`.

        Raises:
            MCPError: the cursor belongs to a list that has changed.
        """
        seen = self.seen()
        try:
            shown, following = page(seen.tools, seen.text, params.cursor if params else None)
        except StaleCursorError:
            text = (
                "the tool list has changed since that cursor was given; list again from the start"
            )
            raise MCPError(INVALID_PARAMS, text) from None
        answer: JsonObject = {
            "tools": [*shown],
            "ttlMs": LIST_TTL_MS,
            # The groups are those of the caller, so nobody else may be served this list.
            "cacheScope": "private",
            "resultType": "complete",
        }
        return {**answer, "nextCursor": following} if following else answer

    async def call(self, ctx: Context, params: CallToolRequestParams) -> JsonObject:
        """Answer `tools/call`: a meta-tool, or any tool by its own name."""
        asked = direct_call(
            params.name, params.arguments, LOCAL_CALLER, ctx.meta or {}, _progress_of(ctx)
        )
        if ctx.request is not None:
            asked = replace(asked, caller_headers=ctx.request.headers)
        answer = await self._answer(asked)
        return lay_beside(in_caller_form(answer, ctx.protocol_version))

    async def _answer(self, asked: Call) -> JsonObject:
        try:
            meta_tool = META_TOOLS.get(asked.tool)
            if meta_tool is None:
                return (await self._calls.call(asked)).as_mcp()
            wish = self._wish(meta_tool, asked.arguments)
            return await self._meta_tools[asked.tool](wish, asked)
        except ToolError as error:
            return Result.failed(error).as_mcp()
        except Exception:  # noqa: BLE001 - the border of a request: a fault of ours becomes an answer
            _log.exception("the call of %r failed inside toolcrib", asked.tool)
            text = (
                f"a fault inside toolcrib while {asked.tool!r} was called; its log has the details"
            )
            return Result.failed(ToolError(INTERNAL, text)).as_mcp()

    def _wish(self, meta_tool: VersionRecord, given: Json) -> JsonObject:
        checker = self._checkers.of(meta_tool)
        listed = _with_lists(given)
        return ready_arguments(meta_tool, checker, listed, refuses_unknown=True).values

    async def _search_tools(self, wish: JsonObject, asked: Call) -> JsonObject:
        found = await self._search.ask(self._request(wish, asked))
        return rendered(self._shown(found, str(wish.get("detail", "signatures"))))

    def _request(self, wish: JsonObject, asked: Call) -> SearchRequest:
        queries, group, limit = wish["queries"], wish.get("group"), wish.get("limit")
        # Asking the policy about each tool costs milliseconds, and the usual one has nothing to
        # say.
        allowed = (
            None if type(self._policy) is AllowAll else partial(self._policy.allows, asked.caller)
        )
        return SearchRequest(
            queries=tuple(map(str, queries if isinstance(queries, list) else [])),
            allowed=allowed,
            group=group if isinstance(group, str) else None,
            limit=limit if isinstance(limit, int) else USUAL_HITS,
        )

    def _shown(self, found: SearchAnswer, detail: str) -> ShownAnswer:
        tools = self._catalogue.snapshot.tools
        queries = tuple(
            ShownQuery(
                answer.query,
                tuple(self._hit(tools[hit.tool], hit) for hit in answer.hits if hit.tool in tools),
            )
            for answer in found.queries
        )
        return ShownAnswer(queries, self.seen().groups, found.revision, detail, found.degraded)

    def _hit(self, tool: ToolRecord, hit: Hit) -> ShownHit:
        # A tool that was retired since the search ran is shown as it was; calling it says what
        # happened.
        record = tool.head or tool.versions[max(tool.versions)]
        return ShownHit(tool.published_name, record, self._forms.of(record), hit.score, hit.why)

    async def _describe_tools(self, wish: JsonObject, asked: Call) -> JsonObject:
        names = wish["names"]
        listed = names if isinstance(names, list) else []
        return described([self._described(str(name), asked) for name in listed])

    def _described(self, name: str, asked: Call) -> JsonObject:
        try:
            record = self._calls.resolve(Call(name, caller=asked.caller))
            tool = self._catalogue.snapshot.tools[record.tool]
            return description_of(tool, record, self._forms.of(record))
        except ToolError as error:
            return not_described(name, error)

    async def _call_tool(self, wish: JsonObject, asked: Call) -> JsonObject:
        return await call_tool(self._calls, wish, asked)


def _with_lists(given: Json) -> Json:
    """One query or name given bare as a list of one: models write that often."""
    if not isinstance(given, dict):
        return given
    return {
        k: [v] if k in {"queries", "names"} and isinstance(v, str) else v for k, v in given.items()
    }


def _progress_of(ctx: Context) -> Callable[[Progress], Awaitable[None]] | None:
    """Where progress goes, if the caller asked for it."""
    # In process and in the newer generation the SDK keeps the wish to itself; elsewhere there is a
    # token.
    may_be_in_process = ctx.request is None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    if "progress_token" not in (ctx.meta or {}) and not may_be_in_process:
        return None

    async def report(progress: Progress) -> None:
        await ctx.session.report_progress(progress.progress, progress.total, progress.message)

    return report
