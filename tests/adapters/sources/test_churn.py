"""How long a source that lists again and again is left alone."""

from __future__ import annotations

import pytest

from toolcrib_adapters.sources.churn import Churn
from toolcrib_registry.hand_clock import HandClock


@pytest.mark.promise("unruly-lists")
def test_after_a_quiet_time_a_source_may_list_as_before() -> None:
    clock, churn = HandClock(), Churn()
    pauses = [churn.pause_seconds(clock) for _ in range(15)]
    assert pauses == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    clock.advance(119)
    assert churn.pause_seconds(clock) == 60
    clock.advance(120)
    assert churn.pause_seconds(clock) == 0
