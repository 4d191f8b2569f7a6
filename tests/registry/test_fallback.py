"""What answers in place of a tool that cannot, and what never does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.cribs import raw_tool
from tests.registry.healed import always, fault, faulty, infirmary
from tests.registry.providers import echo
from toolcrib_protocol.errors import (
    NEEDS_SIGN_IN,
    OUTCOME_UNKNOWN,
    RATE_LIMITED,
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    TOOL_FAILED,
    TOOL_TIMED_OUT,
    ErrorKind,
)
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.result import TOOL_META, Result, Status
from toolcrib_protocol.tool import Contract
from toolcrib_registry.fallback import DEGRADED_META, FALLBACK_META
from toolcrib_registry.interaction import Interaction
from toolcrib_registry.result_shape import SHAPE_META
from toolcrib_registry.views import View

if TYPE_CHECKING:
    from tests.registry.healed import Infirmary
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.permissions import Caller
    from toolcrib_registry.ports import CallContext

READS: JsonObject = {"annotations": {"readOnlyHint": True}}
AWAY = fault(SOURCE_UNAVAILABLE)
LOST = fault(SOURCE_DISCONNECTED)


def search(name: str = "web_search", about: str = "Search the web for pages.") -> JsonObject:
    """A tool that only reads and needs a query."""
    schema: JsonObject = {
        "type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"],
    }  # fmt: skip
    return {"name": name, "description": about, "inputSchema": schema, **READS}


async def two_searches() -> Infirmary:
    """Two sources whose search tools are in one group."""
    ward = await infirmary(brave=[search()], tavily=[search("webSearch")])
    await ward.group("web", ToolId("brave", "web_search"), ToolId("tavily", "webSearch"))
    return ward


@pytest.mark.promise("healing-fallback")
async def test_where_a_tool_that_reads_is_away_its_equivalent_answers_and_the_caller_knows() -> (
    None
):
    ward = await two_searches()
    ward.sources["brave"].tools = {"web_search": always(AWAY)}
    result = await ward.call("brave/web_search", {"query": "x"})
    assert result.unwrap() == {"query": "x"}
    assert result.meta[TOOL_META] == "tavily/webSearch@1.0.0"
    assert result.meta[FALLBACK_META] == {
        "answered": "tavily/webSearch@1.0.0",
        "instead_of": "brave/web_search@1.0.0",
        "because": "not_sent",
        "grounds": "derived: same group, name, arguments and results",
    }
    assert ward.clock.slept == []  # nobody waits for what is away
    assert len(ward.sources["brave"].called) == 1


@pytest.mark.promise("healing-fallback")
async def test_a_lost_connection_is_tried_again_quickly_before_another_tool_is_asked() -> None:
    ward = await two_searches()
    seen: list[float | None] = []

    async def lost(arguments: JsonObject, context: CallContext) -> Result:
        seen.append(context.reconnect_seconds)
        return await always(LOST)(arguments, context)

    ward.sources["brave"].tools = {"web_search": faulty(LOST)}
    result = await ward.call("brave/web_search", {"query": "x"})
    assert FALLBACK_META not in result.meta
    ward.sources["brave"].tools = {"web_search": lost}
    result = await ward.call("brave/web_search", {"query": "x"})
    assert FALLBACK_META in result.meta
    assert ward.clock.slept == [0.05, 0.05, 0.1]
    assert seen == [0.05, 0.05, 0.05]


@pytest.mark.promise("healing-fallback")
async def test_a_tool_that_hangs_is_not_asked_again_before_another_one_is() -> None:
    ward = await two_searches()
    ward.sources["brave"].tools = {"web_search": always(fault(TOOL_TIMED_OUT))}
    result = await ward.call("brave/web_search", {"query": "x"})
    assert FALLBACK_META in result.meta
    assert len(ward.sources["brave"].called) == 1


async def test_where_the_equivalent_fails_too_the_tool_itself_is_tried_again() -> None:
    ward = await two_searches()
    ward.sources["brave"].tools = {"web_search": faulty(AWAY)}
    ward.sources["tavily"].tools = {"webSearch": always(fault(TOOL_FAILED, ErrorKind.FATAL))}
    result = await ward.call("brave/web_search", {"query": "x"})
    assert result.meta[TOOL_META] == "brave/web_search@1.0.0"
    assert FALLBACK_META not in result.meta
    ward.sources["brave"].tools = {"web_search": always(AWAY)}
    failed = await ward.call("brave/web_search", {"query": "x"})
    assert failed.error is not None
    assert failed.error.code == SOURCE_UNAVAILABLE
    assert len(ward.sources["tavily"].called) == 2


def _asking(required: list[Json], **types: Json) -> JsonObject:
    """A search tool with other arguments."""
    properties: JsonObject = {
        name: {} if kind is None else {"type": kind} for name, kind in types.items()
    }
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return {**search(), "inputSchema": schema}


A_STRING: JsonObject = {"a": {"type": "string"}}
LOOK_ALIKES: list[JsonObject] = [
    search("web_find"),
    search("web_searches"),
    search(about="Looks up entries of the phone book by name"),
    {**search(), "annotations": {}},
    {**search(), "outputSchema": {"type": "object", "properties": A_STRING}},
    _asking(["query"], query="integer"),
    _asking(["query"], query=["null", "boolean"]),
    {**search(), "inputSchema": {"properties": {"query": True}, "required": ["query"]}},
    _asking(["query"], query=None),
    _asking(["query", "key"], query="string", key="string"),
    _asking([]),
    {**search(), "annotations": {"readOnlyHint": True, "openWorldHint": True}},
]


@pytest.mark.promise("healing-fallback")
@pytest.mark.parametrize("other", LOOK_ALIKES)
async def test_what_only_looks_alike_is_not_derived(other: JsonObject) -> None:
    mine: JsonObject = {**search(), "annotations": {"readOnlyHint": True, "openWorldHint": False}}
    ward = await infirmary(brave=[mine], other=[other])
    await ward.group("web", ToolId("brave", "web_search"), ToolId("other", str(other["name"])))
    ward.sources["brave"].tools = {"web_search": always(AWAY)}
    assert (await ward.call("brave/web_search", {"query": "x"})).is_error
    assert ward.sources["other"].called == []


async def test_tools_that_share_no_group_or_need_no_argument_are_not_derived() -> None:
    listing = raw_tool("list_projects", more=READS)
    ward = await infirmary(a=[search(), listing], b=[search(), listing])
    await ward.group("all", ToolId("a", "list_projects"), ToolId("b", "list_projects"))
    ward.sources["a"].tools = {"web_search": always(AWAY), "list_projects": always(AWAY)}
    assert (await ward.call("a/web_search", {"query": "x"})).is_error
    assert (await ward.call("a/list_projects")).is_error
    assert ward.sources["b"].called == []


async def test_results_are_covered_only_if_all_that_is_promised_is_promised_there_too() -> None:
    def promising(**parts: str) -> JsonObject:
        properties: JsonObject = {name: {"type": kind} for name, kind in parts.items()}
        return {**search(), "outputSchema": {
            "type": "object", "properties": properties, "required": [*parts]}}  # fmt: skip

    async def answers(mine: JsonObject, other: JsonObject) -> bool:
        ward = await infirmary(a=[mine], b=[other])
        await ward.group("web", ToolId("a", "web_search"), ToolId("b", "web_search"))
        ward.sources["a"].tools = {"web_search": always(AWAY)}
        ward.sources["b"].tools = {"web_search": lambda _a, _c: echo({"n": 1, "more": "x"}, _c)}
        return not (await ward.call("a/web_search", {"query": "x"})).is_error

    assert await answers(promising(n="number"), promising(n="integer"))
    assert await answers(promising(n="integer"), promising(n="integer", more="string"))
    assert not await answers(promising(n="integer"), promising(n="number"))
    assert not await answers(promising(n="integer", more="string"), promising(n="integer"))
    assert not await answers(promising(n="integer"), search())
    assert not await answers({**search(), "outputSchema": {"type": "object"}}, promising())


@pytest.mark.promise("healing-fallback")
async def test_an_argument_that_the_equivalent_does_not_know_is_not_left_out_for_it() -> None:
    more: JsonObject = {
        "properties": {"query": {"type": "string"}, "site": {"type": "string"}},
        "required": ["query"],
    }
    ward = await infirmary(a=[{**search(), "inputSchema": more}], b=[search()])
    await ward.group("web", ToolId("a", "web_search"), ToolId("b", "web_search"))
    ward.sources["a"].tools = {"web_search": always(AWAY)}
    assert (await ward.call("a/web_search", {"query": "x", "site": "y"})).is_error
    assert ward.sources["b"].called == []
    assert not (await ward.call("a/web_search", {"query": "x"})).is_error


@pytest.mark.promise("field-o42-fallback")
async def test_no_fallback_reaches_what_the_caller_may_not_use_or_does_not_see() -> None:
    class NotTavily:
        def allows(self, caller: Caller, tool: ToolId) -> bool:
            return tool.group != "tavily" or caller.id == "boss"

    ward = await infirmary(NotTavily(), brave=[search()], tavily=[search()])
    await ward.group("web", ToolId("brave", "web_search"), ToolId("tavily", "web_search"))
    await ward.rule("tool:brave/web_search", equivalents=["tavily/web_search"])
    ward.sources["brave"].tools = {"web_search": always(AWAY)}
    refused = await ward.call("brave/web_search", {"query": "x"})
    assert refused.error is not None
    assert refused.error.code == SOURCE_UNAVAILABLE
    assert "tavily" not in str(refused.as_mcp())
    assert ward.sources["tavily"].called == []

    seen = await two_searches()
    seen.sources["brave"].tools = {"web_search": always(AWAY)}
    narrow = View("narrow", groups=("brave",))
    assert (await seen.call("brave/web_search", {"query": "x"}, view=narrow)).is_error
    assert seen.sources["tavily"].called == []


@pytest.mark.promise("healing-fallback")
async def test_a_write_goes_to_a_declared_equivalent_only_if_it_provably_did_nothing() -> None:
    ward = await infirmary(a=[raw_tool("send")], b=[raw_tool("post")], c=[raw_tool("send")])
    await ward.group("all", ToolId("a", "send"), ToolId("c", "send"))
    await ward.rule("source:a", retries=0)
    ward.sources["a"].tools = {"send": always(AWAY)}
    assert (await ward.call("a/send")).is_error  # nothing was declared, and writes derive nothing
    await ward.rule("tool:a/send", equivalents=["b/post", "b/gone", "a/send"], retries=0)
    handed = await ward.call("a/send")
    assert handed.meta[TOOL_META] == "b/post@1.0.0"
    ward.sources["a"].tools = {"send": always(LOST)}
    lost = await ward.call("a/send")
    assert lost.error is not None
    assert lost.error.code == OUTCOME_UNKNOWN
    assert (len(ward.sources["b"].called), ward.sources["c"].called) == (1, [])


async def test_a_contract_declares_equivalents_but_none_that_does_more_harm() -> None:
    def contract(group: str, name: str, **behaviour: bool) -> Contract:
        return Contract.model_validate({"group": group, "name": name, "behaviour": behaviour})

    first = Contract.model_validate(
        {
            "group": "a", "name": "look", "behaviour": {"read_only": True},
            "equivalents": ["b/write", "b/destroy", "b/unclear"],
        }
    )  # fmt: skip
    b = [
        contract("b", "write", read_only=False), contract("b", "destroy", destructive=True),
        contract("b", "unclear"),
    ]  # fmt: skip
    ward = await infirmary(a=[first], b=b)
    ward.sources["a"].tools = {"look": always(AWAY)}
    result = await ward.call("a/look")
    assert result.meta[TOOL_META] == "b/unclear@1.0.0"
    facts = result.meta[FALLBACK_META]
    assert isinstance(facts, dict)
    assert facts["grounds"] == "declared by the contract"


async def test_a_write_is_not_handed_to_what_destroys_and_at_most_two_are_asked() -> None:
    destroy = raw_tool("wipe", more={"annotations": {"destructiveHint": True}})
    others = [raw_tool(f"send{n}") for n in range(3)]
    ward = await infirmary(a=[raw_tool("send")], b=[destroy, *others])
    names: list[Json] = ["b/wipe", "b/send0", "b/send1", "b/send2"]
    await ward.rule("tool:a/send", equivalents=names, retries=0)
    ward.sources["a"].tools = {"send": always(AWAY)}
    for number in range(3):
        ward.sources["b"].tools[f"send{number}"] = always(fault(TOOL_FAILED, ErrorKind.FATAL))
    assert (await ward.call("a/send")).is_error
    assert [name for name, _ in ward.sources["b"].called] == ["send0", "send1"]


@pytest.mark.parametrize(
    "failure",
    [
        fault(NEEDS_SIGN_IN, ErrorKind.NEEDS_HUMAN, http_status=401),
        fault(TOOL_FAILED, ErrorKind.FATAL),
        fault("invalid_arguments", ErrorKind.FATAL, jsonrpc_code=-32602),
    ],
)
async def test_failures_of_the_call_itself_are_not_handed_on(failure: Exception) -> None:
    ward = await two_searches()
    ward.sources["brave"].tools = {"web_search": always(failure)}  # type: ignore[arg-type]
    assert (await ward.call("brave/web_search", {"query": "x"})).is_error
    assert ward.sources["tavily"].called == []


async def test_the_answer_to_a_question_is_not_taken_to_another_tool() -> None:
    ward = await two_searches()
    ward.sources["brave"].tools = {"web_search": always(AWAY)}
    state = Interaction(state="{}")
    assert (await ward.call("brave/web_search", {"query": "x"}, interaction=state)).is_error
    assert ward.sources["tavily"].called == []


async def test_two_that_stand_in_for_each_other_do_not_go_round_in_circles() -> None:
    ward = await two_searches()
    ward.sources["brave"].tools = {"web_search": always(AWAY)}
    ward.sources["tavily"].tools = {"webSearch": always(AWAY)}
    await ward.rule("source:tavily", retries=0)
    await ward.rule("source:brave", retries=0)
    assert (await ward.call("brave/web_search", {"query": "x"})).is_error
    assert [len(source.called) for source in ward.sources.values()] == [1, 1]


async def test_what_was_derived_is_derived_anew_when_the_catalogue_changes() -> None:
    ward = await two_searches()
    ward.sources["brave"].tools = {"web_search": always(AWAY)}
    assert not (await ward.call("brave/web_search", {"query": "x"})).is_error
    await ward.group("web", ToolId("brave", "web_search"))
    assert (await ward.call("brave/web_search", {"query": "x"})).is_error


def lesser(**form: Json) -> Contract:
    """A tool that only reads, with a degraded form."""
    count: JsonObject = {"properties": {"count": {"type": "integer"}}}
    return Contract.model_validate(
        {
            "group": "a", "name": "list", "behaviour": {"read_only": True}, "input_schema": count,
            "degraded": {"description": "fewer", **form},
        }
    )  # fmt: skip


@pytest.mark.promise("healing-fallback")
async def test_a_smaller_call_answers_where_the_whole_one_is_too_much() -> None:
    ward = await infirmary(a=[lesser(arguments={"count": 10}, result=[])])

    async def run(arguments: JsonObject, context: CallContext) -> Result:
        if arguments["count"] == 10:
            return await echo(arguments, context)
        assert context.timeout_seconds == pytest.approx(20)  # some is left for the smaller call
        return await always(LOST)(arguments, context)

    ward.sources["a"].tools = {"list": run}
    result = await ward.call("a/list", {"count": 1_000})
    assert result.unwrap() == {"count": 10}
    assert result.meta[DEGRADED_META] == {
        "because": "connection_lost", "description": "fewer", "form": "smaller call",
    }  # fmt: skip


@pytest.mark.promise("healing-fallback")
async def test_a_fixed_result_answers_last_and_never_hides_a_lost_write() -> None:
    ward = await infirmary(a=[lesser(arguments={"count": 10}, result={"items": []})])
    ward.sources["a"].tools = {"list": always(LOST)}
    result = await ward.call("a/list", {"count": 1_000})
    assert (result.status, result.data, result.text) == (
        Status.SUCCESS, {"items": []}, '{"items":[]}',
    )  # fmt: skip
    facts = result.meta[DEGRADED_META]
    assert isinstance(facts, dict)
    assert facts["form"] == "fixed result"
    words = await infirmary(a=[lesser(result="come back later")])
    words.sources["a"].tools = {"list": always(AWAY)}
    assert (await words.call("a/list")).text == "come back later"

    write = lesser(result="ok").model_copy(update={"behaviour": Contract.model_validate(
        {"group": "a", "name": "x"}).behaviour})  # fmt: skip
    ward = await infirmary(a=[write])
    ward.sources["a"].tools = {"list": always(LOST)}
    lost = await ward.call("a/list")
    assert lost.error is not None
    assert lost.error.code == OUTCOME_UNKNOWN


async def test_without_a_form_that_helps_the_failure_stays() -> None:
    ward = await infirmary(a=[lesser(arguments={"count": 10})])
    ward.sources["a"].tools = {"list": always(AWAY)}
    assert (await ward.call("a/list")).is_error
    ward.sources["a"].tools = {"list": always(fault(RATE_LIMITED, http_status=429))}
    assert (await ward.call("a/list")).is_error


async def test_an_equivalent_that_takes_all_the_time_leaves_none_for_another_attempt() -> None:
    ward = await two_searches()
    ward.calls.grace_seconds = 0.01
    ward.chance[0] = 0.999

    async def silent(_arguments: JsonObject, context: CallContext) -> Result:
        with context.patience_of_source().limit():
            await anyio.sleep_forever()
        raise fault(TOOL_TIMED_OUT)

    ward.sources["brave"].tools = {"web_search": always(LOST)}
    ward.sources["tavily"].tools = {"webSearch": silent}
    await ward.rule("source:tavily", retries=0)
    assert (await ward.call("brave/web_search", {"query": "x"}, timeout_seconds=0.3)).is_error
    assert [len(source.called) for source in ward.sources.values()] == [2, 1]


async def test_no_time_left_means_no_other_tool_and_no_smaller_call() -> None:
    ward = await infirmary(a=[lesser(arguments={"count": 10})], b=[raw_tool("list", more=READS)])
    await ward.rule("tool:a/list", equivalents=["b/list"])

    async def late(_arguments: JsonObject, _context: CallContext) -> Result:
        await anyio.sleep(0.02)
        raise fault(TOOL_TIMED_OUT)

    ward.sources["a"].tools = {"list": late}
    assert (await ward.call("a/list", timeout_seconds=0.02)).is_error
    assert ward.sources["b"].called == []
    assert len(ward.sources["a"].called) == 1


async def test_the_answer_of_another_tool_is_checked_with_what_this_one_promises() -> None:
    promised: JsonObject = {
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
    }  # fmt: skip
    ward = await infirmary(a=[{**search(), "outputSchema": promised}], b=[search("other_search")])
    await ward.rule("tool:a/web_search", equivalents=["b/other_search"])
    ward.sources["a"].tools = {"web_search": always(AWAY)}
    result = await ward.call("a/web_search", {"query": "x"})
    assert SHAPE_META in result.meta
    assert FALLBACK_META in result.meta
