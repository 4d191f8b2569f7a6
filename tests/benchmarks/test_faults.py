"""The fault benchmark runs, and its verdicts say what the books say. No claim about time."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from benchmarks.faults.arrivals import Attempts
from benchmarks.faults.caller import Answer
from benchmarks.faults.drills import drills_table, run_drills
from benchmarks.faults.figures import Figures
from benchmarks.faults.intervals import over_seeds, wilson
from benchmarks.faults.plan import Plan, PlannedCall, Task
from benchmarks.faults.report import bars, kinds_table, listed, systems_table, times_table
from benchmarks.faults.run import Ran, run
from benchmarks.faults.systems import ROOT, Toolcrib
from benchmarks.faults.toolset import BY_REFERENCE, answer, digest
from benchmarks.faults.verdicts import Outcome, Verdict, verdict
from benchmarks.faults.wire_faults import AFTER, BEFORE, WireFault

if TYPE_CHECKING:
    from benchmarks.faults.toolset import Json

NOTICE: Json = {"case": "n", "recipients": ["a"], "body_text": "b", "priority": "low"}
PLAIN = PlannedCall("n", "shop/send_notice", NOTICE)
KEYED = PlannedCall(
    "k", "shop/place_order", {"case": "k", "request_id": "r", "sku": "BB-608", "qty": 1}
)
POLICY: Json = {"case": "p", "topic": "keys"}
READ = PlannedCall("p", "office/read_policy", POLICY)


def told(call: PlannedCall, **more: object) -> Answer:
    value = answer(BY_REFERENCE[call.tool], call.arguments)
    return replace(Answer(0.0, 1.0, value), **more)  # type: ignore[arg-type]


def booked(call: PlannedCall, times: int = 1) -> list[Json]:
    return [{"digest": digest(BY_REFERENCE[call.tool], call.arguments)}] * times


@pytest.mark.parametrize(
    ("call", "said", "books", "wanted"),
    [
        (READ, told(READ), [], Verdict.DONE),
        (PLAIN, told(PLAIN), booked(PLAIN), Verdict.DONE),
        (PLAIN, told(PLAIN), [], Verdict.WRONG),
        (PLAIN, told(PLAIN), [{"digest": "another"}], Verdict.WRONG),
        (READ, told(READ, value={**told(READ).value, "total": 1}), [], Verdict.WRONG),
        (READ, told(READ, value={"total": 1}), [], Verdict.MISSHAPEN),
        (READ, told(READ, value=None), [], Verdict.MISSHAPEN),
        (PLAIN, told(PLAIN, code="outcome_unknown"), booked(PLAIN), Verdict.UNKNOWN),
        (READ, told(READ, code="outcome_unknown"), [], Verdict.UNKNOWN_READ),
        (PLAIN, told(PLAIN, code="tool_failed"), booked(PLAIN), Verdict.DENIED),
        (PLAIN, told(PLAIN, code="x", kind="retryable"), booked(PLAIN), Verdict.DENIED),
        (KEYED, told(KEYED, code="x", kind="retryable"), booked(KEYED), Verdict.REFUSED),
        (KEYED, told(KEYED, code="x", kind="fatal"), booked(KEYED), Verdict.DENIED),
        (PLAIN, told(PLAIN, code="x", kind="fatal"), [], Verdict.REFUSED),
        (PLAIN, told(PLAIN, code="x", kind="needs_human"), [], Verdict.NEEDS_HUMAN),
    ],
)
def test_an_answer_is_held_against_the_books(
    call: PlannedCall, said: Answer, books: list[Json], wanted: Verdict
) -> None:
    assert verdict(call, said, books) is wanted


def test_a_second_effect_is_a_duplicate_and_a_task_is_done_if_all_its_calls_are() -> None:
    twice = Outcome(PLAIN, Verdict.DONE, 2, told(PLAIN), Attempts(2), 1, 0.0)
    lost = replace(twice, verdict=Verdict.UNKNOWN, effects=1)
    plan = Plan(1, "full", 0.1, ())
    figures = Figures("x", [Ran(plan, {"a": [twice], "b": [twice, lost]})])
    assert figures.tasks_done()[0] == 0.5
    assert figures.tasks_done(but_unknown=True)[0] == 1.0
    assert len(figures.duplicates()) == 2
    assert ("duplicated effects 2, at most 0", False) in bars(figures, "full")
    lines = [*systems_table([figures]), *kinds_table(figures), *times_table([figures])]
    assert all(line.startswith("|") for line in lines)
    assert "effects=2" in "\n".join(listed("duplicates", figures.duplicates()))


def test_intervals_hold_the_share() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(50, 100)[0] < 0.5 < wilson(50, 100)[1]
    assert over_seeds([0.9, 0.9]) == (0.9, 0.9, 0.9)


def test_faults_over_both_transports_reach_the_caller_and_the_books_know_what_happened() -> None:
    calls = [
        READ,
        PLAIN,
        faulty("office/read_policy", {"topic": "a"}, "signed_out", BEFORE),
        faulty("shop/send_notice", NOTICE, "reset", AFTER),
        faulty("office/file_expense", {"amount": 1, "currency": "euro"}, "crash", AFTER),
    ]
    plan = Plan(1, "full", 1.0, tuple(Task(call.case, (call,)) for call in calls))
    outcomes = {o.call.case: o for o in run(plan, Toolcrib("toolcrib")).outcomes}
    assert [outcomes[case].verdict for case in ("p", "n")] == [Verdict.DONE, Verdict.DONE]
    assert outcomes["signed_out"].verdict is not Verdict.DONE
    for case in ("reset", "crash"):
        assert (outcomes[case].verdict, outcomes[case].effects) == (Verdict.UNKNOWN, 1)


def test_a_killed_upstream_is_stood_in_for_and_serves_again() -> None:
    drills = run_drills(1)
    assert len(drills) == 4
    assert all(len(times) == 1 and times[0] is not None for times in drills.values())
    assert len([*drills_table(drills)]) == 2 + len(drills)


def faulty(tool: str, arguments: Json, way: str, moment: str) -> PlannedCall:
    fault = WireFault(way, way, tool, moment, 1_000, is_healable=False)
    return PlannedCall(way, tool, {**arguments, "case": way}, wire_fault=fault)


def test_the_command_explains_itself() -> None:
    command = [sys.executable, "-m", "benchmarks.faults", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "--held-out" in done.stdout
