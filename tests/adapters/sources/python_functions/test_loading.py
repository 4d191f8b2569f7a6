"""Loading a target: what is offered, what is told when it fails, and changes on disk."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import anyio
import pytest

from tests.adapters.sources.listening_host import ListeningHost, running
from tests.adapters.sources.python_functions.desk import HEAD, desk, ended, write
from toolcrib_adapters.sources.python_functions.source import PythonFunctions
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, STORE_BUSY, ErrorKind, ToolError
from toolcrib_protocol.tool import Contract
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.ports import SourceStatus
from toolcrib_registry.records import SourceKind, SourceRecord

ONE = "@tool\ndef one() -> int: return 1\n"


@pytest.mark.promise("python-broken-function-alone")
async def test_every_marked_function_is_offered_and_a_broken_one_is_set_aside_alone(
    tmp_path: Path,
) -> None:
    code = """
        '''Counts things.

        Args:
            not part of the text
        '''

        def helper(): ...

        @tool(version="1.2.0")
        def count(word: str) -> int:
            '''Counts letters.'''
            return len(word)

        @tool
        def broken(*words): ...

        @tool(name="count")
        async def again() -> int: ...
    """
    file = tmp_path / "a.py"
    file.write_text(textwrap.dedent(code).lstrip().replace("def helper", HEAD + "def helper"))
    async with desk(file) as functions:
        assert functions.state.status is SourceStatus.READY
        (listing,) = functions.host.listings
    first, second = listing.entries
    assert isinstance(first, Contract)
    assert isinstance(second, Contract)
    assert (first.name, first.declares_version, first.description) == (
        "count",
        True,
        "Counts letters.",
    )
    assert (second.name, second.declares_version) == ("count", False)
    assert listing.description == "Counts things."
    assert [(q.source, q.position, q.name) for q in listing.quarantined] == [("desk", 2, "broken")]
    assert "*words has no schema" in listing.quarantined[0].reason


@pytest.mark.promise("python-load-failure-told")
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def f(:\n  pass", r"a\.py, line 2: SyntaxError: invalid syntax"),
        ("import nowhere_to_be_found", r"ModuleNotFoundError: .*\(a\.py line 2, in <module>\)"),
        ("\nx = 1 / 0", r"ZeroDivisionError: division by zero \(a\.py line 3, in <module>\)"),
        ("def f(): ...", r"no function of .*a\.py is marked .*put `@tool` above each"),
        ("raise SystemExit(2)", "SystemExit: 2"),
        ("import os; os._exit(9)", "ended before it was loaded: exit code 9"),
        ("print('Bye'); import os; os.abort()", r"signal SIGABRT"),
        (
            "import sibling_with_fault",
            r"\(a\.py line 2, in <module> > sibling_with_fault\.py line 1",
        ),
    ],
)
async def test_a_target_that_cannot_be_loaded_is_a_state_with_file_line_and_message(
    tmp_path: Path, code: str, words: str
) -> None:
    (tmp_path / "sibling_with_fault.py").write_text("[][1]")
    async with desk(tmp_path / "a.py", code) as functions:
        assert functions.state.status is SourceStatus.FAILED
        with pytest.raises(ToolError, match=words) as caught:
            await functions.call("one")
        assert caught.value.code == SOURCE_UNAVAILABLE
        assert functions.state.reason in caught.value.message
        assert functions.host.listings == []


async def test_a_file_that_is_missing_is_loaded_as_soon_as_it_is_there(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.py") as functions:
        assert "there is no file" in functions.state.reason
        state = await functions.rewrite(ONE)
        assert state.status is SourceStatus.READY
        assert (await functions.call("one")).data == {"result": 1}


@pytest.mark.promise("python-reload")
async def test_a_change_of_the_file_is_listed_anew_without_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.py", ONE) as functions:
        await functions.rewrite(ONE.replace("return 1", "return 2"))
        assert (await functions.call("one")).data == {"result": 2}
        state = await functions.rewrite("def f(:")
        assert state.status is SourceStatus.FAILED
        with pytest.raises(ToolError, match="SyntaxError"):
            await functions.call("one")
        assert (await functions.rewrite(ONE)).status is SourceStatus.READY
        assert (await functions.call("one")).data == {"result": 1}
        assert len(functions.host.listings) == 3


async def test_a_change_of_a_file_beside_it_is_seen_too(tmp_path: Path) -> None:
    beside = tmp_path / "numbers_of_desk.py"
    beside.write_text("ONE = 1")
    code = "import numbers_of_desk\n@tool\ndef one() -> int: return numbers_of_desk.ONE\n"
    async with desk(tmp_path / "a.py", code) as functions:
        assert (await functions.call("one")).data == {"result": 1}
        beside.write_text("ONE = 11")
        await functions.look()
        assert (await functions.host.settled()).status is SourceStatus.READY
        assert (await functions.call("one")).data == {"result": 11}


@pytest.mark.promise("python-reload")
async def test_a_call_that_runs_while_the_file_changes_ends_as_it_began(tmp_path: Path) -> None:
    code = """
        import pathlib

        @tool
        def read(note: str) -> str:
            return pathlib.Path(note).read_text()
    """
    note = tmp_path / "note"
    os.mkfifo(note)
    async with desk(tmp_path / "a.py", code) as functions:
        answers: list[str] = []

        async def read() -> None:
            answers.append((await functions.call("read", note=str(note))).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            with await anyio.to_thread.run_sync(lambda: note.open("w")) as writer:
                await functions.rewrite(ONE)
                assert (await functions.call("one")).data == {"result": 1}
                writer.write("old")
    assert answers == ["old"]


async def test_nothing_is_loaded_again_while_nothing_changes(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.py", ONE) as functions:
        for _ in range(100):
            await functions.look()
        assert len(functions.host.listings) == 1


async def test_a_failed_target_is_tried_again_after_a_minute(tmp_path: Path) -> None:
    lazy = tmp_path / "elsewhere"
    code = f"import sys; sys.path.append({str(lazy)!r})\nimport late_package\n" + ONE
    async with desk(tmp_path / "a.py", code) as functions:
        assert "late_package" in functions.state.reason
        write(lazy / "late_package.py", "")
        await functions.look(59)
        await functions.look(1)
        assert (await functions.host.settled()).status is SourceStatus.READY


async def test_a_listing_that_the_catalogue_refuses_is_a_failure_and_tried_again(
    tmp_path: Path,
) -> None:
    write(tmp_path / "a.py", ONE)
    record = SourceRecord("desk", SourceKind.PYTHON, {"target": str(tmp_path / "a.py")}, "desk")
    host, clock = ListeningHost(ToolError(STORE_BUSY, "busy", ErrorKind.RETRYABLE)), HandClock()
    async with running(PythonFunctions(record, environment={}, clock=clock), host):
        assert (await host.settled()).reason == "busy"
        await clock.sleeper()
        clock.advance(60)
        assert (await host.settled()).status is SourceStatus.READY


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"target": ""}, "target"),
        ({}, "target: Field required"),
        ({"target": "a.py", "procesess": 2}, "procesess: Extra inputs"),
        ({"target": "a.py", "timeout_seconds": -1}, "timeout_seconds"),
    ],
)
async def test_settings_that_cannot_be_used_are_a_state_with_the_name_of_the_setting(
    spec: dict[str, str | int], words: str
) -> None:
    record = SourceRecord("desk", SourceKind.PYTHON, {**spec}, "desk")
    host = ListeningHost()
    async with running(PythonFunctions(record, environment={}, clock=HandClock()), host):
        state = await host.settled()
    assert state.status is SourceStatus.FAILED
    assert words in state.reason


async def test_an_installed_module_is_a_target_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "shop_desk" / "__init__.py", "")
    write(tmp_path / "shop_desk" / "prices.py", ONE)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    async with desk(Path("shop_desk.prices"), inherit_env=["PYTHONPATH"]) as functions:
        assert functions.state.status is SourceStatus.READY, functions.state.reason
        assert (await functions.call("one")).data == {"result": 1}
        (tmp_path / "shop_desk" / "prices.py").write_text(
            HEAD + ONE + "\n" + ONE.replace("one", "two")
        )
        await functions.look()
        await functions.host.settled()
        assert (await functions.call("two")).data == {"result": 1}
    async with desk(Path("shop_desk.costs"), inherit_env=["PYTHONPATH"]) as functions:
        assert "No module named 'shop_desk.costs'" in functions.state.reason
    async with desk(Path("no_such_module_here")) as functions:
        assert "install it there, or give the path of a file" in functions.state.reason


async def test_a_file_inside_a_package_may_import_its_siblings(tmp_path: Path) -> None:
    package = tmp_path / "desk_package" / "inner"
    write(package.parent / "__init__.py", "")
    write(package / "__init__.py", "")
    write(package / "numbers.py", "ONE = 1")
    code = "from .numbers import ONE\n@tool\ndef one() -> int: return ONE\n"
    async with desk(package / "tools.py", code) as functions:
        assert functions.state.status is SourceStatus.READY, functions.state.reason
        assert (await functions.call("one")).data == {"result": 1}


async def test_a_file_may_have_the_name_of_a_standard_module(tmp_path: Path) -> None:
    async with desk(tmp_path / "json.py", ONE) as functions:
        assert functions.state.status is SourceStatus.READY, functions.state.reason
        assert (await functions.call("one")).data == {"result": 1}


async def test_an_interpreter_that_cannot_run_workers_is_a_state_that_says_why(
    tmp_path: Path,
) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho no toolcrib here >&2\nexit 3\n")
    fake.chmod(0o755)
    async with desk(tmp_path / "a.py", ONE, python=str(fake)) as functions:
        assert functions.state.reason.endswith("exit code 3 (no toolcrib here)")
    async with desk(tmp_path / "a.py", ONE, python=str(tmp_path / "nowhere")) as functions:
        assert "cannot be started" in functions.state.reason


@pytest.mark.promise("python-no-orphans")
@pytest.mark.skipif(sys.platform != "linux", reason="waits for processes by pidfd")
async def test_a_crib_that_is_killed_leaves_no_worker_behind(tmp_path: Path) -> None:
    code = """
        import os, pathlib

        @tool
        def loop(note: str) -> None:
            with open(note, "w") as pipe:
                pipe.write(str(os.getpid()))
            while True:
                pass
    """
    note = tmp_path / "note"
    os.mkfifo(note)
    write(tmp_path / "a.py", code)
    command = [sys.executable, "-c", _CRIB, str(tmp_path / "a.py"), str(note)]
    async with await anyio.open_process(command) as crib:
        with anyio.fail_after(30):
            pid = int(await anyio.to_thread.run_sync(note.read_text, abandon_on_cancel=True))
        crib.kill()
        assert await ended(pid)


_CRIB = """
import os
import sys
import anyio
from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.sources.python_functions.source import PythonFunctions
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext
from toolcrib_registry.records import SourceKind, SourceRecord

class Host:
    async def report(self, state): ...
    async def listed(self, listing): ...

async def main():
    record = SourceRecord("desk", SourceKind.PYTHON, {"target": sys.argv[1]}, "desk")
    source = PythonFunctions(record, environment=os.environ, clock=SystemClock())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(source.run, Host())
        await source.call("loop", {"note": sys.argv[2]}, CallContext(60, LOCAL_CALLER))

anyio.run(main)
"""


@pytest.mark.promise("refresh-now")
async def test_a_target_is_loaded_anew_at_once_when_that_is_asked_for(tmp_path: Path) -> None:
    async with desk(tmp_path / "a.py", ONE) as functions:
        with anyio.fail_after(60):
            await functions.source.look_again()
        assert len(functions.host.listings) == 2
