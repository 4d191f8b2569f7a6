"""Servers that die, fall silent, go mute or never begin: told apart, and back again."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from tests.adapters.sources.mcp_upstream.bay import PATIENCE, bay
from tests.fake_upstreams import line_server
from toolcrib_protocol.errors import (
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    TOOL_TIMED_OUT,
    ToolError,
)
from toolcrib_registry.ports import SourceStatus

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")
FIRST_PAUSE = 0.1


@pytest.mark.promise("field-o17-upstream-dies")
@pytest.mark.promise("life-classified")
@pytest.mark.parametrize("fault", ["die", "mute"])
async def test_a_server_that_ends_its_output_fails_the_call_at_once_and_comes_back(
    fault: str,
) -> None:
    async with bay(line_server()) as made:
        with pytest.raises(ToolError) as told:
            await made.call(fault, limit=PATIENCE)
        assert (told.value.code, told.value.details) == (SOURCE_DISCONNECTED, {"sent": True})
        assert (await made.host.settled()).status is SourceStatus.FAILED
        assert (await made.state_after_pause()).status is SourceStatus.READY
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("field-o17-upstream-dies")
@pytest.mark.promise("life-classified")
async def test_silence_ends_at_the_deadline_of_the_call() -> None:
    async with bay(line_server()) as made:
        with pytest.raises(ToolError) as told:
            await made.call("wait", limit=0.1)
        assert (told.value.code, told.value.details) == (TOOL_TIMED_OUT, {"sent": True})
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("field-o17-upstream-dies")
@pytest.mark.promise("life-classified")
async def test_a_server_that_ends_before_it_agreed_calls_nothing_and_is_tried_again(
    tmp_path: Path,
) -> None:
    script = tmp_path / "server"
    script.write_text("exit 3\n")
    spec = line_server()
    assert isinstance(spec["args"], list)
    words = [str(script), str(spec["command"]), *map(str, spec["args"])]
    async with bay({**spec, "command": "/bin/sh", "args": [*words]}) as made:
        assert made.state.reason == "the server ended before it answered"
        with pytest.raises(ToolError) as told:
            await made.call("echo")
        assert told.value.code == SOURCE_UNAVAILABLE
        assert told.value.details["sent"] is False
        script.write_text('exec "$@"\n')
        assert (await made.state_after_pause()).status is SourceStatus.READY
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("life-serves-again")
async def test_a_server_that_was_killed_serves_again_after_a_short_first_pause() -> None:
    async with bay(line_server()) as made:
        pid = (await made.facts("environment"))["pid"]
        assert isinstance(pid, int)
        os.kill(pid, signal.SIGKILL)
        assert (await made.host.settled()).status is SourceStatus.FAILED
        await made.pass_time(FIRST_PAUSE)
        assert (await made.host.settled()).status is SourceStatus.READY
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("field-o18-one-breaks-alone")
async def test_a_break_under_twenty_callers_is_told_to_each_and_cancels_nobody() -> None:
    codes: Counter[str] = Counter()
    async with bay(line_server()) as made:

        async def ask(number: int) -> None:
            try:
                await made.call("die" if number == 6 else "wait", limit=PATIENCE)
            except ToolError as error:
                codes[error.code] += 1

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(ask, number)
        assert sum(codes.values()) == 20
        assert set(codes) <= {SOURCE_DISCONNECTED, SOURCE_UNAVAILABLE, TOOL_TIMED_OUT}
        await made.host.settled()
        assert (await made.state_after_pause()).status is SourceStatus.READY
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("life-busy-is-no-hang")
async def test_a_server_at_work_at_one_long_call_is_not_taken_for_hanging(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with bay(line_server({"starts": str(starts)})) as made:
        slept: list[object] = []

        async def nap() -> None:
            slept.append((await made.call("nap", limit=PATIENCE, seconds=7)).data)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(nap)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(ToolError) as told:
                await made.call("echo", limit=0.1)
            assert told.value.code == TOOL_TIMED_OUT
        assert slept == [{"slept": 7}]
        assert (await made.call("echo", a=1)).data == {"a": 1}
    assert len(starts.read_text().split()) == 1


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.promise("life-level")
async def test_reconnects_leave_no_descriptor_no_task_and_no_memory_behind() -> None:
    async with bay(line_server()) as made:

        async def reconnect() -> None:
            link = made.source._link.present
            assert link is not None
            link.end("it broke")
            await made.host.settled()
            await made.state_after_pause()

        for _ in range(5):
            await reconnect()
        gc.collect()
        before = (descriptors(), len(anyio.get_running_tasks()), len(gc.get_objects()))
        for _ in range(25):
            await reconnect()
            made.host.states.clear()
            made.host.listings.clear()
        gc.collect()
        after = (descriptors(), len(anyio.get_running_tasks()), len(gc.get_objects()))
        assert after[:2] == before[:2]
        # A connection that stayed would be some hundreds of objects each time.
        assert after[2] - before[2] < 25 * 40
