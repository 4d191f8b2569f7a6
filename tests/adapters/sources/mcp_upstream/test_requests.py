"""What an upstream is asked besides its tools, and what it tells on its own."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from anyio.streams.text import TextReceiveStream

from tests.adapters.sources.mcp_upstream.bay import PATIENCE, Bay, bay
from tests.fake_upstreams import HERE, line_server, sdk_server
from toolcrib_protocol.errors import NOT_OFFERED, SOURCE_UNAVAILABLE, ToolError
from toolcrib_registry.notices import SUSPECTED, Notice, NoticeKind
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext, SourceStatus

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_protocol.json_value import Json, JsonObject

NOTES = "desk://notes"
KINDS = ("http", "http legacy")


@asynccontextmanager
async def offering(port: str, *words: str) -> AsyncIterator[str]:
    """The URL of a running `offering_server.py`."""
    command = [sys.executable, "-I", str(HERE / "offering_server.py"), "http", *words]
    async with await anyio.open_process(command, env={**os.environ, "PORT": port}) as process:
        assert process.stdout is not None
        try:
            with anyio.fail_after(PATIENCE):
                url = (await TextReceiveStream(process.stdout).receive()).strip()
            yield url
        finally:
            process.kill()


async def ask(made: Bay, method: str, limit: float = 30.0, **params: Json) -> JsonObject:
    context = CallContext(limit, LOCAL_CALLER)
    with anyio.fail_after(PATIENCE):
        return await made.source.request(method, params, context)


async def until_noticed(made: Bay, notice: Notice) -> None:
    with anyio.fail_after(PATIENCE):
        while notice not in made.host.notices:
            await anyio.lowlevel.checkpoint()  # the server's answer comes through the event loop


@pytest.mark.promise("pass-subscriptions")
@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_watched_is_watched_again_after_the_connection_was_lost(kind: str) -> None:
    _, *words = kind.split()
    changed = Notice("bay", NoticeKind.RESOURCE_UPDATED, {"uri": NOTES})
    async with offering("0", *words) as url:
        port = url.split(":")[2].split("/")[0]
        made_bay = bay({"transport": "http", "url": url})
        made = await made_bay.__aenter__()
        await ask(made, "resources/subscribe", uri=NOTES)
        assert changed not in made.host.notices
    try:
        for _ in range(2):
            with pytest.raises(ToolError):
                await made.call("seen")
        assert (await made.host.settled()).status is SourceStatus.FAILED
        async with offering(port, *words):
            assert (await made.state_after_pause()).status is SourceStatus.READY
            # It may have changed meanwhile.
            await until_noticed(made, changed)
            seen: Any = await made.facts("seen")
            assert seen["watched"] == [NOTES]
    finally:
        await made_bay.__aexit__(None, None, None)


@pytest.mark.promise("pass-subscriptions")
async def test_a_subscription_ends_also_while_there_is_no_connection() -> None:
    async with bay({"transport": "http", "url": "http://127.0.0.1:1/mcp"}) as made:
        with pytest.raises(ToolError) as told:
            await ask(made, "resources/subscribe", uri=NOTES)
        assert told.value.code == SOURCE_UNAVAILABLE
        assert await ask(made, "resources/unsubscribe", uri=NOTES) == {}


@pytest.mark.promise("pass-capabilities")
async def test_a_request_that_a_server_does_not_offer_to_answer_is_not_sent() -> None:
    async with bay(sdk_server()) as made:
        assert "resources" not in (made.source.capabilities() or {"resources": {}})
        for method in ("resources/list", "prompts/get", "completion/complete", "odd/method"):
            with pytest.raises(ToolError) as told:
                await ask(made, method)
            assert told.value.code == NOT_OFFERED
        with pytest.raises(ToolError) as told:
            await ask(made, "resources/subscribe", uri=NOTES)
        assert told.value.code == NOT_OFFERED


async def test_what_a_server_offers_is_not_known_before_it_was_connected() -> None:
    async with bay({"transport": "http", "url": "http://127.0.0.1:1/mcp"}) as made:
        assert made.source.capabilities() is None


async def test_a_new_connection_says_that_its_lists_may_be_others() -> None:
    offers: JsonObject = {"tools": {}, "prompts": {}, "resources": {}}
    async with bay(line_server({"capabilities": offers})) as made:
        suspected = [
            Notice("bay", kind, {SUSPECTED: True})
            for kind in (NoticeKind.PROMPTS_CHANGED, NoticeKind.RESOURCES_CHANGED)
        ]
        assert made.host.notices == suspected


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refused_request_has_the_words_of_the_server(kind: str) -> None:
    _, *words = kind.split()
    async with offering("0", *words) as url, bay({"transport": "http", "url": url}) as made:
        with pytest.raises(ToolError) as told:
            await ask(made, "resources/read", uri="desk://none")
        assert told.value.details == {
            "jsonrpc_code": -32002 if words else -32602,
            "jsonrpc_message": "Resource not found",
            "jsonrpc_data": {"uri": "desk://none"},
            **({} if words else {"http_status": 400}),
        }
