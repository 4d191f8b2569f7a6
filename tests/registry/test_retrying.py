"""When a failed call is tried again, and how many retries a source may get."""

from __future__ import annotations

from dataclasses import replace

import pytest

from toolcrib_protocol.errors import BREAKER_OPEN, ErrorKind
from toolcrib_registry.classification import Teller, Verdict
from toolcrib_registry.failure_tables import Cause, Effect
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.retry_budget import FLOOR, SHARE, WINDOW_SECONDS, RetryBudget
from toolcrib_registry.retrying import (
    ABSENCE_RETRIES,
    FIRST_PAUSE_SECONDS,
    LONGEST_ABSENCE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    NO_TIME,
    NOT_HARMLESS,
    TOO_LONG,
    USED_UP,
    Attempt,
    Pause,
    next_step,
    pause_seconds,
)

LOST = Verdict(ErrorKind.RETRYABLE, Cause.CONNECTION_LOST, Effect.NONE, Teller.TRANSPORT)
FIRST = Attempt(LOST, 1, is_harmless=True, retries=3, seconds_left=30)


@pytest.mark.promise("healing-retry")
def test_a_pause_is_anything_up_to_a_limit_that_doubles() -> None:
    assert pause_seconds(1, 0.0) == 0
    assert pause_seconds(1, 1.0) == FIRST_PAUSE_SECONDS
    assert pause_seconds(3, 1.0) == 4 * FIRST_PAUSE_SECONDS
    assert pause_seconds(10_000, 1.0) == LONGEST_PAUSE_SECONDS
    assert next_step(FIRST, 0.5) == Pause(FIRST_PAUSE_SECONDS / 2)
    busy = replace(FIRST, verdict=replace(LOST, cause=Cause.RATE_LIMITED))
    assert next_step(busy, 0.5) == Pause(0.5)


@pytest.mark.promise("healing-retry")
def test_it_ends_when_repeating_is_not_harmless_or_tries_or_time_are_used_up() -> None:
    assert next_step(replace(FIRST, is_harmless=False), 0.5) == NOT_HARMLESS
    assert next_step(replace(FIRST, number=4), 0.5) == USED_UP
    assert next_step(replace(FIRST, retries=0), 0.5) == USED_UP
    assert next_step(replace(FIRST, seconds_left=0.01), 0.5) == NO_TIME
    unreadable = replace(FIRST, verdict=replace(LOST, cause=Cause.UNREADABLE))
    assert isinstance(next_step(unreadable, 0.5), Pause)
    assert next_step(replace(unreadable, number=3), 0.5) == USED_UP


@pytest.mark.promise("healing-retry-after")
def test_a_source_that_says_when_to_come_back_is_taken_at_its_word() -> None:
    asked = replace(FIRST, verdict=replace(LOST, retry_after=5.0))
    assert next_step(asked, 0.0) == Pause(5.0)
    at_once = replace(FIRST, verdict=replace(LOST, retry_after=0.0))
    assert next_step(at_once, 0.5) == Pause(FIRST_PAUSE_SECONDS / 2)
    late = next_step(asked, 0.999)
    assert isinstance(late, Pause)
    assert 5.0 < late.seconds <= 5.5
    assert next_step(replace(asked, seconds_left=5.0), 0.5) == TOO_LONG
    tight = next_step(replace(asked, seconds_left=5.2), 0.999)
    assert isinstance(tight, Pause)
    assert tight.seconds == pytest.approx(5.1)


def test_a_breaker_that_opens_again_soon_is_waited_for_and_no_other() -> None:
    verdict = replace(LOST, code=BREAKER_OPEN, retry_after=LONGEST_ABSENCE_SECONDS)
    assert next_step(replace(FIRST, verdict=verdict), 0.5) == TOO_LONG
    soon = replace(verdict, retry_after=1.0)
    assert next_step(replace(FIRST, verdict=soon), 0.0) == Pause(1.0)
    assert next_step(replace(FIRST, verdict=soon, number=ABSENCE_RETRIES), 0.0) == Pause(1.0)
    assert next_step(replace(FIRST, verdict=soon, number=ABSENCE_RETRIES + 1), 0.0) == USED_UP
    assert next_step(replace(FIRST, verdict=soon, retries=0), 0.0) == USED_UP


@pytest.mark.promise("healing-retry-budget")
def test_a_source_gets_a_fifth_of_its_calls_as_retries_and_always_a_few() -> None:
    clock = HandClock()
    budget = RetryBudget(clock)
    assert [budget.take("a") for _ in range(FLOOR + 1)] == [True] * FLOOR + [False]
    for _ in range(1_000):
        budget.called("b")
    taken = sum(budget.take("b") for _ in range(1_000))
    assert taken == SHARE * 1_000
    assert not budget.take("a")  # each source has its own
    clock.advance(WINDOW_SECONDS / 2)
    assert not budget.take("a")
    clock.advance(WINDOW_SECONDS)
    assert budget.take("a")
    clock.advance(100 * WINDOW_SECONDS)
    assert sum(budget.take("b") for _ in range(100)) == FLOOR


def test_budgets_of_sources_without_end_do_not_fill_the_memory() -> None:
    budget = RetryBudget(HandClock())
    for number in range(10_050):
        budget.called(f"source-{number}")
    assert len(budget._counts) == 10_000
