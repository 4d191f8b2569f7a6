"""Answers of tools that only read, remembered for as long as the operator says they are good.

A `Stage`. Nothing is remembered unless a rule says so (`cache_seconds`) and the tool is declared to
only read. Whether a caller may use the tool is decided before, for every call; what one caller saw
is not shown to another unless a rule says that, too (`cache_shared`), and never across credentials
of the callers' own. Equal calls at the same time are one call. Failures, questions and tasks are
not remembered. In memory, bounded; a new version of the tool or another source has new answers.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.call_meta import CACHED_META, STATE_RESET_META
from toolcrib_protocol.errors import TOOL_TIMED_OUT, ErrorKind, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import Result
from toolcrib_registry.argument_digest import argument_digest
from toolcrib_registry.caller_credentials import Credentials, credentials_of
from toolcrib_registry.fallback import stood_in

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.interaction import Question
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.records import SourceRecord
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work

LARGEST_REMEMBERED: Final = 1024 * 1024
"""In bytes of JSON text."""
MOST_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Place:
    """What two calls have in common that may have one answer.

    Attributes:
        fingerprint: of the tool's contract and version.
        digest: of the arguments.
        caller: whose answer it is; empty if callers share it.
        credentials: what of the caller's own goes to the source.
    """

    fingerprint: str
    digest: str
    caller: str
    credentials: Credentials


@dataclass(frozen=True, slots=True)
class _Remembered:
    result: Result
    size: int
    came: float
    source: SourceRecord | None


@dataclass(eq=False, slots=True)
class _Flight:
    """A call under way, for which equal ones wait; without a result if it failed."""

    landed: anyio.Event = field(default_factory=anyio.Event)
    result: Result | None = None


class ResultCache:
    """A `Stage`: see the module. Used from one event loop."""

    def __init__(self, catalogue: Catalogue, clock: Clock, *, most_bytes: int = MOST_BYTES) -> None:
        """Remembers nothing yet.

        Args:
            catalogue: knows the sources.
            clock: time.
            most_bytes: of all answers together; the least recently used go first.
        """
        self._catalogue = catalogue
        self._clock = clock
        self._most_bytes = most_bytes
        self._bytes = 0
        self._remembered: OrderedDict[_Place, _Remembered] = OrderedDict()
        self._flights: dict[_Place, _Flight] = {}

    async def carry(self, work: Work, onward: Onward) -> Result:
        """The answer that is remembered, or the one that comes now."""
        seconds = work.rules.cache_seconds
        if not seconds or work.record.contract.behaviour.read_only is not True:
            return await onward(work)
        if work.call.interaction.state is not None or work.call.interaction.responses:
            # It goes on with an earlier call: nobody else's answer fits.
            return await onward(work)
        source = self._catalogue.snapshot.sources.get(work.record.source)
        try:
            place = _place(work, source)
        except ToolError as error:
            return Result.failed(error)
        if work.call.is_fresh:
            return await self._asked(place, work, onward, source)
        found = self._find(place, source, seconds)
        return self._told(found, work) if found else await self._flown(place, work, onward)

    def _find(
        self, place: _Place, source: SourceRecord | None, seconds: float
    ) -> _Remembered | None:
        found = self._remembered.get(place)
        if found is None:
            return None
        if self._clock.monotonic() - found.came >= seconds or found.source != source:
            self._drop(place)
            return None
        self._remembered.move_to_end(place)
        return found

    async def _flown(self, place: _Place, work: Work, onward: Onward) -> Result:
        """The answer of the one call that is made for all equal ones."""
        flight = self._flights.get(place)
        if flight is None:
            return await self._leading(place, work, onward)
        work.trail.note("waits_for_equal_call")
        with work.patience.limit():
            await flight.landed.wait()
            if flight.result is None:
                # What failed for another caller may work for this one, in its own time.
                return await onward(work)
            return self._told(_Remembered(flight.result, 0, self._clock.monotonic(), None), work)
        return Result.failed(_late(work))

    async def _leading(self, place: _Place, work: Work, onward: Onward) -> Result:
        flight = self._flights[place] = _Flight()
        source = self._catalogue.snapshot.sources.get(work.record.source)
        try:
            result = await self._asked(place, work, onward, source, flight)
        finally:
            del self._flights[place]
            flight.landed.set()
        return result

    async def _asked(
        self,
        place: _Place,
        work: Work,
        onward: Onward,
        source: SourceRecord | None,
        flight: _Flight | None = None,
    ) -> Result:
        """What the source answers now; remembered, and others told, if it is an answer for all."""
        own, watched = _watched(work)
        result = await onward(watched)
        if not own and _is_answer(result):
            if flight is not None:
                flight.result = result
            self._keep(place, result, source)
        return result

    def _told(self, found: _Remembered, work: Work) -> Result:
        age = self._clock.monotonic() - found.came
        work.trail.note("cached")
        work.trail.facts[CACHED_META] = {"age_seconds": round(age, 3)}
        return found.result

    def _keep(self, place: _Place, result: Result, source: SourceRecord | None) -> None:
        """Remember an answer, if it is not too large."""
        self._drop(place)
        size = _size(result)
        if size is None or size > min(LARGEST_REMEMBERED, self._most_bytes):
            return
        # What was lost is lost once: who gets the remembered answer lost nothing.
        meta = {key: value for key, value in result.meta.items() if key != STATE_RESET_META}
        kept = replace(result, meta=meta)
        self._remembered[place] = _Remembered(kept, size, self._clock.monotonic(), source)
        self._bytes += size
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._remembered)))

    def _drop(self, place: _Place) -> None:
        known = self._remembered.pop(place, None)
        if known is not None:
            self._bytes -= known.size


def _place(work: Work, source: SourceRecord | None) -> _Place:
    call, record = work.call, work.record
    return _Place(
        f"{record.tool}@{record.version} {record.fingerprint}",
        argument_digest(work),
        _owner(work, source),
        credentials_of(call, source),
    )


def _owner(work: Work, source: SourceRecord | None) -> str:
    """Whose answer it is; empty if it is everybody's."""
    call = work.call
    if source is not None and source.spec.get("affinity") == "per_caller":
        # The source keeps something for each conversation: what it says to one is not for others.
        return f"{call.caller.id} {call.session}"
    return "" if work.rules.cache_shared is True else call.caller.id


def _watched(work: Work) -> tuple[list[Question], Work]:
    """The work, and a list of the questions that its caller will be asked meanwhile."""
    asked: list[Question] = []
    interaction = work.call.interaction
    ask = interaction.ask
    if ask is None:
        return asked, work

    async def ask_and_tell(question: Question) -> JsonObject:
        asked.append(question)
        return await ask(question)

    watched = replace(interaction, ask=ask_and_tell)
    return asked, replace(work, call=replace(work.call, interaction=watched))


def _is_answer(result: Result) -> bool:
    """Whether the tool itself answered: no failure, question, task, or what stood in for it."""
    return result.error is None and result.interim is None and not stood_in(result)


def _size(result: Result) -> int | None:
    try:
        return len(dump_json(result.as_mcp()).encode())
    except ToolError:
        return None


def _late(work: Work) -> ToolError:
    text = (
        f"an equal call of {work.record.contract.id} was under way and gave no answer within "
        f"{work.seconds:g} s"
    )
    return ToolError(TOOL_TIMED_OUT, text, ErrorKind.RETRYABLE)
