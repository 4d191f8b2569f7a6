"""One run: a plan's tasks through one system, in front of proxies that carry out the plan.

Tasks are made one after the other, so that each fault meets the call that it was drawn for and
nothing else. A task ends with its first call that is not done.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from benchmarks.faults.arrivals import Attempts, attempts, effects
from benchmarks.faults.caller import LONGEST_SECONDS, LOST, Answer, Caller
from benchmarks.faults.mixes import Family
from benchmarks.faults.plan import tool_of
from benchmarks.faults.systems import environment, proxy_command
from benchmarks.faults.toolset import TRANSPORTS, Effect, digest
from benchmarks.faults.verdicts import Outcome, Verdict, verdict
from benchmarks.faults.wire_faults import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.faults.plan import Plan, PlannedCall
    from benchmarks.faults.systems import System

_SOON: Final = 0.005
_READY_SECONDS: Final = 60
_WARM: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "shop": ("track_order", {"order_id": "w", "detail_level": "state_only"}),
    "office": ("read_policy", {"topic": "w"}),
    "mirror": ("find_parts", {"query": "w"}),
    "annex": ("convert_weight", {"weight_kg": 1, "target": "stone"}),
}


@dataclass
class _Asked:
    """A call as the caller made it."""

    call: PlannedCall
    answer: Answer
    began: float
    times: int = 1


@dataclass
class Ran:
    """What a run brought.

    Attributes:
        plan: whose tasks these were.
        tasks: the outcomes of each task's calls, as far as it came.
        is_whole: whether each task came to its end with all calls done.
    """

    plan: Plan
    tasks: dict[str, list[Outcome]] = field(default_factory=dict)

    @property
    def outcomes(self) -> list[Outcome]:
        """Of all calls that were made."""
        return [outcome for task in self.tasks.values() for outcome in task]


def run(plan: Plan, system: System) -> Ran:
    """Start everything, make the tasks, read the books."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        (folder / "faults.json").write_text(json.dumps(plan.wire_faults()))
        with http_proxies(folder) as ports, started(system, folder, ports):
            asked = anyio.run(_Run(plan, system, folder).all)
        seen, booked = attempts(folder), effects(folder)
        ran = Ran(plan)
        for task, calls in asked.items():
            ran.tasks[task] = [
                Outcome(
                    each.call,
                    verdict(each.call, each.answer, booked.get(each.call.case, [])),
                    len(booked.get(each.call.case, [])),
                    each.answer,
                    seen.get(each.call.case, Attempts()),
                    each.times,
                    each.began,
                )
                for each in calls
            ]
        return ran


@contextmanager
def http_proxies(folder: Path) -> Iterator[dict[str, int]]:
    """The proxies that are there before the gateway is; their ports by source."""
    with ExitStack() as stack:
        ports = {}
        for source, transport in TRANSPORTS.items():
            if transport != "http":
                continue
            command = proxy_command(transport, source, folder)
            proxy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
            stack.callback(proxy.wait)
            stack.callback(proxy.terminate)
            assert proxy.stdout is not None
            ports[source] = int(proxy.stdout.readline())
        yield ports


@contextmanager
def started(system: System, folder: Path, ports: dict[str, int]) -> Iterator[None]:
    """The gateway, ended with the block."""
    system.prepare(folder, ports)
    system.start()
    try:
        yield
    finally:
        system.stop()


class _Run:
    """The tasks of a plan, being made."""

    def __init__(self, plan: Plan, system: System, folder: Path) -> None:
        self._plan = plan
        self._system = system
        self._folder = folder

    async def all(self) -> dict[str, list[_Asked]]:
        """The calls of each task, until one is not done."""
        asked: dict[str, list[_Asked]] = {}
        async with httpx2.AsyncClient(timeout=2 * LONGEST_SECONDS) as http:
            caller = Caller(self._system, http)
            await ready(caller)
            for task in self._plan.tasks:
                asked[task.name] = []
                for call in task.calls:
                    one = await self._asked(call, caller)
                    asked[task.name].append(one)
                    if not self._is_done(one):
                        break
        return asked

    def _is_done(self, asked: _Asked) -> bool:
        # Of an effect that is missing or wrong the caller knows nothing; the books are read later.
        told = asked.answer
        return told.is_ok and verdict(asked.call, told, _believed(asked.call)) is Verdict.DONE

    async def _asked(self, call: PlannedCall, caller: Caller) -> _Asked:
        wire = call.wire_fault
        given = call.arguments if call.argument_fault is None else call.argument_fault.given
        key = f"key-{call.case}"
        if wire is not None and wire.moment == IDLE:
            await self._kill_upstream(tool_of(call).source, wire.way)
        if wire is None or wire.kind != Family.KILL_GATEWAY:
            told = await caller.ask(call.tool, given, key)
            return _Asked(call, told, told.began)
        return await self._with_gateway_killed(call, caller, key)

    async def _kill_upstream(self, source: str, way: str) -> None:
        """End an upstream, and wait until it is dead: the call comes after that, not during it."""
        pid = int((self._folder / f"pid-{source}").read_text())
        if TRANSPORTS[source] == "http":
            before = self._deaths(source)
            os.kill(pid, signal.SIGUSR1)
            with anyio.move_on_after(LONGEST_SECONDS):
                while self._deaths(source) == before:  # noqa: ASYNC110 - in another process
                    await anyio.sleep(_SOON / 5)
            return
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL if way == "kill" else signal.SIGTERM)
        with anyio.move_on_after(LONGEST_SECONDS):
            while _is_alive(pid):  # noqa: ASYNC110 - in another process
                await anyio.sleep(_SOON / 5)

    def _deaths(self, source: str) -> int:
        return (self._folder / f"arrivals-{source}.jsonl").read_text().count('"what": "down"')

    async def _with_gateway_killed(self, call: PlannedCall, caller: Caller, key: str) -> _Asked:
        told: list[Answer] = []

        async def ask() -> None:
            told.append(await caller.ask(call.tool, call.arguments, key))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await self._fault_of(call)
            await anyio.to_thread.run_sync(self._system.kill)
        await anyio.to_thread.run_sync(self._system.start)
        await ready(caller)
        first = told[0]
        may_repeat = self._system.has_keys or tool_of(call).effect is not Effect.PLAIN
        if first.code != LOST or not may_repeat:
            return _Asked(call, first, first.began)
        return _Asked(call, await caller.ask(call.tool, call.arguments, key), first.began, 2)

    async def _fault_of(self, call: PlannedCall) -> None:
        path = self._folder / f"arrivals-{tool_of(call).source}.jsonl"
        wanted = f'"what": "fault", "case": "{call.case}"'
        with anyio.move_on_after(LONGEST_SECONDS):
            while wanted not in path.read_text():  # noqa: ASYNC110 - another process writes it
                await anyio.sleep(_SOON)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _believed(call: PlannedCall) -> list[dict[str, str]]:
    """The books as a caller imagines them who is told that all went well."""
    tool = tool_of(call)
    return [] if tool.effect is Effect.READ else [{"digest": digest(tool, call.arguments)}]


async def ready(caller: Caller) -> None:
    """Wait until each source answers.

    Raises:
        SystemExit: one does not.
    """
    until = time.monotonic() + _READY_SECONDS
    for source, (name, arguments) in _WARM.items():
        while True:
            case = f"warm-{source}"
            told = await caller.ask(f"{source}/{name}", {"case": case, **arguments}, case)
            if told.is_ok:
                break
            if time.monotonic() > until:
                raise SystemExit(f"{source} does not answer: {told}")
            await anyio.sleep(0.05)
