"""Stops callers that repeat themselves: the same call again, though nothing can have changed.

A `Stage`. A call that just failed for good is not sent again at once: its caller is told what
failed and what to change, and the call after that goes through, in case something outside has
changed; a loop gets the lesson ever more often. A tool that only reads, asked a third time within
seconds in one conversation, is answered from memory. Any call that may have changed something sets
all back; so do time, another version of the tool, and a wish for a fresh answer. Failures that may
pass (retryable, a person has to act, the tool says that it waits for something) are never held
against anybody, and neither are successful writes; a failed reading, unless its arguments were
wrong, is so for some seconds only: somebody may poll. In memory, bounded. Not a cache: see
`result_cache`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.call_meta import CACHED_META, REPEATED_META
from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import (
    ANSWER_NOT_KEPT,
    KEY_CONFLICT,
    REPEATED_CALL,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import Result
from toolcrib_protocol.schema import fingerprint, sample
from toolcrib_registry.argument_digest import argument_digest
from toolcrib_registry.caller_credentials import Credentials, credentials_of
from toolcrib_registry.classification import classify, told_honestly
from toolcrib_registry.failure_tables import WITHOUT_ANSWER, Cause
from toolcrib_registry.fallback import stood_in
from toolcrib_registry.waiting_words import says_to_wait

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work

WINDOW_SECONDS: Final = 300.0
"""How long a call is remembered after it was sent last."""
SAME_ANSWER_SECONDS: Final = 5.0
"""An answer older than that is asked for anew, however often it was the same: somebody may wait for
it to change. So is a failure of a tool that only reads."""
MOST_REMEMBERED: Final = 2_000
MOST_LESSONS: Final = 8
_SAME_ANSWERS: Final = 2
_LARGEST_ANSWER: Final = 8_000
_LONGEST_WORDS: Final = 600
_LONGEST_EXAMPLE: Final = 600
_PASSING: Final = frozenset({Cause.NOT_SENT, Cause.RATE_LIMITED, *WITHOUT_ANSWER})
"""What passes, even where the call must not be repeated on anybody's behalf."""
_OWN: Final = frozenset({REPEATED_CALL, KEY_CONFLICT, ANSWER_NOT_KEPT})
"""Nothing was sent for these, so there is nothing to spare."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What makes a call the same as another one."""

    caller: str
    session: str
    credentials: Credentials
    fingerprint: str
    digest: str
    key: str | None


@dataclass(frozen=True, slots=True)
class _Memory:
    """How a call went last.

    Attributes:
        sent: when it was sent last.
        changes: how many changes had been made by then.
        times: how often it ended so, in a row.
        lessons: how many of its repetitions are still to be answered with a lesson.
        error: how it failed; None if it did not.
        lasts: for how many seconds the failure is held against the call.
        answer: what it brought; None if it failed.
        digest: of the answer.
    """

    sent: float
    changes: int
    times: int = 1
    lessons: int = 0
    error: ToolError | None = None
    lasts: float = WINDOW_SECONDS
    answer: Result | None = None
    digest: str = ""


class RepeatGuard:
    """A `Stage`: see the module. Used from one event loop."""

    def __init__(self, catalogue: Catalogue, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._changes = 0
        self._memories: OrderedDict[_Place, _Memory] = OrderedDict()

    async def carry(self, work: Work, onward: Onward) -> Result:
        """The result of the call, or a lesson."""
        call = work.call
        if work.rules.repeats is True or call.interaction.responses is not None:
            return await onward(work)
        try:
            place = self._place(work)
        except ToolError:
            # What JSON cannot write has no digest; whoever sends it says so.
            return await onward(work)
        memory = None if call.is_fresh else self._memory(place)
        if memory is not None:
            lesson = self._lesson(place, memory, work)
            if lesson is not None:
                return lesson
        changes = self._changes
        result = await onward(work)
        self._learn(place, memory, work, result, changes)
        return result

    def _place(self, work: Work) -> _Place:
        call, record = work.call, work.record
        source = self._catalogue.snapshot.sources.get(record.source)
        return _Place(
            call.caller.id,
            call.session,
            credentials_of(call, source),
            f"{record.tool}@{record.version} {record.fingerprint}",
            argument_digest(work),
            call.key,
        )

    def _memory(self, place: _Place) -> _Memory | None:
        memory = self._memories.get(place)
        if memory is None:
            return None
        is_old = self._clock.monotonic() - memory.sent > WINDOW_SECONDS
        if is_old or memory.changes != self._changes:
            del self._memories[place]
            return None
        return memory

    def _lesson(self, place: _Place, memory: _Memory, work: Work) -> Result | None:
        """What the caller gets in place of another call; None if it is made."""
        age = self._clock.monotonic() - memory.sent
        if memory.error is not None:
            if not memory.lessons or age > memory.lasts:
                return None
            self._memories[place] = replace(memory, lessons=memory.lessons - 1)
            result = Result.failed(_refusal(work, memory, memory.error, age))
        elif memory.answer is None or age > SAME_ANSWER_SECONDS or memory.times < _SAME_ANSWERS:
            return None
        else:
            result = _same_again(memory.answer, memory.times, age)
        work.trail.note("repeated", times=memory.times)
        facts: JsonObject = {"times": memory.times, "age_seconds": round(age, 3)}
        work.trail.facts[REPEATED_META] = facts
        return result

    def _learn(
        self, place: _Place, before: _Memory | None, work: Work, result: Result, changes: int
    ) -> None:
        """Remember how the call went."""
        self._memories.pop(place, None)
        reads = work.record.contract.behaviour.read_only is True
        error = told_honestly(result, work.record.contract).error
        if not reads and (error is None or error.kind is not ErrorKind.FATAL):
            # It changed something, or may have: every call may now go otherwise.
            self._changes += 1
            return
        memory = _Memory(self._clock.monotonic(), changes)
        if error is not None:
            lasts = 0.0 if error.code in _OWN else _lasts(error, work, result)
            if not lasts:
                return
            times = before.times + 1 if before is not None and before.error is not None else 1
            lessons = min(2 ** (times - 1), MOST_LESSONS)
            failed = replace(memory, times=times, lessons=lessons, error=error, lasts=lasts)
            self._remember(place, failed)
        elif _was_asked_for(work, result):
            self._learn_answer(place, before, memory, result)

    def _learn_answer(
        self, place: _Place, before: _Memory | None, memory: _Memory, result: Result
    ) -> None:
        digest = _digest(result)
        if not digest:
            return
        is_same = before is not None and before.digest == digest
        times = before.times + 1 if before is not None and is_same else 1
        self._remember(place, replace(memory, times=times, answer=result, digest=digest))

    def _remember(self, place: _Place, memory: _Memory) -> None:
        self._memories[place] = memory
        if len(self._memories) > MOST_REMEMBERED:
            self._memories.popitem(last=False)


def _was_asked_for(work: Work, result: Result) -> bool:
    """Whether the tool itself was asked, and answered, in a conversation that is known."""
    call = work.call
    is_remembered = CACHED_META in work.trail.facts
    is_own = result.interim is None and not stood_in(result) and not is_remembered
    return is_own and bool(call.session) and call.key is None


def _lasts(error: ToolError, work: Work, result: Result) -> float:
    """For how many seconds the same call will surely fail again; 0 if time or a person mends it."""
    if error.kind is not ErrorKind.FATAL:
        return 0.0
    cause = classify(result, work.record.contract).cause
    if cause is Cause.BAD_ARGUMENTS:
        return WINDOW_SECONDS
    if cause in _PASSING or says_to_wait(f"{error.code} {error.message} {result.text}"):
        return 0.0
    only_reads = work.record.contract.behaviour.read_only is True
    return SAME_ANSWER_SECONDS if only_reads else WINDOW_SECONDS


def _digest(result: Result) -> str:
    """What tells two answers apart; empty for one that is too large to be remembered."""
    try:
        written = dump_json(result.as_mcp())
    except ToolError:
        return ""
    return fingerprint(written) if len(written) <= _LARGEST_ANSWER else ""


def _same_again(answer: Result, times: int, age: float) -> Result:
    """The answer of last time, with a word about it."""
    words = (
        f"[toolcrib: the same call had this answer {times} times, last {age:.1f} s ago; it was not "
        "made again. To wait for a change, ask again after some seconds]"
    )
    return replace(answer, content=(*answer.content, text_block(words)))


def _refusal(work: Work, memory: _Memory, error: ToolError, age: float) -> ToolError:
    words = error.message[:_LONGEST_WORDS]
    what_to_do = error.details.get("what_to_do", "change the arguments, or use another tool")
    more = memory.lessons - 1
    soon = f" or {memory.lasts:.0f} s" if memory.lasts < WINDOW_SECONDS else ""
    lines = [
        f"{work.record.contract.id} failed {age:.0f} s ago with exactly these arguments, and "
        f"nothing has changed here since then: {words}",
        f"It was not called again. What to do: {what_to_do}.",
    ]
    details: JsonObject = {
        "why": "repeated",
        "what_to_do": what_to_do,
        "last_error": {"code": error.code, "message": words},
        "times": memory.times,
        "sent": False,
    }
    example = sample(work.record.contract.input_schema)
    if example and example != work.arguments.values:
        written = dump_json(example)
        if len(written) <= _LONGEST_EXAMPLE:
            details["example"] = example
            lines.append(f"A valid call has arguments like {written}")
    after = f" after {more} more like this one{soon}" if more else ""
    lines.append(f"If something outside has changed, call again: it will be sent{after}.")
    return ToolError(REPEATED_CALL, "\n".join(lines), ErrorKind.FATAL, details)
