"""Callers: each asks, thinks, and asks again; what they got is counted."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx2

    from benchmarks.soak.crib import Soaked

ERROR_META: Final = "io.toolcrib/error"
EXPLAINED: Final = frozenset({"at_capacity", "rate_limited", "breaker_open"})
"""Refusals that say when to come back."""


@dataclass
class Tally:
    """What callers got.

    Attributes:
        seconds: how long each success took.
        refusals: explained ones, by code.
        failures: everything else, by code or words.
    """

    seconds: list[float] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def calls(self) -> int:
        """All of them."""
        return len(self.seconds) + self.refusals.total() + self.failures.total()

    def count(self, result: dict[str, Any], seconds: float, wanted: int) -> None:
        """Count one answer."""
        if "lost" in result:
            self.failures[str(result["lost"])[:200]] += 1
        elif result.get("isError"):
            error = (result.get("_meta") or {}).get(ERROR_META) or {}
            code = str(error.get("code"))
            words = f"{code}: {error.get('message')}"[:200]
            (self.refusals if code in EXPLAINED else self.failures)[words] += 1
        elif (result.get("structuredContent") or {}).get("n") != wanted:
            self.failures[f"the answer of another call: {result}"[:200]] += 1
        else:
            self.seconds.append(seconds)


class Callers:
    """Some callers of some sources."""

    def __init__(
        self, crib: Soaked, http: httpx2.AsyncClient, sources: Sequence[str], seed: int = 1
    ) -> None:
        self._crib = crib
        self._http = http
        self._sources = sources
        self._random = random.Random(seed)
        self._numbers = 0
        self.tally = Tally()

    async def run(self, number: int, seconds: float, think: Callable[[], float]) -> None:
        """So many callers for so long; `think()` is the pause before each call."""
        until = time.monotonic() + seconds
        async with anyio.create_task_group() as group:
            for _ in range(number):
                group.start_soon(self._caller, until, think)

    async def _caller(self, until: float, think: Callable[[], float]) -> None:
        while (now := time.monotonic()) < until:
            await anyio.sleep(min(think(), until - now))
            if time.monotonic() < until:
                await self.once(self._random.choice(self._sources))

    async def once(self, source: str, tool: str = "work", **more: float) -> float:
        """One call; seconds it took."""
        self._numbers += 1
        number = self._numbers
        began = time.monotonic()
        result = await self._crib.call(self._http, source, tool, {"n": number, **more})
        seconds = time.monotonic() - began
        self.tally.count(result, seconds, number)
        return seconds
