"""The soak runs, and tells what it measured. No claim about time."""

from __future__ import annotations

from argparse import Namespace

import anyio
from benchmarks.soak.__main__ import bars, phases
from benchmarks.soak.callers import Tally
from benchmarks.soak.crib import soaked


def test_a_short_soak_loses_no_call_and_judges_what_it_found() -> None:
    options = Namespace(callers=5, seconds=1.0, rate=20.0, window=0.3, windows=1, calls=2)
    with soaked(3) as crib:
        figures = anyio.run(phases, crib, options)
    assert figures["healthy"]["calls"] > 0
    assert figures["healthy"]["failures"] == {}
    assert figures["beside slow calls"]["slow_told"] == {}
    assert {name for name, _ in bars(figures)}
    assert set(figures["one source fails"]) == {"failing", "silent"}


def test_a_refusal_that_says_when_to_come_back_is_no_failure_and_a_strangers_answer_is_one() -> (
    None
):
    tally = Tally()
    tally.count({"structuredContent": {"n": 1}}, 0.1, 1)
    tally.count({"structuredContent": {"n": 2}}, 0.1, 1)
    tally.count({"isError": True, "_meta": error("at_capacity")}, 0.1, 1)
    tally.count({"isError": True, "_meta": error("tool_timed_out")}, 0.1, 1)
    tally.count({"lost": "ReadError"}, 0.1, 1)
    assert (len(tally.seconds), tally.refusals.total(), tally.failures.total()) == (1, 1, 3)
    assert tally.calls == 5


def error(code: str) -> dict[str, dict[str, str]]:
    return {"io.toolcrib/error": {"code": code, "message": "m"}}
