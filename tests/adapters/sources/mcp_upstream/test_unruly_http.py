"""Servers at an address whose answers are endless, or no answers: they harm their own call only."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

from tests.adapters.sources.mcp_upstream.bay import bay, http_server
from toolcrib_protocol.errors import (
    SOURCE_DISCONNECTED,
    SOURCE_FAILED,
    TOOL_FAILED,
    UPSTREAM_PROTOCOL,
    ToolError,
)
from toolcrib_protocol.foreign_tool import Adopted, Quarantined, judge
from toolcrib_registry.ports import SourceStatus


@pytest.mark.promise("unruly-bodies")
@pytest.mark.parametrize(
    ("kind", "code", "reason"),
    [
        ("endless", UPSTREAM_PROTOCOL, "it is longer than 67,108,864 bytes"),
        ("bomb", UPSTREAM_PROTOCOL, "it is longer than 67,108,864 bytes"),
        ("endless error", SOURCE_FAILED, "answered HTTP 500"),
        ("endless redirect", TOOL_FAILED, "Redirect to .* not followed"),
    ],
)
async def test_an_answer_without_end_fails_its_own_call_only(
    kind: str, code: str, reason: str
) -> None:
    async with http_server("http") as server, bay(server.spec()) as made:
        with pytest.raises(ToolError, match=reason) as told:
            await made.call("trouble", kind=kind)
        assert told.value.code == code
        assert (await made.call("echo", a=1)).data == {"a": 1}
        assert made.host.states[-1].status is SourceStatus.READY


@pytest.mark.promise("unruly-bodies")
async def test_an_answer_without_end_to_a_message_of_the_events_ends_their_connection() -> None:
    async with http_server("sse") as server, bay(server.spec("sse")) as made:
        with pytest.raises(ToolError) as told:
            await made.call("trouble", kind="bomb")
        assert told.value.code == SOURCE_DISCONNECTED
        state = await made.host.settled()
        assert state.reason == "the connection ended: it is longer than 67,108,864 bytes"
        assert (await made.state_after_pause()).status is SourceStatus.READY


@pytest.mark.parametrize("kind", ["not json", "endless redirect"])
async def test_what_the_sdk_says_of_an_odd_answer_is_for_those_who_debug(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with http_server("http") as server, bay(server.spec()) as made:
        with pytest.raises(ToolError):
            await made.call("trouble", kind=kind)
    assert not [record for record in caplog.records if record.name.startswith("mcp.client")]


@pytest.mark.promise("sources-odd-entries-alone")
async def test_a_schema_nested_too_deeply_takes_no_sibling_away_over_http() -> None:
    async with http_server("http") as server, bay(server.spec()) as made:
        await made.call("trouble", kind="deep list")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.source.look_again)
            await made.pass_time(0.2)
        entries: list[Any] = [*made.host.listings[-1].entries]
        judged = [judge(entry) for entry in entries]
        assert [type(entry) for entry in judged] == [Adopted, Quarantined, Adopted]
        assert made.host.states[-1].status is SourceStatus.READY
