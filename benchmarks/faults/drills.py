"""Kills of upstreams, timed: how soon a fallback answers, and how soon the upstream serves again.

Each kill is a SIGKILL of a healthy upstream; between kills there is a pause in which everything is
well again. Times are wall clock, from the kill to the answer at the caller.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from benchmarks.faults.arrivals import Attempts, attempts
from benchmarks.faults.caller import LONGEST_SECONDS, Caller
from benchmarks.faults.intervals import percentile
from benchmarks.faults.mixes import Family
from benchmarks.faults.run import http_proxies, ready, started
from benchmarks.faults.systems import Toolcrib
from benchmarks.faults.toolset import BY_REFERENCE, TRANSPORTS, answer
from benchmarks.faults.wire_faults import BEFORE, FOR_EVER, WireFault

if TYPE_CHECKING:
    from collections.abc import Iterator

FALLBACK: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "http": ("shop/find_parts", {"query": "bolt"}),
    "stdio": ("office/convert_weight", {"weight_kg": 2.5, "target": "stone"}),
}
"""Tools that have an equivalent elsewhere."""
ALONE: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "http": ("shop/track_order", {"order_id": "1", "detail_level": "state_only"}),
    "stdio": ("office/read_policy", {"topic": "keys"}),
}
"""Tools that nothing stands in for."""
PAUSE_SECONDS: Final = 0.5
AGAIN_SECONDS: Final = 30.0
FALLBACK_MS: Final = 200.0
AGAIN_MS: Final = 1_000.0


def run_drills(kills: int) -> dict[str, Any]:
    """Milliseconds of each kill, by what was timed and over which transport."""
    with tempfile.TemporaryDirectory(prefix="drills-") as name:
        folder = Path(name)
        faults = {
            f"fall-{transport}-{n}": asdict(
                WireFault(
                    str(Family.KILL_UPSTREAM), "kill", tool, BEFORE, FOR_EVER, is_healable=True
                )
            )
            for transport, (tool, _) in FALLBACK.items()
            for n in range(kills)
        }
        (folder / "faults.json").write_text(json.dumps(faults))
        system = Toolcrib("toolcrib")
        with http_proxies(folder) as ports, started(system, folder, ports):
            return anyio.run(_drilled, system, folder, kills)


async def _drilled(system: Toolcrib, folder: Path, kills: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with httpx2.AsyncClient(timeout=2 * LONGEST_SECONDS) as http:
        caller = Caller(system, http)
        await ready(caller)
        for transport in FALLBACK:
            for number in range(kills):
                struck, took = await _fallback(caller, folder, transport, number)
                # An open breaker keeps calls from what dies each time: no kill, and an answer.
                name = "kill to the fallback's answer" if struck else "fallback, breaker open"
                found.setdefault(f"{name}, {transport}", []).append(took)
            again = [await _again(caller, folder, transport, n) for n in range(kills)]
            found[f"kill to serving again, {transport}"] = again
    return found


async def _fallback(
    caller: Caller, folder: Path, transport: str, number: int
) -> tuple[bool, float | None]:
    """Whether an upstream was killed for this call, and milliseconds to the right answer."""
    tool, given = FALLBACK[transport]
    await _until_well(caller, transport, f"well-{transport}-{number}")
    case = f"fall-{transport}-{number}"
    arguments = {"case": case, **given}
    told = await caller.ask(tool, arguments, case)
    seen = attempts(folder).get(case, Attempts())
    right = told.is_ok and told.value == answer(BY_REFERENCE[tool], arguments)
    since = told.began if seen.first_fault is None else seen.first_fault
    return seen.first_fault is not None, (told.ended - since) * 1_000 if right else None


async def _again(caller: Caller, folder: Path, transport: str, number: int) -> float | None:
    await _until_well(caller, transport, f"whole-{transport}-{number}")
    source = ALONE[transport][0].partition("/")[0]
    pid = int((folder / f"pid-{source}").read_text())
    os.kill(pid, signal.SIGUSR1 if TRANSPORTS[source] == "http" else signal.SIGKILL)
    killed = time.monotonic()
    return await _until_served(caller, transport, f"again-{transport}-{number}", killed)


async def _until_served(caller: Caller, transport: str, case: str, since: float) -> float | None:
    tool, given = ALONE[transport]
    number = 0
    while time.monotonic() < since + AGAIN_SECONDS:
        number += 1
        told = await caller.ask(tool, {"case": f"{case}-{number}", **given}, "")
        if told.is_ok:
            return (told.ended - since) * 1_000
        await anyio.sleep(0.01)
    return None


async def _until_well(caller: Caller, transport: str, case: str) -> None:
    await _until_served(caller, transport, case, time.monotonic())
    await anyio.sleep(PAUSE_SECONDS)


def drills_table(drills: dict[str, Any]) -> Iterator[str]:
    """One line for each thing that was timed."""
    yield "\n| drill | n | no answer | p50 ms | p95 ms | most ms | bar |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, times in drills.items():
        known = [each for each in times if each is not None]
        bar = FALLBACK_MS if "fallback" in name else AGAIN_MS
        cells = " | ".join(
            "-" if value is None else f"{value:,.0f}"
            for value in (percentile(known, 0.5), percentile(known, 0.95), max(known, default=None))
        )
        yield f"| {name} | {len(times)} | {len(times) - len(known)} | {cells} | {bar:,.0f} |"
