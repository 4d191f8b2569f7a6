"""What is suggested to set, from what a source refused."""

from __future__ import annotations

import pytest

from toolcrib_registry.limits import GateState, suggested

LEARNED = GateState(scope="source:desk", cap=5, cap_set=8, halvings=2, rate_when_refused=10.0)


@pytest.mark.promise("limits-suggest")
def test_a_fifth_of_what_a_source_bore_is_left_free() -> None:
    (one,) = suggested([LEARNED])
    assert one.command == "toolcrib rules set source:desk max_concurrency=4 calls_per_second=8.0"
    assert one.why == (
        "it bears 5 calls at once and it answered 10.00 calls a second when it refused more; "
        "20 % are left free"
    )


def test_processes_that_share_a_rule_are_added_up() -> None:
    (one,) = suggested([LEARNED, LEARNED, GateState(scope="source:desk", cap=8, cap_set=8)])
    assert one.rules == {"max_concurrency": 8, "calls_per_second": 16.0}


def test_nothing_is_suggested_that_holds_already_or_was_never_refused() -> None:
    quiet = GateState(scope="source:desk", cap=8, cap_set=8)
    recovered = GateState(scope="source:desk", cap=8, cap_set=8, halvings=1)
    strict = GateState(scope="tool:a/b", rate_set=8.0, rate_when_refused=10.0)
    assert suggested([quiet, recovered, strict]) == []
    (least,) = suggested(
        [GateState(scope="group:x", cap=1, cap_set=8, halvings=9, rate_when_refused=0.001)]
    )
    assert least.rules == {"max_concurrency": 1, "calls_per_second": 0.01}
