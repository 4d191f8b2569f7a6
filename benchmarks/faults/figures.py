"""The figures of one system's runs, computed from outcomes; pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.faults.intervals import over_seeds, percentile, wilson
from benchmarks.faults.mixes import Family
from benchmarks.faults.verdicts import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.faults.run import Ran

ATTEMPTS_META: Final = "io.toolcrib/attempts"
TRANSIENT: Final = frozenset(
    {
        Family.CRASH,
        Family.KILL_UPSTREAM,
        Family.RESET,
        Family.SERVER_ERROR,
        Family.MALFORMED,
    }
)
"""Whose recovery waits for nobody's clock: no Retry-After, no time-out, no slow tool."""


@dataclass(frozen=True)
class Figures:
    """All runs of one system.

    Attributes:
        title: the system.
        runs: one for each seed.
    """

    title: str
    runs: Sequence[Ran]

    @property
    def outcomes(self) -> list[Outcome]:
        """Of all calls of all seeds."""
        return [outcome for ran in self.runs for outcome in ran.outcomes]

    def tasks_done(self, *, but_unknown: bool = False) -> tuple[float, float, float]:
        """Share of tasks with all calls done, with its interval over the seeds.

        Args:
            but_unknown: leave out tasks that ended with a write rightly reported as unknown.
        """
        return over_seeds([_share_done(ran, but_unknown=but_unknown) for ran in self.runs])

    def verdicts(self) -> Counter[Verdict]:
        """How often each."""
        return Counter(outcome.verdict for outcome in self.outcomes)

    def wrong_beyond_injected(self) -> list[Outcome]:
        """Calls that were silently wrong although the wire told no lie."""
        lie = str(Family.WRONG_VALUE)
        return [o for o in self.outcomes if o.verdict is Verdict.WRONG and o.call.kind != lie]

    def duplicates(self) -> list[Outcome]:
        """Calls with more than one effect."""
        return [outcome for outcome in self.outcomes if outcome.is_duplicate]

    def denied(self) -> list[Outcome]:
        """Effects that happened and were reported as failures."""
        return [outcome for outcome in self.outcomes if outcome.verdict is Verdict.DENIED]

    def unhealed(self) -> list[Outcome]:
        """Calls that should have been done in spite of their fault, and were not."""
        return [o for o in self.outcomes if o.call.is_healable and o.verdict is not Verdict.DONE]

    def extra_calls(self) -> float:
        """How many upstream calls there were beyond one for each call that reached one."""
        reached = [o.attempts.count for o in self.outcomes if o.attempts.count]
        return sum(reached) / max(1, len(reached)) - 1

    def by_kind(self) -> dict[str, dict[str, Any]]:
        """For each kind of fault: how many calls, verdicts, duplicates, interval of done."""
        kinds: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            kinds.setdefault(outcome.call.kind, []).append(outcome)
        return {kind: _of_kind(kinds[kind]) for kind in sorted(kinds)}

    def recoveries(self, kinds: frozenset[Family] = TRANSIENT) -> list[float]:
        """Seconds from a transient fault to the right answer."""
        return [
            seconds
            for o in self.outcomes
            if o.call.kind in kinds and (seconds := o.recovery_seconds) is not None
        ]

    def own_recoveries(self) -> list[float]:
        """The same without chosen waits, the tools' time and their starts, for healed faults."""
        return [
            max(0.0, o.seconds - o.attempts.tool_seconds - o.attempts.start_seconds - _waited(o))
            for o in self.outcomes
            if o.attempts.first_fault is not None
            and o.verdict is Verdict.DONE
            and o.call.kind not in {Family.KILL_GATEWAY, Family.SLOW}
        ]

    def overheads(self) -> list[float]:
        """Seconds of calls without fault beyond what the tool took."""
        return [
            o.seconds - o.attempts.tool_seconds
            for o in self.outcomes
            if o.call.kind == "none" and o.verdict is Verdict.DONE
        ]

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "system": self.title,
            "tasks_done": self.tasks_done(),
            "tasks_done_but_unknown": self.tasks_done(but_unknown=True),
            "calls": len(self.outcomes),
            "verdicts": {str(verdict): n for verdict, n in self.verdicts().items()},
            "wrong_beyond_injected": [*map(facts_of, self.wrong_beyond_injected())],
            "duplicated_effects": [*map(facts_of, self.duplicates())],
            "unhealed": [*map(facts_of, self.unhealed())],
            "extra_calls_per_call": self.extra_calls(),
            "by_kind": self.by_kind(),
            "milliseconds": self.milliseconds(),
        }

    def milliseconds(self) -> dict[str, dict[str, float | None]]:
        """Medians and 95th percentiles of all times."""
        times = {
            "recovery of transient faults, wall": self.recoveries(),
            "recovery without waits and tool time": self.own_recoveries(),
            "overhead of calls without fault": self.overheads(),
        }
        return {name: _spread(seconds) for name, seconds in times.items()}


def _share_done(ran: Ran, *, but_unknown: bool) -> float:
    ends = [calls[-1].verdict for calls in ran.tasks.values()]
    done = [
        all(outcome.verdict is Verdict.DONE for outcome in calls) for calls in ran.tasks.values()
    ]
    unknown = sum(end is Verdict.UNKNOWN for end in ends) if but_unknown else 0
    return sum(done) / max(1, len(done) - unknown)


def _of_kind(outcomes: list[Outcome]) -> dict[str, Any]:
    verdicts = Counter(str(outcome.verdict) for outcome in outcomes)
    done = verdicts[Verdict.DONE]
    return {
        "calls": len(outcomes),
        "healable": sum(outcome.call.is_healable for outcome in outcomes),
        "done_interval": wilson(done, len(outcomes)),
        "verdicts": dict(verdicts),
        "duplicated_effects": sum(outcome.is_duplicate for outcome in outcomes),
        "recovery_ms": _spread([s for o in outcomes if (s := o.recovery_seconds) is not None]),
    }


def _waited(outcome: Outcome) -> float:
    """What the gateway says that it waited by choice: back-off, Retry-After, queues."""
    facts = outcome.answer.meta.get(ATTEMPTS_META)
    told = facts.get("waited_seconds") if isinstance(facts, dict) else None
    return float(told) if isinstance(told, int | float) else 0.0


def _spread(seconds: list[float]) -> dict[str, float | None]:
    half, most = percentile(seconds, 0.5), percentile(seconds, 0.95)
    return {
        "n": len(seconds),
        "p50": None if half is None else round(half * 1_000, 1),
        "p95": None if most is None else round(most * 1_000, 1),
    }


def facts_of(outcome: Outcome) -> dict[str, Any]:
    """One call, so that somebody can look into it."""
    call, wire = outcome.call, outcome.call.wire_fault
    given = call.argument_fault.given if call.argument_fault else None
    return {
        "case": call.case,
        "tool": call.tool,
        "kind": call.kind,
        "fault": None if wire is None else f"{wire.way} {wire.moment} x{wire.times}",
        "arguments": call.arguments,
        "given": given,
        "verdict": str(outcome.verdict),
        "effects": outcome.effects,
        "code": outcome.answer.code,
        "message": outcome.answer.message[:300],
        "value": outcome.answer.value,
        "attempts": outcome.attempts.count,
        "seconds": round(outcome.seconds, 3),
        "meta": outcome.answer.meta,
    }
