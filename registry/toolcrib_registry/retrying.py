"""Whether a failed call is tried again, and when: pure decisions.

Full jitter: a pause is anything between nothing and a limit that doubles, so that many callers of a
source that comes back do not all knock at the same moment. A source that says when to come back is
taken at its word. Waiting and calling are done by `healing.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import BREAKER_OPEN, SOURCE_UNAVAILABLE
from toolcrib_registry.failure_tables import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_registry.classification import Verdict

DEFAULT_RETRIES: Final = 3
"""How often a call is repeated at most, where that is harmless."""
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
BUSY_PAUSE_SECONDS: Final = 1.0
"""The first limit where a source says that it is called too often, but not for how long."""
LONGEST_ABSENCE_SECONDS: Final = 2.0
"""A source that is tried again so soon is waited for; beyond that the caller is told."""
ABSENCE_RETRIES: Final = 8
"""How often a call that never left is tried, unless retries are switched off."""
_SPREAD: Final = 0.1
"""How much longer than it was asked to a call waits, at most: not all come back at once."""
_FEWER: Final[Mapping[Cause, int]] = {
    Cause.UNREADABLE: 2,
    Cause.TIMED_OUT: 2,
    Cause.TOOL_SAID: 1,
}
"""What is most likely the same next time is not tried as often."""
_DOUBLINGS: Final = 16
_ABSENT: Final = frozenset({BREAKER_OPEN, SOURCE_UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class Pause:
    """Try again after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not try again, and why not (a word for the trail)."""

    why: str


NOT_HARMLESS: Final = Stop("not_harmless")
USED_UP: Final = Stop("retries_used_up")
NO_TIME: Final = Stop("no_time_left")
TOO_LONG: Final = Stop("asked_to_wait_too_long")


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is known when an attempt has failed.

    Attributes:
        verdict: what the failure means.
        number: of the attempt, from 1.
        is_harmless: whether it may be repeated at all.
        retries: how often at most.
        seconds_left: until the deadline of the call.
    """

    verdict: Verdict
    number: int
    is_harmless: bool
    retries: int
    seconds_left: float


def next_step(attempt: Attempt, roll: float) -> Pause | Stop:
    """Whether and when to try again; `roll` is chance, from 0 up to 1."""
    verdict = attempt.verdict
    if not attempt.is_harmless:
        return NOT_HARMLESS
    if attempt.number > _most_retries(attempt):
        return USED_UP
    if verdict.retry_after:
        return _as_asked(attempt, verdict.retry_after, roll)
    seconds = pause_seconds(attempt.number, roll, is_busy=verdict.cause is Cause.RATE_LIMITED)
    return Pause(seconds) if seconds < attempt.seconds_left else NO_TIME


def is_absent(verdict: Verdict) -> bool:
    """Whether the source is away for a moment and says when it is tried again.

    Such calls never leave, so they are no load, however many there are.
    """
    return verdict.code in _ABSENT and verdict.retry_after is not None


def _most_retries(attempt: Attempt) -> int:
    if attempt.retries and is_absent(attempt.verdict):
        return max(attempt.retries, ABSENCE_RETRIES)
    return min(attempt.retries, _FEWER.get(attempt.verdict.cause, attempt.retries))


def _as_asked(attempt: Attempt, asked: float, roll: float) -> Pause | Stop:
    most = attempt.seconds_left
    if is_absent(attempt.verdict):
        most = min(most, LONGEST_ABSENCE_SECONDS)
    if asked >= most:
        return TOO_LONG
    # Never sooner than asked, nor so much later that no time is left for the call.
    return Pause(min(asked * (1 + _SPREAD * roll), (asked + most) / 2))


def pause_seconds(number: int, roll: float, *, is_busy: bool = False) -> float:
    """The pause after attempt `number`; full jitter."""
    first = BUSY_PAUSE_SECONDS if is_busy else FIRST_PAUSE_SECONDS
    doubled: float = first * 2 ** min(number - 1, _DOUBLINGS)
    return min(doubled, LONGEST_PAUSE_SECONDS) * roll
