"""A stage of the path that spares a tool which fails again and again, and its callers the waiting.

One breaker a tool of a source. Only what the way to the tool does counts (lost connections, no
answer, HTTP 5xx, answers that cannot be read), nothing that a caller can cause. Whoever is let
through to look always books what came of it, also when it was cancelled.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import BREAKER_OPEN, ErrorKind, ToolError
from toolcrib_protocol.result import Result
from toolcrib_registry.circuit import Circuit, CircuitState
from toolcrib_registry.classification import Teller, classify
from toolcrib_registry.failure_tables import Cause, Effect

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work

    Key = tuple[str, ToolId]

MOST_CIRCUITS: Final = 10_000
_COUNTED: Final = frozenset(
    {Cause.CONNECTION_LOST, Cause.TIMED_OUT, Cause.SOURCE_FAULT, Cause.UNREADABLE}
)
_OF_THE_WAY: Final = frozenset({Teller.TRANSPORT, Teller.HTTP})
_NEUTRAL: Final = frozenset({Cause.NOT_SENT, Cause.RATE_LIMITED, Cause.CANCELLED})
_FAIR_PART: Final = 0.5
"""A time-out counts if the tool had at least this part of the time that it may take."""


class Outcome(StrEnum):
    """What a call said about the way to its tool."""

    SUCCESS = "success"
    FAILURE = "failure"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class BreakerState:
    """A breaker that is not just closed, for people.

    Attributes:
        source: whose tool it is.
        tool: the tool.
        state: whether calls pass.
        failures: how many more failures than successes there were.
        retry_in_seconds: when a call may pass again; 0 if one may now.
    """

    source: str
    tool: ToolId
    state: CircuitState
    failures: int
    retry_in_seconds: float


class Breaker:
    """The breakers of all tools; a `Stage`. Used from one event loop."""

    def __init__(self, clock: Clock, *, roll: Callable[[], float] = random.random) -> None:
        """All closed.

        Args:
            clock: time.
            roll: chance, from 0 up to 1.
        """
        self._clock = clock
        self._roll = roll
        self._circuits: OrderedDict[Key, Circuit] = OrderedDict()
        self.opened: int = 0
        """How often a breaker has opened."""

    async def carry(self, work: Work, onward: Onward) -> Result:
        """The result, or `breaker_open` without a call."""
        key = (work.record.source, work.record.tool)
        circuit = self._circuits.get(key)
        if circuit is None or circuit.until is None:
            began = self._clock.monotonic()
            result = await onward(work)
            if result.error is not None or key in self._circuits:
                self._note(key, work, result, began)
            return result
        now = self._clock.monotonic()
        seconds = circuit.seconds_closed_to(now)
        if seconds is not None:
            work.trail.note("breaker", state=str(CircuitState.OPEN))
            return Result.failed(_refusal(work, circuit, seconds))
        return await self._look(key, work, onward)

    def _note(self, key: Key, work: Work, result: Result, began: float) -> None:
        """Book a call that found the breaker closed; one that learned nothing changes nothing."""
        outcome = self._outcome(key, work, result, began)
        circuit = self._circuits.get(key)
        is_open = circuit is not None and circuit.until is not None
        # Those that were under way when it opened tell nothing new, unless that it works.
        if outcome is Outcome.SUCCESS or (outcome is Outcome.FAILURE and not is_open):
            self._book(key, outcome)

    async def _look(self, key: Key, work: Work, onward: Onward) -> Result:
        """Let this one call through, and book what comes of it."""
        work.trail.note("breaker", state=str(CircuitState.HALF_OPEN))
        self._circuits[key] = self._circuits[key].probing()
        began, outcome = self._clock.monotonic(), Outcome.FAILURE
        try:
            result = await onward(work)
            outcome = self._outcome(key, work, result, began)
        finally:
            # Still a failure if it was cancelled: most likely it took too long again.
            self._book(key, outcome)
        return result

    def _outcome(self, key: Key, work: Work, result: Result, began: float) -> Outcome:
        """What a result says about the way to the tool."""
        if result.error is None:
            return Outcome.SUCCESS
        verdict = classify(result, work.record.contract)
        if verdict.cause in _NEUTRAL and verdict.effect is Effect.NONE:
            return Outcome.NOTHING
        if verdict.cause not in _COUNTED or verdict.told_by not in _OF_THE_WAY:
            return Outcome.SUCCESS
        counts = self._counts(key, work, verdict.cause, began)
        return Outcome.FAILURE if counts else Outcome.NOTHING

    def _counts(self, key: Key, work: Work, cause: Cause, began: float) -> bool:
        circuit = self._circuits.get(key)
        if cause is Cause.TIMED_OUT:
            # A caller in a hurry says nothing about the tool.
            took = self._clock.monotonic() - began
            return work.call.timeout_seconds is None and took >= _FAIR_PART * work.limit.seconds
        if cause is Cause.CONNECTION_LOST and circuit is not None:
            # One connection that ends takes all its calls with it: that is one failure.
            return began >= circuit.failed_at
        return True

    def _book(self, key: Key, outcome: Outcome) -> None:
        circuit = self._circuits.get(key)
        if outcome is Outcome.SUCCESS:
            self._succeed(key)
        elif outcome is Outcome.FAILURE:
            self._fail(key)
        elif circuit is not None:
            self._circuits[key] = circuit.let_go()

    def _fail(self, key: Key) -> None:
        before = self._circuits.pop(key, Circuit())
        after = before.failed(self._clock.monotonic(), self._roll())
        self.opened += after.openings - before.openings
        self._circuits[key] = after
        if len(self._circuits) > MOST_CIRCUITS:
            self._circuits.popitem(last=False)

    def _succeed(self, key: Key) -> None:
        circuit = self._circuits.get(key)
        after = circuit.succeeded() if circuit is not None else None
        if after is not None:
            self._circuits[key] = after
        else:
            self._circuits.pop(key, None)

    def states(self) -> list[BreakerState]:
        """Every breaker that is not just closed, in order of its tool."""
        now = self._clock.monotonic()
        found = [
            BreakerState(
                source,
                tool,
                circuit.state(now),
                circuit.failures,
                circuit.seconds_closed_to(now) or 0.0,
            )
            for (source, tool), circuit in self._circuits.items()
        ]
        return sorted(found, key=lambda one: (one.source, one.tool))


def _refusal(work: Work, circuit: Circuit, seconds: float) -> ToolError:
    after = round(seconds, 1) or 0.1
    return ToolError(
        BREAKER_OPEN,
        f"{work.record.contract.id} failed again and again: nothing was called, it is tried again "
        f"in {after:g} s",
        ErrorKind.RETRYABLE,
        {"retry_after_seconds": after, "failures": circuit.failures},
    )
