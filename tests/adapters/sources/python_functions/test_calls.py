"""Calls of Python functions: what comes out, and what a function cannot do to the crib."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.adapters.sources.python_functions.desk import desk, ended
from toolcrib_protocol.errors import (
    AT_CAPACITY,
    INVALID_ARGUMENTS,
    TOOL_CRASHED,
    TOOL_FAILED,
    TOOL_TIMED_OUT,
    UNKNOWN_TOOL,
    ErrorKind,
    ToolError,
)
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from toolcrib_protocol.result import Result

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="waits for processes by pidfd")


def error_of(result: Result) -> ToolError:
    assert result.error is not None
    return result.error


@pytest.mark.promise("contract-integers-exact")
async def test_sync_and_async_functions_answer_with_data_and_text(tmp_path: Path) -> None:
    code = """
        import asyncio

        @tool
        def double(number: int) -> int:
            return number * 2

        @tool
        async def wait(seconds: float) -> dict[str, float]:
            await asyncio.sleep(seconds)
            return {"waited": seconds}
    """
    async with desk(tmp_path / "a.py", code) as functions:
        doubled = await functions.call("double", number=2**70)
        assert doubled.data == {"result": 2**71}
        assert doubled.text == str(2**71)
        assert (await functions.call("wait", seconds=0)).data == {"waited": 0}


@pytest.mark.promise("python-output-is-free")
async def test_what_a_function_prints_or_reads_does_not_touch_the_channel(tmp_path: Path) -> None:
    code = """
        import os, subprocess, sys

        @tool
        def noisy() -> str:
            print("x" * 100_000)
            sys.stdout.flush()
            os.write(1, b"raw")
            subprocess.run(["echo", "from a child"], check=True)
            return repr(sys.stdin.read())
    """
    async with desk(tmp_path / "a.py", code) as functions:
        assert (await functions.call("noisy")).text == "''"
        assert (await functions.call("noisy")).text == "''"


async def test_an_exception_is_a_failure_with_the_authors_own_lines(tmp_path: Path) -> None:
    code = """
        import json

        def inner(text):
            return json.loads(text)

        @tool
        def parse(text: str) -> dict:
            return inner(text)

        @tool
        async def parse_later(text: str) -> dict:
            return inner(text)
    """
    async with desk(tmp_path / "a.py", code) as functions:
        for name, line in (("parse", 10), ("parse_later", 14)):
            error = error_of(await functions.call(name, text="{"))
            assert error.code == TOOL_FAILED
            assert error.message.startswith("JSONDecodeError: Expecting property name")
            assert error.message.endswith(f"(a.py line {line}, in {name} > a.py line 6, in inner)")


async def test_errors_that_the_contract_declares_keep_their_code(tmp_path: Path) -> None:
    code = """
        from toolcrib_protocol.errors import ErrorKind, ToolError

        @tool
        def raises(kind: str) -> None:
            '''Raises.

            Raises:
                LookupError: nothing there
            '''
            if kind == "own":
                raise ToolError("closed", "come back", ErrorKind.RETRYABLE, {"hours": 2})
            if kind == "exit":
                raise SystemExit(3)
            raise KeyError(kind)
    """
    async with desk(tmp_path / "a.py", code) as functions:
        own = error_of(await functions.call("raises", kind="own"))
        assert own.as_json() == {
            "code": "closed",
            "message": "come back",
            "kind": "retryable",
            "details": {"hours": 2},
        }
        assert error_of(await functions.call("raises", kind="hat")).code == "LookupError"
        assert error_of(await functions.call("raises", kind="exit")).message.startswith(
            "SystemExit: 3"
        )


async def test_arguments_that_the_hints_refuse_are_told_as_such(tmp_path: Path) -> None:
    code = """
        from datetime import date

        @tool
        def year(day: date) -> int:
            return day.year
    """
    async with desk(tmp_path / "a.py", code) as functions:
        assert (await functions.call("year", day="2027-01-31")).data == {"result": 2027}
        error = error_of(await functions.call("year", day="tomorrow"))
        assert error.code == INVALID_ARGUMENTS
        assert "/day" in error.message


async def test_a_result_that_the_function_made_passes_block_for_block(tmp_path: Path) -> None:
    code = """
        from toolcrib_protocol.result import Result

        @tool
        def picture() -> Result:
            block = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
            return Result(content=(block,), meta={"vendor/x": 1})
    """
    async with desk(tmp_path / "a.py", code) as functions:
        result = await functions.call("picture")
        assert result.as_mcp() == {
            "content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
            "_meta": {"vendor/x": 1},
        }


async def test_a_result_that_cannot_be_sent_is_a_failure_and_not_a_crash(tmp_path: Path) -> None:
    code = """
        from toolcrib_protocol.result import Result

        @tool
        def nan() -> float:
            return float("nan")

        @tool
        def raw() -> Result:
            return Result(data=float("nan"), has_data=True)

        @tool
        def huge() -> str:
            return "x" * 70_000_000
    """
    async with desk(tmp_path / "a.py", code) as functions:
        assert "cannot be written as JSON" in error_of(await functions.call("nan")).message
        assert "cannot be sent" in error_of(await functions.call("raw")).message
        assert "more than the" in error_of(await functions.call("huge")).message


async def test_arguments_that_are_too_large_to_send_are_refused(tmp_path: Path) -> None:
    async with desk(
        tmp_path / "a.py", "@tool\ndef size(text: str) -> int: return len(text)"
    ) as functions:
        with pytest.raises(ToolError, match="cannot be sent") as caught:
            await functions.call("size", text="x" * 70_000_000)
        assert caught.value.code == INVALID_ARGUMENTS
        assert (await functions.call("size", text="x" * 3_000_000)).data == {"result": 3_000_000}


CRASHES = """
    import ctypes, os, signal

    @tool
    def crash(how: str) -> None:
        if how == "segfault":
            ctypes.string_at(0)
        if how == "exit":
            os._exit(7)
        if how == "garbage":
            for fd in range(3, 20):
                try:
                    os.write(fd, b"garbage!")
                except OSError:
                    pass
        os.kill(os.getpid(), signal.SIGKILL)

    @tool
    def pid() -> int:
        return os.getpid()
"""


@pytest.mark.promise("python-worker-crash")
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("segfault", "signal SIGSEGV"),
        ("exit", "exit code 7"),
        ("kill", "signal SIGKILL"),
        ("garbage", "channel"),
    ],
)
async def test_a_crash_ends_the_worker_and_never_the_crib(
    tmp_path: Path, how: str, words: str
) -> None:
    async with desk(tmp_path / "a.py", CRASHES) as functions:
        before = await functions.call("pid")
        with pytest.raises(ToolError, match=words) as caught:
            await functions.call("crash", how=how)
        assert caught.value.code == TOOL_CRASHED
        assert (await functions.call("pid")).data != before.data
        assert [state.status for state in functions.host.states][-1] is SourceStatus.READY


@pytest.mark.promise("python-timeout-stops")
@linux_only
async def test_a_sync_function_that_loops_is_really_stopped_with_all_it_started(
    tmp_path: Path,
) -> None:
    code = """
        import os, pathlib, subprocess

        @tool
        def loop(note: str) -> None:
            child = subprocess.Popen(["sleep", "1000"])
            pathlib.Path(note).write_text(f"{os.getpid()} {child.pid}")
            while True:
                pass

        @tool
        def quick() -> str:
            return "done"
    """
    note = tmp_path / "pids"
    async with desk(tmp_path / "a.py", code) as functions:
        with pytest.raises(ToolError, match=r"'loop' of 'desk' took over 1 s") as caught:
            await functions.call("loop", limit=1, note=str(note))
        assert caught.value.code == TOOL_TIMED_OUT
        for pid in note.read_text().split():
            assert await ended(int(pid))
        assert (await functions.call("quick")).text == "done"


SLOW = """
    import asyncio, os, pathlib, time

    def tell(note: str) -> None:
        with open(note, "w") as pipe:
            pipe.write(str(os.getpid()))

    @tool
    def block(note: str) -> None:
        tell(note)
        time.sleep(1000)

    @tool
    async def nap(note: str) -> None:
        tell(note)
        await asyncio.sleep(1000)

    @tool
    async def hog(note: str) -> None:
        tell(note)
        time.sleep(1000)

    @tool
    def sync_pid() -> int:
        return os.getpid()

    @tool
    async def async_pid() -> int:
        return os.getpid()
"""


async def started(note: Path) -> int:
    """The process of the function that tells its pid through the pipe `note`."""
    return int(await anyio.to_thread.run_sync(note.read_text, abandon_on_cancel=True))


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


@linux_only
async def test_a_caller_that_gives_up_stops_a_sync_function(tmp_path: Path) -> None:
    note = pipe(tmp_path / "note")
    async with desk(tmp_path / "a.py", SLOW) as functions:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: functions.call("block", note=str(note)))
            pid = await started(note)
            tasks.cancel_scope.cancel()
        assert await ended(pid)
        assert (await functions.call("sync_pid")).data != {"result": pid}


@pytest.mark.promise("python-timeout-stops")
async def test_an_async_function_is_cancelled_and_its_neighbours_live_on(tmp_path: Path) -> None:
    note = pipe(tmp_path / "note")
    async with desk(tmp_path / "a.py", SLOW) as functions:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: functions.call("nap", note=str(note)))
            pid = await started(note)
            assert (await functions.call("async_pid")).data == {"result": pid}
            tasks.cancel_scope.cancel()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(started, note)
            with pytest.raises(ToolError, match="took over") as caught:
                await functions.call("nap", limit=0.5, note=str(note))
        assert caught.value.code == TOOL_TIMED_OUT
        assert (await functions.call("async_pid")).data == {"result": pid}


@pytest.mark.promise("python-stop-hits-its-own")
@linux_only
async def test_an_async_function_that_blocks_takes_only_its_own_process_with_it(
    tmp_path: Path,
) -> None:
    notes = [pipe(tmp_path / name) for name in ("nap", "hog", "block")]
    outcome: dict[str, ToolError] = {}
    async with desk(tmp_path / "a.py", SLOW) as functions:

        async def keep(name: str, note: Path, seconds: float) -> None:
            try:
                await functions.call(name, limit=seconds, note=str(note))
            except ToolError as error:
                outcome[name] = error

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep, "block", notes[2], 30.0)
            sync_pid = await started(notes[2])
            async with anyio.create_task_group() as together:
                together.start_soon(keep, "nap", notes[0], 30.0)
                await started(notes[0])
                together.start_soon(keep, "hog", notes[1], 0.5)
                await started(notes[1])
            assert outcome["hog"].code == TOOL_TIMED_OUT
            assert outcome["nap"].code == TOOL_CRASHED
            assert "another call, 'hog', did not stop" in outcome["nap"].message
            os.kill(sync_pid, 0)
            tasks.cancel_scope.cancel()
        assert "block" not in outcome
        assert (await functions.call("async_pid")).data is not None


async def test_no_more_sync_calls_run_at_once_than_there_are_processes(tmp_path: Path) -> None:
    note = pipe(tmp_path / "note")
    async with desk(tmp_path / "a.py", SLOW, processes=1) as functions:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: functions.call("block", note=str(note)))
            await started(note)
            with pytest.raises(ToolError, match="was not started") as caught:
                await functions.call("sync_pid", limit=0.1)
            assert caught.value.code == AT_CAPACITY
            assert caught.value.kind is ErrorKind.RETRYABLE
            tasks.cancel_scope.cancel()
        assert (await functions.call("sync_pid")).data is not None


@pytest.mark.promise("python-stop-hits-its-own")
async def test_sync_calls_at_the_same_time_have_processes_of_their_own_which_are_used_again(
    tmp_path: Path,
) -> None:
    note = pipe(tmp_path / "note")
    async with desk(tmp_path / "a.py", SLOW) as functions, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: functions.call("block", note=str(note)))
        blocked = await started(note)
        beside = (await functions.call("sync_pid")).data
        assert beside != {"result": blocked}
        assert (await functions.call("sync_pid")).data == beside
        tasks.cancel_scope.cancel()


@pytest.mark.promise("python-leak-bounded")
@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not limit a process's memory")
async def test_a_function_cannot_allocate_more_than_its_process_may(tmp_path: Path) -> None:
    code = """
        import os
        kept = []

        @tool
        def grow(megabytes: int) -> int:
            kept.append(b"x" * (megabytes * 1024 * 1024))
            return os.getpid()
    """
    limit = 256 * 1024 * 1024
    async with desk(tmp_path / "a.py", code, memory_bytes=limit) as functions:
        assert "MemoryError" in error_of(await functions.call("grow", megabytes=300)).message
        small = await functions.call("grow", megabytes=1)
        leaking = await functions.call("grow", megabytes=130)
        assert leaking.data == small.data
        # The process kept too much, so it was replaced: what leaks does not add up.
        assert (await functions.call("grow", megabytes=1)).data != small.data


@pytest.mark.promise("python-own-room")
async def test_a_function_sees_a_folder_of_its_own_and_no_secret_of_the_crib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
        import os, tempfile

        @tool
        def look(fd: int) -> dict[str, object]:
            try:
                os.fstat(fd)
                sees_fd = True
            except OSError:
                sees_fd = False
            with tempfile.NamedTemporaryFile() as made:
                folder = os.path.dirname(made.name)
            return {
                "secret": os.environ.get("CRIB_SECRET"),
                "given": os.environ.get("DESK_TOKEN"),
                "cwd": os.getcwd(),
                "temporary": folder,
                "sees_fd": sees_fd,
            }
    """
    monkeypatch.setenv("CRIB_SECRET", "s3cret")
    monkeypatch.setenv("DESK_TOKEN", "t0ken")
    fd = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(fd, True)
    try:
        async with desk(tmp_path / "a.py", code, inherit_env=["DESK_TOKEN", "UNSET"]) as functions:
            seen = (await functions.call("look", fd=fd)).unwrap()
            assert isinstance(seen, dict)
            folder = Path(str(seen["cwd"]))
            assert folder.is_dir()
    finally:
        os.close(fd)
    assert (seen["secret"], seen["given"], seen["sees_fd"]) == (None, "t0ken", False)
    assert Path(str(seen["temporary"])).resolve() == folder.resolve()
    assert folder != Path.cwd()
    assert not folder.exists()


async def test_a_sync_function_may_run_an_event_loop_of_its_own(tmp_path: Path) -> None:
    code = """
        import asyncio

        @tool
        def loop() -> str:
            return asyncio.run(asyncio.sleep(0, "ran"))
    """
    async with desk(tmp_path / "a.py", code) as functions:
        assert (await functions.call("loop")).text == "ran"


async def test_the_limit_of_the_source_is_no_ceiling_for_a_call_that_was_given_more(
    tmp_path: Path,
) -> None:
    """Which limit holds is decided on the path of the call; the source keeps to what it gets."""
    code = """
        import time

        @tool
        def pause(seconds: float) -> str:
            time.sleep(seconds)
            return "rested"
    """
    async with desk(tmp_path / "a.py", code, timeout_seconds=0.05) as functions:
        assert (await functions.call("pause", limit=30, seconds=0.2)).text == "rested"
        with pytest.raises(ToolError, match=r"took over 0\.\d+ s"):
            await functions.call("pause", limit=0.5, seconds=1000)


async def test_a_tool_that_the_target_does_not_offer_is_unknown(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.py", "@tool\ndef f() -> None: ...") as functions:
        with pytest.raises(ToolError, match="does not offer 'g' any more") as caught:
            await functions.call("g")
        assert caught.value.code == UNKNOWN_TOOL
