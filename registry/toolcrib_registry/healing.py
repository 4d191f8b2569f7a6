"""A stage of the path that mends what can be mended: retries, repairs, fallbacks, lesser answers.

Nothing is sent twice that may have had an effect, unless the contract says that this is harmless.
All of it happens within the time that the call may take; what was tried is told in `_meta` and in
the record of the call. Each attempt passes the gates anew: whoever waits here holds no place.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from toolcrib_protocol.errors import AT_CAPACITY
from toolcrib_protocol.result import ERROR_META, META_PREFIX
from toolcrib_registry.call_trail import WAITED
from toolcrib_registry.classification import classify, told_honestly
from toolcrib_registry.failure_tables import Cause, Effect
from toolcrib_registry.fallback import degraded
from toolcrib_registry.idempotency_keys import caller_has_key, may_repeat_with_key
from toolcrib_registry.pace import Pace
from toolcrib_registry.retry_budget import RetryBudget
from toolcrib_registry.retrying import (
    DEFAULT_RETRIES,
    NO_TIME,
    Attempt,
    Pause,
    Stop,
    is_absent,
    next_step,
)
from toolcrib_registry.rising_progress import RisingProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.arguments import ReadyArguments
    from toolcrib_registry.classification import Verdict
    from toolcrib_registry.equivalents import Equivalent
    from toolcrib_registry.fallback import Fallbacks
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work

ATTEMPTS_META: Final = f"{META_PREFIX}attempts"
"""`_meta` key that says how often a call was made, why, and how long it waited in between."""
RECONNECT_SECONDS: Final = 0.05
"""How long a lost connection is waited for where another tool could answer."""
QUICK_SECONDS: Final = 0.1
"""Longer pauses wait until the equivalents were asked."""
RESERVED_PART: Final = 1 / 3
"""What part of its time a call leaves for what a person declared to answer in its place."""
BUDGET_USED_UP: Final = Stop("retry_budget_used_up")
OWN_QUEUE: Final = Stop("own_queue_full")


class Mending(Protocol):
    """Whoever can make other arguments of those that a source refused."""

    def __call__(self, work: Work, refusal: Result) -> ReadyArguments | None:
        """Arguments that are worth a second try; None if there are none."""
        ...


@dataclass(slots=True)
class _Course:
    """How one call goes."""

    work: Work
    result: Result
    stand_ins: tuple[Equivalent, ...]
    number: int = 1
    was_handed_on: bool = False
    was_mended: bool = False
    waited: float = 0.0
    causes: list[str] = field(default_factory=list)
    lost: Result | None = None
    """The failure of an attempt that may have run."""

    def as_a_whole(self, verdict: Verdict) -> Verdict:
        """What the newest failure means, with what earlier attempts may have done."""
        return verdict if self.lost is None else replace(verdict, effect=Effect.UNKNOWN)

    def failure(self, verdict: Verdict) -> Result:
        """The failure that the caller gets: none may say that nothing ran if something may have."""
        reads = self.work.record.contract.behaviour.read_only is True
        if self.lost is not None and verdict.effect is Effect.NONE and not reads:
            return self.lost
        return self.result


class Healing:
    """A `Stage`: see the module. Used from one event loop."""

    def __init__(
        self,
        clock: Clock,
        fallbacks: Fallbacks,
        *,
        mending: Mending | None = None,
        roll: Callable[[], float] = random.random,
    ) -> None:
        """Heals with full retry budgets.

        Args:
            clock: time.
            fallbacks: the equivalents of tools.
            mending: makes other arguments of those that a source refused; None: nobody does.
            roll: chance, from 0 up to 1.
        """
        self._clock = clock
        self._fallbacks = fallbacks
        self._mending = mending
        self._roll = roll
        self._budget = RetryBudget(clock)
        self._pace = Pace()

    async def carry(self, work: Work, onward: Onward) -> Result:
        """The result of the call, of a later attempt, or of what stands in for it."""
        self._budget.called(work.record.source)
        rising = RisingProgress(work.call.report_progress) if work.call.report_progress else None
        if rising is not None:
            work = replace(work, call=replace(work.call, report_progress=rising))
        stand_ins = self._fallbacks.of(work)
        began = self._clock.monotonic()
        result = await onward(self._paced(_hurried(work, stand_ins)))
        if result.error is None:
            self._pace.took(work.record.tool, self._clock.monotonic() - began)
            return result
        if rising is not None:
            rising.is_repeated = True
        course = _Course(work, result, stand_ins)
        result = await self._healed(course, onward)
        if course.number > 1:
            work.trail.facts[ATTEMPTS_META] = _told(course)
        return told_honestly(result, work.record.contract, has_key=caller_has_key(work))

    async def _healed(self, course: _Course, onward: Onward) -> Result:
        while course.result.error is not None:
            verdict = _judged(course)
            if not self._mended(course, verdict):
                step = self._next(course, verdict)
                answer = await self._handed_on(course, verdict, step)
                if answer is not None:
                    return answer
                why = await self._wait(course, verdict, step)
                if why:
                    course.work.trail.note("gave_up", why=why)
                    lesser = await degraded(course.work, course.as_a_whole(verdict))
                    return lesser or course.failure(verdict)
            course.number += 1
            stand_ins = () if course.was_handed_on else course.stand_ins
            again = replace(_hurried(course.work, stand_ins), attempt=course.number)
            course.result = await onward(self._paced(again))
        return course.result

    def _paced(self, work: Work) -> Work:
        """The work with so much time for the attempt that a hang leaves some for another."""
        behaviour = work.record.contract.behaviour
        repeats = work.rules.retries != 0 and (behaviour.may_repeat or may_repeat_with_key(work))
        if not repeats or work.limit.extends or work.call.interaction.state is not None:
            return work
        left = work.seconds if work.attempt == 1 else min(work.seconds, work.seconds_left)
        seconds = self._pace.of_attempt(work.record.tool, work.attempt, left)
        return work if seconds == work.seconds else replace(work, seconds=seconds)

    def _next(self, course: _Course, verdict: Verdict) -> Pause | Stop:
        """What comes after a failure, if no other tool answers."""
        work = course.work
        is_ours = verdict.code == AT_CAPACITY and ERROR_META not in course.result.meta
        if verdict.cause is Cause.NOT_SENT and is_ours:
            return OWN_QUEUE
        # A second leg of a conversation belongs to the first one; nobody knows it again.
        may = work.call.interaction.state is None and verdict.may_repeat(
            work.record.contract, has_key=may_repeat_with_key(work)
        )
        retries = DEFAULT_RETRIES if work.rules.retries is None else work.rules.retries
        tries = Attempt(verdict, course.number, may, retries, work.seconds_left)
        return next_step(tries, self._roll())

    async def _handed_on(
        self, course: _Course, verdict: Verdict, step: Pause | Stop
    ) -> Result | None:
        """What an equivalent tool answers, when it is time to ask one."""
        is_quick = isinstance(step, Pause) and step.seconds <= QUICK_SECONDS
        if course.was_handed_on or not course.stand_ins:
            return None
        if is_quick and verdict.cause not in {Cause.NOT_SENT, Cause.TIMED_OUT}:
            return None
        course.was_handed_on = True
        return await self._fallbacks.answer(course.work, course.as_a_whole(verdict))

    async def _wait(self, course: _Course, verdict: Verdict, step: Pause | Stop) -> str:
        """Wait before the next attempt; why there is none, or empty."""
        if isinstance(step, Stop):
            return step.why
        if step.seconds >= course.work.seconds_left:
            return NO_TIME.why
        if not is_absent(verdict) and not self._budget.take(course.work.record.source):
            return BUDGET_USED_UP.why
        course.work.trail.note("waits", **{WAITED: round(step.seconds, 4)})
        course.waited += step.seconds
        await self._clock.sleep(step.seconds)
        return ""

    def _mended(self, course: _Course, verdict: Verdict) -> bool:
        """Whether the refused arguments could be mended: once a call, and only if nothing ran."""
        work = course.work
        is_safe = verdict.effect is Effect.NONE or work.record.contract.behaviour.may_repeat
        is_asked_for = verdict.cause is Cause.BAD_ARGUMENTS and course.lost is None
        if course.was_mended or not is_asked_for or not is_safe:
            return False
        course.was_mended = True
        arguments = self._mending(work, course.result) if self._mending is not None else None
        if arguments is None:
            return False
        work.trail.note("mended")
        course.work = replace(work, arguments=arguments)
        return True


def _judged(course: _Course) -> Verdict:
    """What the newest failure means, written down."""
    verdict = classify(course.result, course.work.record.contract)
    course.causes.append(verdict.cause.value)
    if verdict.lost_its_answer:
        course.lost = course.result
    course.work.trail.note(
        "failed",
        attempt=course.number,
        cause=verdict.cause.value,
        effect=verdict.effect.value,
        told_by=verdict.told_by.value,
    )
    return verdict


def _hurried(work: Work, stand_ins: tuple[Equivalent, ...]) -> Work:
    """The work with as much time as leaves some for what may answer in its place."""
    contract = work.record.contract
    if not stand_ins and contract.degraded is None:
        return work
    is_smaller = contract.degraded is not None and contract.degraded.arguments is not None
    is_declared = is_smaller or any(one.is_declared for one in stand_ins)
    reserves = is_declared and contract.behaviour.read_only is True and not work.call.stands_in_for
    seconds = work.seconds * (1 - RESERVED_PART) if reserves else work.seconds
    reconnect = RECONNECT_SECONDS if stand_ins else work.reconnect_seconds
    return replace(work, seconds=seconds, reconnect_seconds=reconnect)


def _told(course: _Course) -> JsonObject:
    facts: JsonObject = {"made": course.number, "causes": [*course.causes]}
    return {**facts, "waited_seconds": round(course.waited, 3)} if course.waited else facts
