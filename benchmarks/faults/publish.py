"""Writes `plans.json`: the digest of every plan, its faults counted, and one plan's faults in full.

    python -m benchmarks.faults.publish

A test draws the plans again and compares: a plan that changed after it was published is seen.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.faults.mixes import MIXES
from benchmarks.faults.plan import DEVELOPMENT, HELD_OUT, RATES, TASKS, drawn_plan

if TYPE_CHECKING:
    from benchmarks.faults.plan import Plan

PUBLISHED: Final = Path(__file__).with_name("plans.json")


def summary(plan: Plan) -> dict[str, Any]:
    """What is published of a plan."""
    calls = [call for task in plan.tasks for call in task.calls]
    faults = Counter(call.kind for call in calls if call.kind != "none")
    return {
        "seed": plan.seed,
        "mix": plan.mix,
        "rate": plan.rate,
        "tasks": len(plan.tasks),
        "calls": len(calls),
        "healable": sum(call.is_healable and call.kind != "none" for call in calls),
        "faults": dict(sorted(faults.items())),
        "sha256": plan.digest(),
    }


def faults_of(plan: Plan) -> list[dict[str, Any]]:
    """The faults of a plan in full."""
    return [
        {
            "case": call.case,
            "tool": call.tool,
            "arguments": call.arguments,
            "given": None if call.argument_fault is None else call.argument_fault.given,
            "wire": plan.wire_faults().get(call.case),
            "kind": call.kind,
        }
        for task in plan.tasks
        for call in task.calls
        if call.kind != "none"
    ]


def published() -> dict[str, Any]:
    """What `plans.json` holds."""
    drawn = [
        drawn_plan(seed, mix, rate)
        for seed in (*DEVELOPMENT, *HELD_OUT)
        for mix in MIXES
        for rate in RATES
    ]
    first = drawn_plan(DEVELOPMENT[0], "full", RATES[0])
    return {
        "development": DEVELOPMENT,
        "held_out": HELD_OUT,
        "tasks": TASKS,
        "plans": [summary(plan) for plan in drawn],
        "example": faults_of(first),
    }


if __name__ == "__main__":
    PUBLISHED.write_text(json.dumps(published(), indent=1, ensure_ascii=False) + "\n")
