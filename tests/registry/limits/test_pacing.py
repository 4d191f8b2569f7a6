"""Buckets, caps and meters: the pure parts of a gate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_registry.limits.adaptive_cap import AdaptiveCap
from toolcrib_registry.limits.meter import MEMORY_SECONDS, Meter
from toolcrib_registry.limits.token_bucket import LONGEST_PAUSE_SECONDS, TokenBucket


@given(
    rate=st.floats(0.1, 1_000),
    burst=st.integers(1, 50),
    steps=st.lists(st.floats(0, 2), max_size=60),
)
def test_a_bucket_never_gives_more_than_its_burst_and_what_came_since(
    rate: float, burst: int, steps: list[float]
) -> None:
    bucket, now, given_out = TokenBucket(), 0.0, 0
    bucket.limit(rate, float(burst), now)
    for step in steps:
        now += step
        while bucket.take(now):
            given_out += 1
        wait = bucket.wait(now)
        assert 0 < wait <= 1 / rate + 1e-6
    assert given_out <= burst + rate * now + 1e-6


def test_a_bucket_takes_no_pause_that_is_none_and_none_for_ever() -> None:
    bucket = TokenBucket()
    for odd in (-1.0, 0.0, float("nan"), float("inf")):
        bucket.pause(odd, 10.0)
        assert bucket.take(10.0)
    bucket.pause(1e300, 10.0)
    assert bucket.wait(10.0) == LONGEST_PAUSE_SECONDS
    bucket.pause(1.0, 10.0)
    assert bucket.wait(10.0) == LONGEST_PAUSE_SECONDS


def test_a_cap_never_falls_below_one_and_is_learned_where_none_was_set() -> None:
    cap = AdaptiveCap(most=2)
    for moment in (1.0, 2.0, 3.0):
        assert cap.refused(began=moment, running=2, now=moment)
    assert (cap.present, cap.halvings) == (1, 3)
    assert not cap.refused(began=2.5, running=1, now=4.0)
    cap.succeeded(began=2.5)
    assert cap.learned == 1
    free = AdaptiveCap()
    assert free.present is None
    free.refused(began=1.0, running=30, now=2.0)
    assert free.present == 15
    free.succeeded(began=3.0)
    assert free.present == 15


def test_a_meter_tells_the_rate_and_the_latency_of_late() -> None:
    meter = Meter()
    assert meter.rate(5.0) == 0.0
    meter.source_refused(5.0)
    assert meter.rate_when_refused is None
    for number in range(100):
        meter.ended(0.2, number / 10)
    assert meter.rate(10.0) == pytest.approx(10, rel=0.1)
    assert meter.latency_seconds == pytest.approx(0.2)
    meter.source_refused(10.0)
    meter.source_refused(10.0)
    assert meter.rate_when_refused == pytest.approx(10, rel=0.1)
    assert meter.rate(10.0 + 10 * MEMORY_SECONDS) < 0.01
