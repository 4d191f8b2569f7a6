"""What became of a call: the gateway's answer held against the upstream's own books.

Pure. "No exception" counts for nothing here: a call is done if the answer is the right one and the
effect is in the books once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from benchmarks.faults.plan import tool_of
from benchmarks.faults.toolset import Effect, answer, digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.faults.arrivals import Attempts
    from benchmarks.faults.caller import Answer
    from benchmarks.faults.plan import PlannedCall


class Verdict(StrEnum):
    """What became of a call."""

    DONE = "done"
    """The right answer, and the effect once."""
    WRONG = "wrong, reported ok"
    """Another answer or effect than asked for, and nothing said so."""
    MISSHAPEN = "wrong shape delivered"
    """The tool ran; its answer is not of the promised shape and was passed on."""
    REFUSED = "refused"
    """Reported as failed, and nothing happened, or asking again with the key is harmless."""
    NEEDS_HUMAN = "needs human"
    """Reported as something that a person must mend (not: of unknown outcome)."""
    UNKNOWN = "outcome unknown"
    """A write, reported as such: it may or may not have happened."""
    UNKNOWN_READ = "unknown without need"
    """Reported as unknown, though the tool only reads or knows a key."""
    DENIED = "happened, reported failed"
    """Reported as failed although it happened: whoever believes it will ask again."""


@dataclass(frozen=True)
class Outcome:
    """One call, with all that is known of it.

    Attributes:
        call: as planned.
        verdict: what became of it.
        effects: how many the upstream counted.
        answer: the gateway's last word.
        attempts: as the proxies saw it.
        asked: how often the caller asked.
        began: when it asked first, on the monotonic clock.
    """

    call: PlannedCall
    verdict: Verdict
    effects: int
    answer: Answer
    attempts: Attempts
    asked: int
    began: float

    @property
    def is_duplicate(self) -> bool:
        """Whether one wish had more than one effect."""
        return self.effects > 1

    @property
    def seconds(self) -> float:
        """From the first question to the last answer."""
        return self.answer.ended - self.began

    @property
    def recovery_seconds(self) -> float | None:
        """From the fault to the right answer; None without a fault on the wire, or a cure."""
        fault = self.attempts.first_fault
        if fault is None or self.verdict is not Verdict.DONE:
            return None
        return self.answer.ended - fault


def verdict(call: PlannedCall, told: Answer, effects: Sequence[dict[str, Any]]) -> Verdict:
    """What became of a call, by its answer and by the books."""
    tool = tool_of(call)
    if told.is_ok:
        return _of_success(call, told, effects)
    if told.code == "outcome_unknown":
        return Verdict.UNKNOWN if tool.effect is Effect.PLAIN else Verdict.UNKNOWN_READ
    # Who has a key may believe "try again": it does no harm.
    if effects and not (tool.effect is Effect.KEYED and told.kind == "retryable"):
        return Verdict.DENIED
    return Verdict.NEEDS_HUMAN if told.kind == "needs_human" else Verdict.REFUSED


def _of_success(call: PlannedCall, told: Answer, effects: Sequence[dict[str, Any]]) -> Verdict:
    tool = tool_of(call)
    right = answer(tool, call.arguments)
    meant = digest(tool, call.arguments)
    wanted = 0 if tool.effect is Effect.READ else 1
    if len(effects) < wanted or any(effect["digest"] != meant for effect in effects):
        return Verdict.WRONG
    if told.value == right:
        return Verdict.DONE
    return Verdict.WRONG if _is_of_shape(told.value, right) else Verdict.MISSHAPEN


def _is_of_shape(value: Any, right: dict[str, Any]) -> bool:
    if not isinstance(value, dict):
        return False
    return all(type(value.get(name)) is type(part) for name, part in right.items())
