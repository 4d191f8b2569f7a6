"""What answers when a tool cannot: an equivalent tool, a smaller call, a fixed result.

Each is called as any call is: resolved and allowed for the same caller at the same endpoint,
checked, gated, within the time that is left. A write is handed on only if it provably did nothing,
and only to what a person declared. The answer says who gave it and why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.content import text_block
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import META_PREFIX, TOOL_META, Result
from toolcrib_registry.equivalents import Equivalent, KnownEquivalents, takes_all
from toolcrib_registry.failure_tables import Cause, Effect

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.call import Call
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.classification import Verdict
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.work import Work

FALLBACK_META: Final = f"{META_PREFIX}fallback"
"""`_meta` key that says which other tool answered, and why."""
DEGRADED_META: Final = f"{META_PREFIX}degraded"
"""`_meta` key that says that less was answered than was asked, and why."""
MOST_STAND_INS: Final = 2
"""How many equivalents are tried, one after the other."""
_LEAST_SECONDS: Final = 0.01
_NOT_THERE: Final = frozenset(
    {
        Cause.NOT_SENT,
        Cause.CONNECTION_LOST,
        Cause.TIMED_OUT,
        Cause.RATE_LIMITED,
        Cause.SOURCE_FAULT,
        Cause.UNREADABLE,
        Cause.TOOL_GONE,
    }
)
"""Failures of the source, not of the call: another tool may do better."""
_NOT_FOR_LESS: Final = frozenset({Cause.NOT_SENT, Cause.TOOL_GONE, Cause.RATE_LIMITED})
"""Where a smaller call to the same tool would fail in the same way."""


class Fallbacks:
    """Finds and calls what may answer in place of a tool."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known = KnownEquivalents()

    def of(self, work: Work) -> tuple[Equivalent, ...]:
        """The equivalents of the tool that is called; none for one that itself stands in."""
        if work.call.stands_in_for:
            return ()
        return self._known.of(self._catalogue.snapshot, work.record)

    async def answer(self, work: Work, verdict: Verdict) -> Result | None:
        """What an equivalent answers; None if there is none that may and can."""
        # The answer to a question belongs to the tool that asked it.
        if not may_hand_on(work.record, verdict) or work.call.interaction.state is not None:
            return None
        tried = 0
        for equivalent in self.of(work):
            if tried == MOST_STAND_INS or work.seconds_left < _LEAST_SECONDS:
                break
            if not self._suits(work, equivalent):
                continue
            tried += 1
            result = await work.call_other(_standing_in(work, equivalent.record))
            work.trail.note(
                "fallback", tool=str(equivalent.record.tool), succeeded=not result.is_error
            )
            if not result.is_error:
                return self._marked(work, equivalent, verdict, result)
        return None

    @staticmethod
    def _suits(work: Work, equivalent: Equivalent) -> bool:
        if equivalent.is_declared:
            return True
        given = work.call.arguments
        return isinstance(given, dict) and takes_all(equivalent.record, given)

    @staticmethod
    def _marked(work: Work, equivalent: Equivalent, verdict: Verdict, result: Result) -> Result:
        answered = result.meta.get(TOOL_META, str(equivalent.record.tool))
        work.trail.facts[TOOL_META] = answered
        facts: JsonObject = {
            "answered": answered,
            "instead_of": f"{work.record.tool}@{work.record.version}",
            "because": verdict.cause.value,
            "grounds": equivalent.grounds.value,
        }
        # In the result itself: whoever stores it has to know that it is not this tool's own.
        return replace(result, meta={**result.meta, FALLBACK_META: facts})


def stood_in(result: Result) -> bool:
    """Whether something else answered in the tool's place."""
    return FALLBACK_META in result.meta or DEGRADED_META in result.meta


def may_hand_on(record: VersionRecord, verdict: Verdict) -> bool:
    """Whether another tool may be asked after this failure."""
    if verdict.cause not in _NOT_THERE:
        return False
    return verdict.effect is Effect.NONE or record.contract.behaviour.read_only is True


def _standing_in(work: Work, record: VersionRecord) -> Call:
    """The call of another tool in place of this one, for the same caller, in the time left."""
    return replace(
        work.call,
        tool=str(record.tool),
        version=None,
        timeout_seconds=work.seconds_left,
        key=None,
        stands_in_for=(*work.call.stands_in_for, work.record.tool),
    )


async def degraded(work: Work, verdict: Verdict) -> Result | None:
    """What the contract offers when the tool cannot answer; None if it offers nothing now."""
    form = work.record.contract.degraded
    if form is None or work.call.stands_in_for or not may_hand_on(work.record, verdict):
        return None
    facts: JsonObject = {"because": verdict.cause.value, "description": form.description}
    if form.arguments is not None and verdict.cause not in _NOT_FOR_LESS:
        result = await _smaller(work, form.arguments)
        if result is not None:
            mark: JsonObject = {**facts, "form": "smaller call"}
            return replace(result, meta={**result.meta, DEGRADED_META: mark})
    if "result" not in form.model_fields_set:
        return None
    work.trail.note("degraded", form="fixed result")
    return _fixed(form.result, {**facts, "form": "fixed result"})


async def _smaller(work: Work, arguments: JsonObject) -> Result | None:
    if work.seconds_left < _LEAST_SECONDS:
        return None
    given = work.call.arguments
    merged = {**(given if isinstance(given, dict) else {}), **arguments}
    call = replace(
        _standing_in(work, work.record), arguments=merged, version=f"={work.record.version}"
    )
    result = await work.call_other(call)
    work.trail.note("degraded", form="smaller call", succeeded=not result.is_error)
    return None if result.is_error else result


def _fixed(value: Json, mark: JsonObject) -> Result:
    text = value if isinstance(value, str) else dump_json(value)
    meta: JsonObject = {DEGRADED_META: mark}
    return Result(data=value, content=(text_block(text),), has_data=True, meta=meta)
