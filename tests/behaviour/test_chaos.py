"""Bad weather over a whole crib: servers are killed, hang and go mute while many callers run."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections import Counter
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.behaviour.test_many_sources import registered
from tests.fake_upstreams import line_server
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.processes.identity import Identity
from toolcrib_adapters.processes.roll import FOLDER, Roll
from toolcrib_adapters.settings import CribSettings
from toolcrib_protocol import errors
from toolcrib_protocol.errors import OUTCOME_UNKNOWN, SOURCE_UNAVAILABLE
from toolcrib_registry.call import Call

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_adapters.main import Crib
    from toolcrib_protocol.result import Result

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
SOURCES = [f"s{number}" for number in range(5)]
FAULTS = 20
CALLERS = 50
LIMIT_SECONDS = 3.0
GRACE_SECONDS = 10.0
"""How late a busy machine may be; a call without a deadline would be later still."""
MOST_SECONDS = 280
CODES = {value for name, value in vars(errors).items() if name.isupper()}


class Weather:
    """A crib in bad weather."""

    def __init__(self, crib: Crib, roll: Roll) -> None:
        self.crib = crib
        self.roll = roll
        self.dice = random.Random(4)
        self.outcomes: Counter[str] = Counter()
        self.is_over = False
        self.pids: set[Identity] = set()

    async def call(self, source: str, tool: str, **arguments: int) -> Result:
        call = Call(f"{source}/{tool}", {**arguments}, timeout_seconds=LIMIT_SECONDS)
        with anyio.fail_after(LIMIT_SECONDS + GRACE_SECONDS):
            return await self.crib.calls.call(call)

    async def keep_calling(self, number: int) -> None:
        turn = 0
        while not self.is_over:
            turn += 1
            source = SOURCES[(number + turn) % len(SOURCES)]
            result = await self.call(source, "echo", n=number, turn=turn)
            if result.error is None:
                assert result.data == {"n": number, "turn": turn}
            self.outcomes[result.error.code if result.error else "done"] += 1
            await anyio.sleep(0.05)  # a caller that thinks; without it nobody else gets to run

    async def break_one(self) -> None:
        source, kind = self.dice.choice(SOURCES), self.dice.choice(["kill", "close", "hang"])
        await self.until_serving(source)
        for pid in self.roll.running().get(source, ()):
            known = Identity.of(pid)
            if known is not None:
                self.pids.add(known)
            if kind != "close":
                os.kill(pid, signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
        if kind == "close":
            await self.call(source, "mute")
        self.outcomes[f"fault {kind}"] += 1

    async def until_serving(self, source: str) -> None:
        # Nobody tells a caller when a source is well again: it tries.
        while (await self.call(source, "echo")).error is not None:  # noqa: ASYNC110
            await anyio.sleep(0.05)


@pytest.mark.promise("life-chaos")
@pytest.mark.promise("field-o18-one-breaks-alone")
async def test_every_call_ends_classified_and_nothing_is_left_after_twenty_faults(
    tmp_path: Path,
) -> None:
    settings = CribSettings(home=tmp_path / "home", encoder="none")
    await registered(settings, {name: line_server() for name in SOURCES})
    before = len(anyio.get_running_tasks())
    async with open_crib(settings) as crib:
        weather = Weather(crib, Roll(settings.home))
        with anyio.fail_after(MOST_SECONDS):
            for name in SOURCES:
                await crib.supervisor.settled(name)
            async with anyio.create_task_group() as tasks:
                for number in range(CALLERS):
                    tasks.start_soon(weather.keep_calling, number)
                for _ in range(FAULTS):
                    await weather.break_one()
                for name in SOURCES:
                    await weather.until_serving(name)
                weather.is_over = True
    faults = sum(n for name, n in weather.outcomes.items() if name.startswith("fault"))
    codes = {name for name in weather.outcomes if not name.startswith("fault")} - {"done"}
    assert faults == FAULTS
    assert codes <= CODES
    assert codes & {OUTCOME_UNKNOWN, SOURCE_UNAVAILABLE}
    assert weather.outcomes["done"] > 0
    assert not [one for one in weather.pids if one.lives]
    assert not list((settings.home / FOLDER).iterdir())
    assert len(anyio.get_running_tasks()) == before
