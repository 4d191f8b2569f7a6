"""The phases of the soak, each a function from a running crib to figures."""

from __future__ import annotations

import json
import random
import statistics
import time
from contextlib import closing
from dataclasses import asdict
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from benchmarks.faults.intervals import percentile
from benchmarks.running_crib import cpu_of
from benchmarks.soak.callers import Callers
from benchmarks.soak.crib import CACHED, request_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.soak.crib import Holding, Soaked

TIMEOUT: Final = 60.0
SLOW_CALLS: Final = 50
SLOW_SECONDS: Final = 2.0
BROKEN_CALLERS: Final = 10
BROKEN_EVERY: Final = 0.1
CLOSED_CALLERS: Final = 16
WAYS: Final = ("failing", "silent")
QUIET_SECONDS: Final = 3.0


def _client() -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx2.AsyncClient(timeout=TIMEOUT, limits=limits)


async def warm(crib: Soaked) -> None:
    """Every source is called until it answers, and what is loaded late is loaded.

    Raises:
        SystemExit: one never does.
    """
    async with _client() as http:
        for source in crib.upstreams:
            callers = Callers(crib, http, [source])
            for _ in range(200):
                await callers.once(source)
                if callers.tally.seconds:
                    break
                await anyio.sleep(0.1)
            else:
                raise SystemExit(f"{source} does not answer: {callers.tally}")


async def healthy(crib: Soaked, callers: int, seconds: float, rate: float) -> dict[str, Any]:
    """Callers with pauses, so that `rate` calls a second come in; what it held meanwhile.

    A fifth of that again afterwards tells a leak from what a first load brings: pools fill once.
    """
    dice = random.Random(7)

    def think() -> float:
        # Uniform from nothing to twice the mean.
        return dice.random() * 2 * callers / rate

    samples: list[Holding] = []

    async def watch() -> None:
        while True:
            samples.append(await anyio.to_thread.run_sync(crib.holding))
            await anyio.sleep(max(0.5, seconds / 60))

    before = crib.holding()
    async with _client() as http:
        many = Callers(crib, http, crib.sources)
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            await many.run(callers, seconds, think)
            group.cancel_scope.cancel()
    await anyio.sleep(QUIET_SECONDS)
    after = crib.holding()
    async with _client() as http:
        await Callers(crib, http, crib.sources).run(callers, seconds / 5, think)
    await anyio.sleep(QUIET_SECONDS)
    again = crib.holding()
    early = [s for s in samples if s.at < samples[0].at + seconds / 4] or samples
    late = [s for s in samples if s.at > samples[-1].at - seconds / 4] or samples
    tally = many.tally
    return {
        "callers": callers,
        "seconds": seconds,
        "calls": tally.calls,
        "succeeded": len(tally.seconds) / max(1, tally.calls),
        "explained_refusals": dict(tally.refusals),
        "failures": dict(tally.failures),
        "p50_ms": _ms(tally.seconds, 0.5),
        "p99_ms": _ms(tally.seconds, 0.99),
        "cpu_ms_per_call": (after.cpu_seconds - before.cpu_seconds) * 1_000 / max(1, tally.calls),
        "rss_mib_early": statistics.median(s.rss_mib for s in early),
        "rss_mib_late": statistics.median(s.rss_mib for s in late),
        "before": asdict(before),
        "after": asdict(after),
        "after_more": asdict(again),
    }


async def failing(crib: Soaked, window: float, windows: int) -> dict[str, Any]:
    """What others get while one source is called that is well, and while it fails for good.

    Callers of the others ask as fast as they are answered; those of the one source ask ten times a
    second each. Windows alternate, so that both sides see the same machine; what else it does still
    shows in the calls a second, hardly in the gateway's CPU time for each call of the others, which
    is what bounds them.
    """
    broken, others = crib.sources[0], crib.sources[1:]
    found: dict[str, Any] = {}
    async with _client() as http:
        for way in WAYS:
            rates: dict[str, list[tuple[float, float]]] = {"well": [], way: []}
            for _ in range(windows):
                for mood, of in rates.items():
                    await anyio.to_thread.run_sync(crib.mood, broken, mood)
                    of.append(await _others_rate(crib, http, broken, others, window))
            await anyio.to_thread.run_sync(crib.mood, broken, "well")
            well, ill = _medians(rates["well"]), _medians(rates[way])
            found[way] = {
                "calls_a_second_well": well[0],
                "calls_a_second_failing": ill[0],
                "cpu_ms_per_call_well": well[1],
                "cpu_ms_per_call_failing": ill[1],
                "lost": 1 - well[1] / max(ill[1], 1e-9),
            }
    return found


async def _others_rate(
    crib: Soaked, http: httpx2.AsyncClient, broken: str, others: Sequence[str], window: float
) -> tuple[float, float]:
    """Calls of the others a second, and milliseconds of the gateway's CPU for each."""
    asking, bothering = Callers(crib, http, others), Callers(crib, http, [broken])
    began, before = time.monotonic(), cpu_of(crib.pid)
    async with anyio.create_task_group() as group:
        group.start_soon(bothering.run, BROKEN_CALLERS, window, lambda: BROKEN_EVERY)
        await asking.run(CLOSED_CALLERS, window, lambda: 0.0)
        seconds = time.monotonic() - began
        group.cancel_scope.cancel()
    calls = len(asking.tally.seconds)
    return calls / seconds, (cpu_of(crib.pid) - before) * 1_000 / max(1, calls)


def _medians(windows: list[tuple[float, float]]) -> tuple[float, float]:
    rates, costs = zip(*windows, strict=True)
    return statistics.median(rates), statistics.median(costs)


async def beside_slow(crib: Soaked, calls: int) -> dict[str, Any]:
    """How long a fast call takes beside fifty slow ones: of another source, of one of theirs."""
    async with _client() as http:
        spread = crib.sources[1:8] or crib.sources
        slow, fast, same = (Callers(crib, http, spread) for _ in range(3))
        elsewhere = crib.sources[-1]
        times: dict[str, list[float]] = {"other": [], "same": []}
        async with anyio.create_task_group() as group:
            for number in range(SLOW_CALLS):
                source = spread[number % len(spread)]
                group.start_soon(_wait, slow, source)
            await anyio.sleep(0.5)
            for _ in range(calls):
                times["other"].append(await fast.once(elsewhere))
            for _ in range(min(calls, 5)):
                times["same"].append(await same.once(spread[0]))
    return {
        "slow_calls": SLOW_CALLS,
        "slow_succeeded": len(slow.tally.seconds),
        "slow_told": {**slow.tally.refusals, **slow.tally.failures},
        "fast_p50_ms": _ms(times["other"], 0.5),
        "fast_most_ms": _ms(times["other"], 1.0),
        "fast_of_a_slow_source_most_ms": _ms(times["same"], 1.0),
    }


async def _wait(callers: Callers, source: str) -> None:
    await callers.once(source, "wait", seconds=SLOW_SECONDS)


def cached(crib: Soaked, calls: int) -> dict[str, Any]:
    """What a repeated question costs where results are remembered; the upstream takes 10 ms.

    Asked over a bare connection: a client of comfort would take as long as the answer.
    """
    times: dict[str, list[float]] = {"first": [], "again": []}
    address = httpx2.URL(crib.url)
    with closing(HTTPConnection(address.host, address.port)) as http:
        for number in range(calls):
            headers, body = request_of(f"{CACHED}__work", {"n": number})
            text = json.dumps(body)
            for taken in times.values():
                began = time.monotonic()
                http.request("POST", address.path, text, headers)
                told = json.loads(http.getresponse().read())
                taken.append(time.monotonic() - began)
                if told.get("result", {}).get("structuredContent") != {"n": number}:
                    raise SystemExit(f"{CACHED}: {told}")
    first, again = statistics.median(times["first"]), statistics.median(times["again"])
    return {"first_ms": first * 1_000, "again_ms": again * 1_000, "less": 1 - again / first}


def _ms(seconds: Sequence[float], share: float) -> float | None:
    value = percentile(seconds, share)
    return None if value is None else round(value * 1_000, 1)
