"""No process outlives its crib, however the crib ends, and nobody ends what another crib uses."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest
from anyio.streams.text import TextReceiveStream

from tests.behaviour.test_many_sources import registered
from tests.fake_upstreams import line_server
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.processes.household import Household
from toolcrib_adapters.processes.roll import FOLDER
from toolcrib_adapters.settings import CribSettings
from toolcrib_registry.call import Call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_protocol.json_value import JsonObject

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
PROGRAM = str(Path(__file__).parent / "killed_crib.py")
PATIENCE = 240


def wrapped(mark: str) -> JsonObject:
    """A server behind a shell that leaves a child behind, findable by its mark."""
    spec = line_server()
    assert isinstance(spec["args"], list)
    words = ["-c", f'sleep {mark} & exec "$@"', "sh", spec["command"], *spec["args"]]
    return {**spec, "command": "/bin/sh", "args": words}


def sleepers(mark: str) -> int:
    """How many processes carry the mark."""
    found = 0
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += file.read_bytes().rstrip(b"\0").split(b"\0") == [b"sleep", mark.encode()]
        except OSError:
            continue
    return found


async def none_left(mark: str) -> None:
    with anyio.fail_after(PATIENCE):
        while sleepers(mark):
            await anyio.lowlevel.checkpoint()


@pytest.fixture
def mark() -> str:
    return f"1000{secrets.randbelow(10**8):08}"


@asynccontextmanager
async def other_crib(home: Path, *words: str) -> AsyncIterator[tuple[anyio.abc.Process, Any]]:
    """A crib in a process of its own, and what it says once its server has answered."""
    command = [sys.executable, PROGRAM, str(home), *words]
    folder = Path(__file__).parents[2]
    async with await anyio.open_process(
        command, stderr=None, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}
    ) as process:
        assert process.stdout is not None
        try:
            with anyio.fail_after(PATIENCE):
                said = json.loads(await TextReceiveStream(process.stdout).receive())
            yield process, said
        finally:
            if process.returncode is None:
                process.kill()


@pytest.mark.promise("life-no-orphans")
@pytest.mark.promise("field-o20-left-over-processes")
async def test_nothing_is_left_after_twenty_reconnects_a_killed_crib_and_a_new_start(
    tmp_path: Path, mark: str
) -> None:
    settings = CribSettings(home=tmp_path / "home", encoder="none")
    await registered(settings, {"up": wrapped(mark)})
    async with other_crib(settings.home, "20") as (process, _):
        assert sleepers(mark) == 1
        process.send_signal(signal.SIGKILL)
        await process.wait()
    await none_left(mark)
    async with open_crib(settings) as crib:
        await crib.supervisor.settled("up")
        assert (await crib.calls.call(Call("up/echo", {"a": 1}))).data == {"a": 1}
        assert sleepers(mark) == 1
    assert sleepers(mark) == 0
    assert not list((settings.home / FOLDER).iterdir())


@pytest.mark.promise("life-no-orphans")
async def test_a_new_start_ends_what_a_crib_left_that_was_killed_with_its_guardian(
    tmp_path: Path, mark: str
) -> None:
    settings = CribSettings(home=tmp_path / "home", encoder="none")
    await registered(settings, {"up": wrapped(mark)})
    async with other_crib(settings.home, "1", "guardian") as (process, said):
        process.send_signal(signal.SIGKILL)
        await process.wait()
        # The server itself left at the end of its input; what its wrapper started did not.
        with anyio.fail_after(PATIENCE):
            while Path(f"/proc/{said['server']}").exists():
                await anyio.lowlevel.checkpoint()
        assert sleepers(mark) == 1
    async with open_crib(settings, wants=lambda _: False):
        assert sleepers(mark) == 0
    assert not list((settings.home / FOLDER).iterdir())


@pytest.mark.promise("life-no-orphans")
async def test_a_crib_leaves_the_processes_of_another_one_on_its_home_alone(
    tmp_path: Path, mark: str
) -> None:
    settings = CribSettings(home=tmp_path / "home", encoder="none")
    await registered(settings, {"up": wrapped(mark)})
    async with other_crib(settings.home, "0"):
        assert sleepers(mark) == 1
        assert not Household(settings.home).sweep()
        async with open_crib(settings) as crib:
            assert (await crib.calls.call(Call("up/echo", {"a": 1}))).data == {"a": 1}
            assert sleepers(mark) == 2
        assert sleepers(mark) == 1
    await none_left(mark)
