"""The answers of the meta-tools: search, describe, call.

Between a caller's arguments and search and calls; what the meta-tools look like is in
`meta_tools.py`, how answers are told in `search_answers.py` and `tool_descriptions.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_adapters.surfaces.call_answers import call_tool
from toolcrib_adapters.surfaces.meta_tools import (
    CALL_TOOL,
    DESCRIBE_TOOLS,
    META_TOOLS,
    READ_RESULT,
    SEARCH_TOOLS,
    USUAL_HITS,
)
from toolcrib_adapters.surfaces.search_answers import (
    ShownAnswer,
    ShownHit,
    ShownQuery,
    rendered,
)
from toolcrib_adapters.surfaces.tool_descriptions import described, description_of, not_described
from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_registry.arguments import ready_arguments
from toolcrib_registry.call import Call
from toolcrib_registry.checkers import Checkers
from toolcrib_registry.equivalents import KnownEquivalents
from toolcrib_registry.handles import ReadWish
from toolcrib_registry.questions import SearchRequest

if TYPE_CHECKING:
    from toolcrib_adapters.surfaces.endpoint_tools import EndpointTools
    from toolcrib_adapters.surfaces.published_forms import PublishedForms
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.questions import Hit, SearchAnswer, ToolSearch
    from toolcrib_registry.records import ToolRecord, VersionRecord


class MetaToolAnswers:
    """Carries out the meta-tools of one endpoint."""

    def __init__(
        self, tools: EndpointTools, calls: Calls, search: ToolSearch, forms: PublishedForms
    ) -> None:
        self._tools = tools
        self._calls = calls
        self._search = search
        self._checkers = Checkers()
        self._forms = forms
        self._equivalents = KnownEquivalents()
        self._answers = {
            SEARCH_TOOLS: self._search_tools,
            DESCRIBE_TOOLS: self._describe_tools,
            CALL_TOOL: self._call_tool,
            READ_RESULT: self._read_result,
        }

    async def answer(self, asked: Call) -> JsonObject:
        """The answer to a call whose tool is a meta-tool.

        Raises:
            ToolError: the arguments do not fit, or what the search or the call raises.
        """
        wish = self._wish(META_TOOLS[asked.tool], asked.arguments)
        return await self._answers[asked.tool](wish, asked)

    def _wish(self, meta_tool: VersionRecord, given: Json) -> JsonObject:
        checker = self._checkers.of(meta_tool)
        listed = _with_lists(given)
        return ready_arguments(meta_tool, checker, listed, refuses_unknown=True).values

    async def _search_tools(self, wish: JsonObject, _asked: Call) -> JsonObject:
        found = await self._search.ask(self._request(wish))
        return rendered(self._shown(found, str(wish.get("detail", "signatures"))))

    def _request(self, wish: JsonObject) -> SearchRequest:
        queries, group, limit = wish["queries"], wish.get("group"), wish.get("limit")
        allowed = self._tools.shown().allowed
        return SearchRequest(
            queries=tuple(map(str, queries if isinstance(queries, list) else [])),
            allowed=None if allowed is None else allowed.__contains__,
            group=group if isinstance(group, str) else None,
            limit=limit if isinstance(limit, int) else USUAL_HITS,
        )

    def _shown(self, found: SearchAnswer, detail: str) -> ShownAnswer:
        now = self._tools.shown()
        tools = now.sight.snapshot.tools
        queries = tuple(
            ShownQuery(
                answer.query,
                tuple(self._hit(tools[hit.tool], hit) for hit in answer.hits if hit.tool in tools),
            )
            for answer in found.queries
        )
        return ShownAnswer(
            queries, now.groups, found.revision, detail, found.degraded, now.why_empty
        )

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
            record = self._calls.resolve(Call(name, caller=asked.caller, view=asked.view))
            sight = self._tools.shown().sight
            tool = sight.snapshot.tools[record.tool]
            # Nobody is told of a tool that is not for them to see.
            stand_ins = [
                one
                for one in self._equivalents.of(sight.snapshot, record)
                if sight.allows(one.record.tool)
            ]
            return description_of(tool, record, self._forms.of(record), stand_ins)
        except ToolError as error:
            return not_described(name, error)

    async def _call_tool(self, wish: JsonObject, asked: Call) -> JsonObject:
        return await call_tool(self._calls, wish, asked)

    async def _read_result(self, wish: JsonObject, asked: Call) -> JsonObject:
        wanted = ReadWish(
            handle=str(wish["handle"]),
            path=_text(wish.get("path")),
            filter=_text(wish.get("filter")),
            range=_range(wish.get("range")),
        )
        return (await self._calls.read(wanted, asked)).as_mcp()


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _range(value: Json) -> tuple[int, int] | None:
    if value is None:
        return None
    bounds = [bound for bound in value if isinstance(bound, int)] if isinstance(value, list) else []
    if len(bounds) != 2:  # noqa: PLR2004 - a start and an end
        raise ToolError(INVALID_ARGUMENTS, f"{value!r} is no range; write [start, end]")
    return bounds[0], bounds[1]


def _with_lists(given: Json) -> Json:
    """One query or name given bare as a list of one: models write that often."""
    if not isinstance(given, dict):
        return given
    return {
        k: [v] if k in {"queries", "names"} and isinstance(v, str) else v for k, v in given.items()
    }
