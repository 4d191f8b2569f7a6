"""The worker program: its desk over real pipes, in this process."""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
import threading
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.adapters.sources.python_functions.desk import HEAD
from toolcrib_adapters.sources.python_functions.frames import FrameReader, packed
from toolcrib_adapters.sources.python_functions.target import TargetError, load_target
from toolcrib_adapters.sources.python_functions.worker import Channel, Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolcrib_adapters.sources.python_functions.target import Target
    from toolcrib_protocol.json_value import JsonObject

CODE = """
    import anyio

    @tool
    def double(number: int) -> int:
        return number * 2

    @tool
    def fails(how: str) -> object:
        if how == "nan":
            return {"a": float("nan")}
        raise ValueError(how)

    @tool
    async def later(number: int) -> int:
        await anyio.sleep(0)
        return number * 2

    @tool
    async def never() -> None:
        await anyio.sleep_forever()

    @tool
    async def fails_later() -> None:
        raise ValueError("later")

    @tool
    def broken(*words): ...
"""


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    file = tmp_path / "desk_in_process.py"
    file.write_text(HEAD + textwrap.dedent(CODE))
    before = list(sys.path)
    yield load_target(str(file), "desk")
    sys.path[:] = before
    sys.modules.pop("desk_in_process", None)


class Crib:
    """The crib's end of the two pipes."""

    def __init__(self, target: Target) -> None:
        inbound, self._out = os.pipe()
        self._in, outbound = os.pipe()
        self._frames = FrameReader()
        self._messages: list[JsonObject] = []
        self._ends = [inbound, outbound, self._in]
        tools = {tool.contract.name: tool for tool in target.tools}
        self.desk = Desk(target, tools, Channel(inbound, outbound))

    def send(self, *messages: JsonObject) -> None:
        os.write(self._out, b"".join(packed(message) for message in messages))

    def hang_up(self) -> None:
        os.close(self._out)

    def close(self) -> None:
        for fd in self._ends:
            os.close(fd)

    def receive(self) -> JsonObject:
        while not self._messages:
            self._messages += self._frames.feed(os.read(self._in, 65_536))
        return self._messages.pop(0)


@contextlib.contextmanager
def crib_of(target: Target) -> Iterator[Crib]:
    crib = Crib(target)
    try:
        yield crib
    finally:
        crib.close()


def call(key: int, name: str, **arguments: object) -> JsonObject:
    return {"op": "call", "id": key, "name": name, "arguments": arguments}  # type: ignore[dict-item]


def test_the_sync_lane_answers_one_call_after_the_other_until_the_crib_hangs_up(
    target: Target,
) -> None:
    with crib_of(target) as crib:
        lane = threading.Thread(target=crib.desk.serve_sync, daemon=True)
        lane.start()
        crib.send(
            call(1, "double", number=4),
            call(2, "fails", how="x"),
            call(3, "double", number="x"),
            call(4, "missing"),
            call(5, "fails", how="nan"),
        )
        answers = [crib.receive() for _ in range(5)]
        crib.hang_up()
        lane.join(10)
        assert not lane.is_alive()
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4, 5]
    assert answers[0]["result"] == {
        "content": [{"type": "text", "text": "8"}],
        "structuredContent": {"result": 8},
    }
    texts = [str(answer["result"]) for answer in answers[1:]]
    assert "ValueError: x (desk_in_process.py line 13, in fails)" in texts[0]
    assert "/number" in texts[1]
    assert "the target has no tool 'missing'" in texts[2]
    assert "cannot be written as JSON" in texts[3]
    assert all(isinstance(a["memory_bytes"], int) and a["memory_bytes"] > 0 for a in answers)


async def test_the_async_lane_runs_calls_together_and_cancels_the_one_it_is_told(
    target: Target,
) -> None:
    with crib_of(target) as crib:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(crib.desk.serve_async)
            crib.send(
                call(1, "never"),
                call(2, "later", number=4),
                call(3, "fails_later"),
                call(4, "later", number="x"),
                {"op": "cancel", "id": 99},
            )
            with anyio.fail_after(10):
                answers = [await anyio.to_thread.run_sync(crib.receive) for _ in range(3)]
                crib.send({"op": "cancel", "id": 1})
                last = await anyio.to_thread.run_sync(crib.receive)
            crib.hang_up()
    by_id = {answer["id"]: answer["result"] for answer in answers}
    assert set(by_id) == {2, 3, 4}
    assert "8" in str(by_id[2])
    assert "ValueError: later" in str(by_id[3])
    assert "/number" in str(by_id[4])
    assert last["id"] == 1


def test_a_target_knows_its_tools_its_faults_and_its_files(target: Target, tmp_path: Path) -> None:
    assert [tool.contract.name for tool in target.tools][:2] == ["double", "fails"]
    assert set(target.refused) == {"broken"}
    assert target.own_files() == [str(tmp_path / "desk_in_process.py")]


@pytest.fixture
def clean_imports() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.usefixtures("clean_imports")
def test_a_file_in_a_package_a_module_and_a_file_with_a_taken_name_are_loaded(
    tmp_path: Path,
) -> None:
    one = HEAD + "@tool\ndef one() -> int: return 1\n"
    package = tmp_path / "desk_in_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "inside.py").write_text("from . import beside\n" + one)
    (package / "beside.py").touch()
    (tmp_path / "json.py").write_text(one)
    for name in (str(package / "inside.py"), "desk_in_package.inside", str(tmp_path / "json.py")):
        assert [tool.contract.name for tool in load_target(name, "desk").tools] == ["one"]


@pytest.mark.usefixtures("clean_imports")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fault.py", r"fault\.py, line 1: SyntaxError"),
        ("empty.py", "put `@tool` above each function"),
        ("missing.py", "there is no file"),
        ("desk.txt", "is not a Python file"),
        ("no_such_module_here", "there is no module 'no_such_module_here'"),
    ],
)
def test_a_target_that_cannot_be_loaded_says_where_and_why(
    tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "fault.py").write_text("def f(:")
    (tmp_path / "empty.py").touch()
    (tmp_path / "desk.txt").touch()
    target = name if name.startswith("no_such") else str(tmp_path / name)
    with pytest.raises(TargetError, match=words):
        load_target(target, "desk")
