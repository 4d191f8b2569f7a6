"""The client against the real gateway, in this process and over HTTP, in both generations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.adapters.surfaces.bench import BLOCKS, Bench
from tests.adapters.surfaces.doors import over_http
from toolcrib_adapters.surfaces.publisher import CribPublisher
from toolcrib_client import (
    Contract,
    Crib,
    InvalidArguments,
    NotPermitted,
    OutcomeUnknown,
    ToolFailed,
    ToolTimedOut,
    UnknownTool,
)
from toolcrib_registry.hand_clock import HandClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_client.link import Mode
    from toolcrib_registry.ports import SourceState


class NoSources:
    """Stands where no Python target is published."""

    async def settled(self, source: str) -> SourceState | None:
        raise NotImplementedError


@pytest.fixture
async def bench() -> Bench:
    return await Bench.open()


@pytest.fixture(params=["memory", "http"])
async def gateway(request: pytest.FixtureRequest, bench: Bench, mode: Mode) -> AsyncIterator[Crib]:
    publisher = CribPublisher(bench.catalogue, NoSources(), HandClock())
    server = bench.server(publisher=publisher)
    if request.param == "memory":
        async with Crib(server, mode=mode) as crib:
            yield crib
    else:
        async with over_http(server) as url, Crib(url, mode=mode) as crib:
            yield crib


@pytest.mark.promise("client-raw-results")
async def test_a_result_comes_through_the_gateway_as_the_tool_gave_it(gateway: Crib) -> None:
    result = await gateway.call("play__blocks")
    assert list(result.content) == BLOCKS["content"]
    assert result.unwrap() == BLOCKS["structuredContent"]
    assert result.meta["io.toolcrib/tool"] == "play/blocks@1.0.0"


async def test_a_tool_is_called_by_reference_and_version(gateway: Crib) -> None:
    result = await gateway.call("play/echo@^1", {"n": 2**60}, version="^1")
    assert result.unwrap() == {"n": 2**60}


async def test_lists_of_calls_keep_order_and_reasons(gateway: Crib) -> None:
    one, two, three = await gateway.call_many(
        [("play__echo", {"n": 1}), ("play__nope", {}), ("play__fail", {})]
    )
    assert one.unwrap() == {"n": 1}
    assert isinstance(two.error, UnknownTool)
    assert isinstance(three.error, ToolFailed)


@pytest.mark.promise("client-typed-errors")
async def test_errors_of_the_gateway_arrive_as_their_classes(gateway: Crib) -> None:
    with pytest.raises(UnknownTool, match="play__echo"):
        (await gateway.call("play__ecko")).unwrap()
    with pytest.raises(InvalidArguments, match="to"):
        (await gateway.call("play__send_mail", {"to": 7})).unwrap()
    with pytest.raises(ToolFailed, match="the tool's own words"):
        (await gateway.call("play__fail")).unwrap()
    with pytest.raises(UnknownTool):
        await gateway.describe(["play__echo", "play__ecko"])


async def test_progress_comes_through_the_gateway(gateway: Crib) -> None:
    seen: list[float] = []

    async def note(progress: float, _total: float | None, _message: str | None) -> None:
        seen.append(progress)

    await gateway.call("play__count", on_progress=note)
    assert seen == [1, 2, 3]


async def test_the_gateway_ends_a_call_at_the_limit_it_was_given(
    gateway: Crib, bench: Bench
) -> None:
    result = await gateway.call("play__hang", timeout_seconds=0.1)
    assert isinstance(result.error, OutcomeUnknown | ToolTimedOut)
    with anyio.fail_after(20):
        await bench.playground.cancelled.wait()


@pytest.mark.promise("client-tool-formats")
async def test_tools_of_the_gateway_go_to_a_model_and_its_calls_come_back(gateway: Crib) -> None:
    (offered,) = await gateway.tools(["play/send_mail"], "anthropic")
    assert offered["name"] == "play__send_mail"
    call = {"type": "tool_use", "id": "1", "name": offered["name"], "input": {"to": "ann"}}
    answer = await gateway.dispatch(call)
    assert (answer["tool_use_id"], answer["is_error"]) == ("1", False)


async def test_a_description_of_the_gateway_is_understood_whole(gateway: Crib) -> None:
    (tool,) = await gateway.describe("play__send_mail")
    assert tool.reference == "play/send_mail@1.0.0"
    assert tool.title == "Send mail"
    assert tool.versions == ("1.0.0",)
    assert tool.behaviour is not None
    assert tool.behaviour["read_only"] == "unknown"


@pytest.mark.promise("client-publish")
async def test_what_is_published_is_there_at_once_and_twice_is_once(gateway: Crib) -> None:
    contract = Contract(group="shop", name="order", version="1.2.0", description="Orders parts.")
    first = await gateway.publish(contract)
    again = await gateway.publish(contract)
    assert [tool.status for tool in (*first.published, *again.published)] == ["added", "unchanged"]
    (tool,) = await gateway.describe("shop/order")
    assert tool.reference == "shop/order@1.2.0"


async def test_a_gateway_that_takes_no_publications_says_how_to_allow_them(bench: Bench) -> None:
    async with Crib(bench.server()) as crib:
        with pytest.raises(NotPermitted, match="--allow-publish"):
            await crib.publish({"name": "a", "inputSchema": {}}, source="shop")
