"""The plans of the fault benchmark are those that were published, and ask for what tools take."""

from __future__ import annotations

import json

from benchmarks.faults.plan import DEVELOPMENT, HELD_OUT, drawn_plan, tool_of
from benchmarks.faults.publish import PUBLISHED, faults_of, summary
from benchmarks.faults.toolset import complaint


def test_plans_drawn_again_are_the_ones_that_were_published() -> None:
    published = json.loads(PUBLISHED.read_text())
    for entry in published["plans"]:
        assert summary(drawn_plan(entry["seed"], entry["mix"], entry["rate"])) == entry
    first = drawn_plan(DEVELOPMENT[0], "full", 0.065)
    assert json.loads(json.dumps(faults_of(first))) == published["example"]


def test_every_right_call_is_one_that_its_tool_takes_and_every_wrong_one_differs() -> None:
    calls = [c for t in drawn_plan(DEVELOPMENT[0], "full", 0.15).tasks for c in t.calls]
    assert [complaint(tool_of(call), call.arguments) for call in calls] == [None] * len(calls)
    damaged = [call for call in calls if call.argument_fault is not None]
    assert damaged
    assert all(c.argument_fault and c.argument_fault.given != c.arguments for c in damaged)


def test_held_out_seeds_are_none_of_those_to_develop_with() -> None:
    assert not set(DEVELOPMENT) & set(HELD_OUT)
