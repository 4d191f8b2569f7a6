"""`Crib`: find tools, read about them, call them, offer them to a model, publish new ones.

The one door of the client. Speaks the crib's meta-tools over one connection; knows nothing about
how tools are found or run. Used by authors of agents.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from toolcrib_client.calls import (
    MOST_CALLS_AT_ONCE,
    TIMEOUT_META,
    WHOLE_META,
    Call,
    as_call,
    batches,
    result_of,
    results_of,
)
from toolcrib_client.connection import Connection, Request
from toolcrib_client.failures import failure, typed
from toolcrib_client.hits import PublishReceipt, SearchAnswer, ToolDescription
from toolcrib_client.kept_results import reading, value_read
from toolcrib_client.publication import read_publication
from toolcrib_client.target import read_target
from toolcrib_client.timeouts import CALL_GRACE_SECONDS, Timeouts
from toolcrib_client.tool_calls import read_tool_call
from toolcrib_client.tool_formats import ToolDefinition, defined
from toolcrib_client.wire_errors import read_error
from toolcrib_protocol.call_meta import FRESH_META
from toolcrib_protocol.errors import INVALID_ARGUMENTS, UPSTREAM_PROTOCOL, ToolError
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from toolcrib_client.calls import CallLike
    from toolcrib_client.link import Mode, OnProgress
    from toolcrib_client.publication import Publishable
    from toolcrib_client.target import Reachable
    from toolcrib_client.tool_calls import ModelToolCall
    from toolcrib_client.tool_formats import Format
    from toolcrib_protocol.json_value import Json, JsonObject

T = TypeVar("T")

META_TOOLS: Final = ("search_tools", "describe_tools", "call_tool", "read_result", "run")
"""The tools by which an agent uses a crib by itself; no published tool has one of these names."""
_QUESTIONS: Final = frozenset({"search_tools", "describe_tools", "read_result"})
_MOST_QUERIES: Final = 8
_MOST_NAMES: Final = 20
_MOST_PAGES: Final = 100
_SEARCH_ANSWER: Final = TypeAdapter(SearchAnswer)
_DESCRIPTION: Final = TypeAdapter(ToolDescription)
_RECEIPT: Final = TypeAdapter(PublishReceipt)
_USUAL_TIMEOUTS: Final = Timeouts()


class Crib:
    """A crib, while the block is open: `async with Crib("http://127.0.0.1:8765/mcp") as crib:`.

    Leave the block in the task that entered it; inside, any number of tasks may use the crib at the
    same time. A lost connection is opened again when it is needed. Questions are then asked again,
    once; calls never are.
    """

    def __init__(
        self,
        target: Reachable,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        mode: Mode = "auto",
        timeouts: Timeouts = _USUAL_TIMEOUTS,
    ) -> None:
        """Say where the crib is; nothing is opened yet.

        Args:
            target: a URL; a command as a list of words, such as `["toolcrib", "serve", "--stdio"]`,
                which is started with this process's environment; `StdioServerParameters`; an
                `mcp.server.Server` of this process, or an object that has one as `.server`.
            token: sent as `Authorization: Bearer ...`; URLs only.
            headers: sent with every request; URLs only.
            mode: which generation of the protocol to speak; by default the newest that both sides
                know.
            timeouts: how long to wait.

        Raises:
            ToolError: `invalid_settings`.
        """
        self._timeouts = timeouts
        target_ = read_target(target, token=token, headers=headers)
        self._connection = Connection(target_, mode, timeouts.connect_seconds)

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._connection.__aexit__(*exception)

    @property
    def protocol_version(self) -> str:
        """The MCP revision that both sides speak."""
        return self._connection.protocol_version

    async def search(
        self,
        *queries: str,
        group: str | None = None,
        limit: int | None = None,
        detail: Literal["names", "signatures", "schemas"] = "signatures",
    ) -> SearchAnswer:
        """The tools that fit: iterate over them all, best first, or read query by query.

        Args:
            queries: what is to be done, one task each, in your own words and language; names of
                tools work too.
            group: search only there.
            limit: at most so many hits for each query.
            detail: how much to bring back of each tool.

        Raises:
            ToolError: typed.
        """
        if not queries:
            raise failure(INVALID_ARGUMENTS, "search() needs at least one query")
        options: JsonObject = {"group": group, "limit": limit, "detail": detail}
        given: JsonObject = {key: value for key, value in options.items() if value is not None}
        answers = [
            await self._read("search_tools", {"queries": [*some], **given}, _SEARCH_ANSWER)
            for some in batches(queries, _MOST_QUERIES)
        ]
        return SearchAnswer.joined(answers)

    async def describe(self, names: str | Sequence[str]) -> list[ToolDescription]:
        """Everything that callers may rely on, for each name or reference, in order.

        Raises:
            ToolError: typed; `unknown_tool` if one of the names is unknown.
        """
        listed = [names] if isinstance(names, str) else list(names)
        described: list[ToolDescription] = []
        for some in batches(listed, _MOST_NAMES):
            result = await self._asked("describe_tools", {"names": [*some]})
            entries = result.data.get("tools") if isinstance(result.data, dict) else None
            if not isinstance(entries, list):
                raise result.error or self._odd("describe_tools", "there is no list of tools in it")
            described += [self._description(entry) for entry in entries]
        return described

    async def call(  # noqa: PLR0913 - options, each given by its name
        self,
        name: str,
        arguments: JsonObject | None = None,
        *,
        version: str | None = None,
        timeout_seconds: float | None = None,
        on_progress: OnProgress | None = None,
        key: str | None = None,
        fresh: bool = False,
        whole: bool = True,
    ) -> Result:
        """What the tool brought back, failures too; `.unwrap()` raises their typed error.

        Args:
            name: a published name or a reference (`group/tool@^2`).
            arguments: for the tool.
            version: a range; None for the newest version.
            timeout_seconds: the limit for this call; None for the tool's own.
            on_progress: awaited with (progress, total or None, message or None) as the tool reports
                it.
            key: an idempotency key: the same call with the same key is carried out once, and its
                answer given again.
            fresh: ask the source, even if the crib remembers an answer.
            whole: take a large result as it is; False: a preview and a handle (`handle_of`), for
                `read` or as `{"$handle": handle}` in other arguments.
        """
        wish = Call(name, arguments, version, key).as_json()
        meta: JsonObject = {WHOLE_META: whole, **({FRESH_META: True} if fresh else {})}
        request = self._call_request(wish, f"the call of {name!r}", timeout_seconds, meta)
        # A crib knows a call again by its key, so sending it twice is harmless.
        return await self._result(
            replace(request, on_progress=on_progress, may_repeat=key is not None)
        )

    async def call_many(
        self, calls: Iterable[CallLike], *, timeout_seconds: float | None = None
    ) -> list[Result]:
        """The results of several calls, in their order; the crib runs them at the same time.

        Args:
            calls: `Call(...)` or `(name, arguments)`.
            timeout_seconds: the limit for each call; None for the tools' own.
        """
        results: list[Result] = []
        for some in batches([as_call(call) for call in calls], MOST_CALLS_AT_ONCE):
            wish: JsonObject = {"calls": [call.as_json() for call in some]}
            request = self._call_request(wish, f"the {len(some)} calls", timeout_seconds)
            try:
                results += results_of(await self._connection.request(request), some)
            except ToolError as error:
                results += [Result.failed(error)] * len(some)
        return results

    async def read(
        self,
        handle: str,
        path: str | None = None,
        *,
        filter: str | None = None,  # noqa: A002 - the word of `read_result`
        range: tuple[int, int] | None = None,  # noqa: A002 - the same
    ) -> Json:
        """What a crib kept under a handle, or a part of it.

        Args:
            handle: from `handle_of` a result.
            path: from the whole value on: `rows[5].name`.
            filter: an expression over `it`: `[r.name for r in it.rows if r.price > 3]`.
            range: from which character of a text or item of a list, and before which.

        Raises:
            ToolError: typed; `unknown_handle`, `invalid_expression`, `expression_budget`.
        """
        wish = reading(handle, path, filter, range)
        return value_read(await self._asked("read_result", wish, {WHOLE_META: True}))

    async def publish(self, *what: Publishable, source: str | None = None) -> PublishReceipt:
        """Register tools with the crib while it runs; publishing the same again changes nothing.

        Args:
            what: contracts; or `@tool` functions of one file; or the path of a .py or .json file;
                or the name of a module. Python is loaded by the crib, so the file has to be on its
                machine.
            source: the name of the new source, and the group of its tools; by default the file's
                name, or the group of the contracts.

        Raises:
            ToolError: typed; `not_permitted` where the crib does not take publications from this
                caller.
        """
        publication = await read_publication(what, source)
        request = Request(
            "toolcrib/publish",
            publication.as_params(),
            "publishing",
            self._timeouts.question_seconds,
            may_repeat=True,
        )
        answer = await self._connection.request(request)
        return self._formed(_RECEIPT, answer, "publishing")

    async def tools(
        self,
        query_or_names: str | Sequence[str],
        format: Format = "openai",  # noqa: A002 - the word that users look for
        *,
        limit: int | None = None,
    ) -> list[JsonObject]:
        """Tools as the `tools` of a request to a model, whose calls `dispatch` takes.

        Args:
            query_or_names: a text is searched for; a list names the tools.
            format: whose API it is for.
            limit: at most so many, for a search.

        Raises:
            ToolError: typed.
        """
        names = query_or_names
        if isinstance(query_or_names, str):
            answer = await self.search(query_or_names, limit=limit, detail="names")
            names = [hit.name for hit in answer]
        described = await self.describe(names) if names else []
        return defined([ToolDefinition.of(tool) for tool in described], format)

    async def meta_tools(self, format: Format = "openai") -> list[JsonObject]:  # noqa: A002
        """The crib's own few tools, by which a model finds and calls all others by itself.

        Raises:
            ToolError: typed.
        """
        listed = {str(tool.get("name")): tool async for tool in self._listed()}
        mine = [listed[name] for name in META_TOOLS if name in listed]
        return defined([ToolDefinition.from_mcp(tool) for tool in mine], format)

    async def dispatch(self, tool_call: object) -> JsonObject:
        """The message that answers a model's tool call, once it is carried out.

        Whatever fails becomes an answer that the model can read.

        Args:
            tool_call: an entry of OpenAI's `tool_calls`, a `function_call` item of its responses,
                an Anthropic `tool_use` block, a Gemini `functionCall`, or the parameters of an MCP
                `tools/call`; as dict or as object of the SDK.

        Raises:
            ToolError: `invalid_arguments` if it is no tool call at all.
        """
        call = read_tool_call(tool_call)
        return call.answered(await self._dispatched(call))

    async def _dispatched(self, call: ModelToolCall) -> Result:
        try:
            arguments = call.parsed_arguments()
            if call.name in _QUESTIONS:
                return await self._asked(call.name, arguments)
        except ToolError as error:
            return Result.failed(typed(error))
        if call.name in META_TOOLS:
            return await self._called(call.name, arguments)
        return await self.call(call.name, arguments, whole=False)

    async def _called(self, tool: str, arguments: JsonObject) -> Result:
        """The result of a meta-tool that does things."""
        params: JsonObject = {"name": tool, "arguments": arguments}
        return await self._result(
            Request("tools/call", params, f"the call of {tool}", self._timeouts.call_seconds)
        )

    async def _result(self, request: Request) -> Result:
        try:
            return result_of(await self._connection.request(request))
        except ToolError as error:
            return Result.failed(error)

    def _call_request(
        self,
        wish: JsonObject,
        what: str,
        timeout_seconds: float | None,
        meta: JsonObject | None = None,
    ) -> Request:
        told: JsonObject = {WHOLE_META: True, **(meta or {})}
        seconds = self._timeouts.call_seconds
        if timeout_seconds is not None:
            told[TIMEOUT_META] = timeout_seconds
            seconds = timeout_seconds + CALL_GRACE_SECONDS
        params: JsonObject = {"name": "call_tool", "arguments": wish, "_meta": told}
        return Request("tools/call", params, what, seconds)

    async def _asked(
        self, tool: str, arguments: JsonObject, meta: JsonObject | None = None
    ) -> Result:
        """The result of a meta-tool that only reads."""
        params: JsonObject = {"name": tool, "arguments": arguments, "_meta": meta or {}}
        seconds = self._timeouts.question_seconds
        return result_of(
            await self._connection.request(
                Request("tools/call", params, tool, seconds, may_repeat=True)
            )
        )

    async def _read(self, tool: str, arguments: JsonObject, form: TypeAdapter[T]) -> T:
        result = await self._asked(tool, arguments)
        if result.error is not None:
            raise result.error
        return self._formed(form, result.data, tool)

    def _description(self, entry: Json) -> ToolDescription:
        error = read_error(entry.get("error")) if isinstance(entry, dict) else None
        if error is not None:
            raise error
        return self._formed(_DESCRIPTION, entry, "describe_tools")

    async def _listed(self) -> AsyncIterator[JsonObject]:
        cursor: Json = None
        for _ in range(_MOST_PAGES):
            params: JsonObject = {} if cursor is None else {"cursor": cursor}
            seconds = self._timeouts.question_seconds
            answer = await self._connection.request(
                Request("tools/list", params, "the list of tools", seconds, may_repeat=True)
            )
            tools = answer.get("tools")
            for tool in tools if isinstance(tools, list) else ():
                if isinstance(tool, dict):
                    yield tool
            cursor = answer.get("nextCursor")
            if cursor is None:
                return

    def _formed(self, form: TypeAdapter[T], data: Json, what: str) -> T:
        try:
            return form.validate_python(data)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            where = "/".join(str(part) for part in fault["loc"])
            raise self._odd(what, f"{where or 'it'}: {fault['msg']}") from error

    def _odd(self, what: str, reason: str) -> ToolError:
        text = (
            f"the answer to {what} is not what a crib answers ({reason}); is "
            f"{self._connection.target} one?"
        )
        return failure(UPSTREAM_PROTOCOL, text)
