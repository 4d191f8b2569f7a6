"""How a caller hands its key over, and its wish for a fresh answer: at every door."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import call_raw, open_door, over_http, post, raw_request
from toolcrib_adapters.surfaces.call_answers import TIMEOUT_META
from toolcrib_client import Call as ClientCall
from toolcrib_client import Crib
from toolcrib_protocol.call_meta import FRESH_META, KEY_META
from toolcrib_protocol.errors import INVALID_ARGUMENTS
from toolcrib_registry.calls import Calls
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.call import Call
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work


class Notebook:
    """A stage that notes the calls that come by."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    async def carry(self, work: Work, onward: Onward) -> Result:
        self.calls.append(work.call)
        return await onward(work)

    @property
    def keys(self) -> list[str | None]:
        return [call.key for call in self.calls]


async def noted() -> tuple[Bench, Notebook]:
    """A crib whose calls are noted."""
    bench, notebook = await Bench.open(), Notebook()
    bench.calls = Calls(bench.catalogue, bench.playground, path=Path((notebook,)))
    return bench, notebook


@pytest.mark.promise("ledger-key-at-every-door")
async def test_a_key_comes_in_meta_for_call_tool_and_for_a_tool_by_its_name() -> None:
    bench, notebook = await noted()
    async with over_http(bench.server()) as url:
        await call_raw(url, "play__echo", {}, {KEY_META: "k-1"})
        await call_raw(url, "call_tool", {"name": "play/echo"}, {KEY_META: "k-2"})
        await call_raw(url, "call_tool", {"name": "play/echo", "key": "own"}, {KEY_META: "k-3"})
        await call_raw(url, "play__echo", {}, {KEY_META: 17})
        await call_raw(url, "play__echo", {}, {FRESH_META: True})
    assert notebook.keys == ["k-1", "k-2", "own", "17", None]
    assert [call.is_fresh for call in notebook.calls] == [False] * 4 + [True]


@pytest.mark.promise("ledger-key-at-every-door")
@pytest.mark.parametrize(
    ("sent", "key"), [("k-1", "k-1"), ('"k 1"', "k 1"), ('"', '"'), ('"a"b"', 'a"b')]
)
async def test_a_key_comes_in_the_header_with_quotes_or_without(sent: str, key: str) -> None:
    bench, notebook = await noted()
    async with over_http(bench.server()) as url, httpx2.AsyncClient() as http:
        params: JsonObject = {"name": "play__echo", "arguments": {}}
        request = raw_request("tools/call", params)
        await post(http, url, request, **{"idempotency-key": sent})
        both = raw_request("tools/call", {**params, "_meta": {KEY_META: "of meta"}})
        await post(http, url, both, **{"idempotency-key": sent})
    assert notebook.keys == [key, "of meta"]


@pytest.mark.promise("ledger-key-at-every-door")
async def test_each_call_of_a_list_has_its_own_key_or_its_place_in_the_keyed_list() -> None:
    bench, notebook = await noted()
    calls: JsonObject = {"calls": [{"name": "play/echo"}, {"name": "play/echo", "key": "own"}]}
    async with over_http(bench.server()) as url:
        await call_raw(url, "call_tool", calls, {KEY_META: "all"})
        await call_raw(url, "call_tool", calls)
    assert sorted(map(str, notebook.keys)) == ["None", "all#0", "own", "own"]


@pytest.mark.promise("ledger-key-at-every-door")
async def test_the_client_hands_over_keys_and_the_wish_for_a_fresh_answer() -> None:
    bench, notebook = await noted()
    async with over_http(bench.server()) as url, Crib(url) as crib:
        await crib.call("play/echo", {"a": 1}, key="k-1")
        await crib.call("play/echo", fresh=True, timeout_seconds=5)
        await crib.call_many([ClientCall("play/echo", key="k-2"), ("play/echo", {})])
    assert sorted(map(str, notebook.keys)) == ["None", "None", "k-1", "k-2"]
    assert [call.is_fresh for call in notebook.calls][:2] == [False, True]
    assert notebook.calls[1].timeout_seconds == 5


@pytest.mark.promise("ledger-odd-keys")
async def test_an_odd_key_is_refused_with_a_lesson_at_the_wire() -> None:
    bench, notebook = await noted()
    async with over_http(bench.server()) as url:
        refused = await call_raw(url, "play__echo", {}, {KEY_META: {"not": "a key\n"}})
        empty = await call_raw(url, "call_tool", {"name": "play/echo", "key": ""})
    assert not notebook.calls
    assert not bench.playground.seen
    for answer in (refused, empty):
        assert answer["isError"] is True
        assert INVALID_ARGUMENTS in str(answer["_meta"])


@pytest.mark.parametrize(
    ("door", "has_session"),
    [("memory legacy", True), ("http legacy", True), ("http modern", False)],
)
async def test_conversations_are_told_apart_where_the_protocol_has_any(
    door: str, has_session: bool
) -> None:
    bench, notebook = await noted()
    async with open_door(door, bench) as client:
        await client.call_tool("play__echo", {})
        await client.call_tool("call_tool", {"name": "play/echo"})
    one, two = (call.session for call in notebook.calls)
    assert one == two
    assert bool(one) is has_session
    async with open_door(door, bench) as client:
        await client.call_tool("play__echo", {})
    assert (notebook.calls[2].session == one) is not has_session


@pytest.mark.promise("call-odd-timeouts")
@pytest.mark.parametrize("seconds", [0, -1, -1.5, "abc", "5", [], True])
async def test_a_time_limit_that_is_none_is_refused_before_anything_is_called(
    seconds: Json,
) -> None:
    bench, _ = await noted()
    async with over_http(bench.server()) as url:
        told = {TIMEOUT_META: seconds}
        direct = await call_raw(url, "play__echo", {}, told)
        wrapped = await call_raw(url, "call_tool", {"name": "play/echo"}, told)
    assert not bench.playground.seen
    for answer in (direct, wrapped):
        assert answer["isError"] is True
        assert INVALID_ARGUMENTS in str(answer["_meta"])
        assert "Write a number above 0" in str(answer["content"])
