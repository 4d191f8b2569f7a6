"""Servers that hang: they are noticed, ended and started anew, and who waits for them is told."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from tests.adapters.sources.mcp_upstream.bay import PATIENCE, bay, http_server
from tests.fake_upstreams import line_server
from toolcrib_protocol.errors import (
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    TOOL_TIMED_OUT,
    ToolError,
)
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be stopped there")


@pytest.mark.promise("unruly-hanging")
async def test_a_process_that_hangs_is_ended_and_started_anew() -> None:
    async with bay(line_server()) as made, anyio.create_task_group() as tasks:
        pid = (await made.facts("environment"))["pid"]
        assert isinstance(pid, int)
        pending: list[ToolError] = []

        async def wait() -> None:
            with pytest.raises(ToolError) as told:
                await made.call("wait", limit=2)
            pending.append(told.value)

        tasks.start_soon(wait)
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(ToolError) as told:
            await made.call("echo", limit=0.1)
        assert told.value.code == TOOL_TIMED_OUT
        state = await made.host.settled()
        assert state.status is SourceStatus.FAILED
        assert state.reason.startswith("the connection ended: the server hangs")
        assert [error.code for error in pending] == [TOOL_TIMED_OUT]
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert (await made.state_after_pause()).status is SourceStatus.READY
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("unruly-hanging")
@pytest.mark.parametrize("mode", ["http", "http-legacy"])
async def test_a_server_at_an_address_that_hangs_is_connected_anew(mode: str) -> None:
    async with http_server(mode) as server, bay(server.spec()) as made:
        os.kill(server.process.pid, signal.SIGSTOP)
        with pytest.raises(ToolError) as told:
            await made.call("echo", limit=0.1)
        assert told.value.code == TOOL_TIMED_OUT
        assert "hangs" in (await made.host.settled()).reason
        os.kill(server.process.pid, signal.SIGCONT)
        assert (await made.state_after_pause()).status is SourceStatus.READY
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("unruly-hanging")
async def test_who_asks_a_source_that_hangs_for_its_list_is_told() -> None:
    async with bay(line_server()) as made:
        pid = (await made.facts("environment"))["pid"]
        assert isinstance(pid, int)
        os.kill(pid, signal.SIGSTOP)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.source.look_again)
            await made.pass_time(0.2)
        assert made.host.states[-1].status is SourceStatus.FAILED
        assert "hangs" in made.host.states[-1].reason


@pytest.mark.promise("unruly-hanging")
async def test_a_server_with_a_slow_tool_is_pinged_and_left_alone(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with bay(line_server({"starts": str(starts)})) as made:
        with pytest.raises(ToolError) as told:
            await made.call("wait", limit=0.1)
        assert told.value.code == TOOL_TIMED_OUT
        with anyio.fail_after(PATIENCE):
            while "ping" not in repr(await made.facts("heard")):
                await anyio.lowlevel.checkpoint()
        assert made.host.states[-1].status is SourceStatus.READY
    assert len(starts.read_text().splitlines()) == 1


@pytest.mark.promise("unruly-hanging")
async def test_a_server_that_writes_one_line_without_end_is_started_anew() -> None:
    async with bay(line_server()) as made:
        with pytest.raises(ToolError) as told:
            await made.call("write", text="FILL", fill=140_000_000)
        assert told.value.code in {SOURCE_DISCONNECTED, SOURCE_UNAVAILABLE}
        assert "without an end of line" in (await made.host.settled()).reason
        assert (await made.state_after_pause()).status is SourceStatus.READY
        assert (await made.call("echo", a=1)).data == {"a": 1}
