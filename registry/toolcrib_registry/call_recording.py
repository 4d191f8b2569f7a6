"""One record a call, made from its trail when it has ended: who, what, how it went, how long.

Pure. Neither arguments nor results are in a record, only their digests and sizes; texts that others
chose are cut. Used by `call_book.py`, off the path of the call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import CALL_META, META_PREFIX, TOOL_META
from toolcrib_registry.call_trail import UPSTREAM, WAITED
from toolcrib_registry.ports import CallRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.call import Call
    from toolcrib_registry.call_trail import CallTrail, TrailStep
    from toolcrib_registry.repair import ArgumentRepair

CANCELLED: Final = "cancelled"
"""The status of a call whose caller went away before it ended."""
_BYTES_A_TOKEN: Final = 4
"""For sizes in records; `budget.py` reads the text, which costs more than the rest of a record."""
_DIGEST_LENGTH: Final = 32
_MOST_WEIGHED: Final = 100_000
"""Results with more characters in their blocks are let go: only these are counted."""
_LONGEST_NAME: Final = 200
_LONGEST_FACT: Final = 100
_MOST_STEPS: Final = 60
_MOST_MARKS: Final = 20
_OWN: Final = frozenset({CALL_META, TOOL_META})


@dataclass(frozen=True, slots=True)
class EndedCall:
    """A call that has ended.

    Attributes:
        call: what was asked.
        trail: what happened.
        result: what was delivered; None if the caller went away.
        began: seconds since 1970.
        seconds: how long it took.
        is_captured: whether what went over the wire is kept.
        size: of the result in characters, where it was let go because it is large.
    """

    call: Call
    trail: CallTrail
    result: Result | None
    began: float
    seconds: float
    is_captured: bool = False
    size: int | None = None


def lightened(ended: EndedCall) -> EndedCall:
    """The same without what is large: many may wait to be written."""
    ended.trail.answer = None
    result = ended.result
    size = 0 if result is None else _size(result)
    if result is None or size <= _MOST_WEIGHED:
        return ended
    return replace(ended, result=replace(result, content=(), data=None), size=size)


def record_of(ended: EndedCall) -> CallRecord:
    """The record of a call."""
    call, trail, result = ended.call, ended.trail, ended.result
    answered = trail.record
    error = None if result is None else result.error
    return CallRecord(
        id=trail.id,
        began=ended.began,
        seconds=ended.seconds,
        caller=call.caller.id,
        asked=str(call.tool)[:_LONGEST_NAME],
        tool="" if answered is None else str(answered.tool),
        version="" if answered is None else str(answered.version),
        source="" if answered is None else answered.source,
        status=CANCELLED if result is None else result.status.value,
        code="" if error is None else error.code[:_LONGEST_NAME],
        facts=_facts(ended),
    )


def _facts(ended: EndedCall) -> JsonObject:
    call, trail = ended.call, ended.trail
    facts: JsonObject = {"arguments": _weighed(call.arguments)}
    if ended.result is not None:
        facts["result"] = _weighed(delivered(ended.result), ended.size)
        facts["marks"] = _marks(ended.result)
    facts["attempts"] = trail.attempts
    facts["waited_seconds"] = _summed(trail.steps, WAITED)
    facts["upstream_seconds"] = _summed(trail.steps, UPSTREAM)
    if trail.sent is not None and trail.sent.repairs:
        facts["repairs"] = [_place(repair) for repair in trail.sent.repairs]
    where: JsonObject = {
        "range": call.version,
        "profile": call.view.name or None,
        "session": call.session or None,
        "in_place_of": ", ".join(map(str, call.stands_in_for)) or None,
        "captured": ended.is_captured or None,
    }
    facts.update({name: _short(value) for name, value in where.items() if value is not None})
    facts["steps"] = [_step(step) for step in trail.steps[:_MOST_STEPS]]
    return facts


def delivered(result: Result) -> JsonObject:
    """What a caller reads of a result: data and blocks."""
    return {"data": result.data, "content": [*result.content]}


def _size(result: Result) -> int:
    texts = (text for block in result.content for text in block.values() if isinstance(text, str))
    return sum(map(len, texts))


def _weighed(value: Json, size: int | None = None) -> JsonObject:
    """Size, about how many tokens that is, and a digest that tells equal ones.

    Only the size of what was let go is known.
    """
    if size is not None:
        return {"bytes": size, "tokens": -(-size // _BYTES_A_TOKEN), "digest": None}
    try:
        written = dump_json(value).encode()
    except ToolError:
        # What a Python function or a caller in this process gave need not be JSON.
        return {"bytes": None, "tokens": None, "digest": None}
    digest = sha256(written).hexdigest()[:_DIGEST_LENGTH]
    return {"bytes": len(written), "tokens": -(-len(written) // _BYTES_A_TOKEN), "digest": digest}


def _marks(result: Result) -> list[Json]:
    """What the answer says of itself: repaired, healed, cached, a handle and so on."""
    prefix = len(META_PREFIX)
    ours = [key for key in result.meta if key.startswith(META_PREFIX) and key not in _OWN]
    return [key[prefix : prefix + _LONGEST_FACT] for key in ours[:_MOST_MARKS]]


def _place(repair: ArgumentRepair) -> str:
    """Where something was repaired; in words it would be told what was there."""
    guessed = "" if repair.is_certain else " (a near miss)"
    return f"{repair.pointer or '/'}"[:_LONGEST_NAME] + guessed


def _summed(steps: Sequence[TrailStep], fact: str) -> float:
    found = (step.facts.get(fact) for step in steps)
    return round(sum(value for value in found if isinstance(value, int | float)), 6)


def _step(step: TrailStep) -> JsonObject:
    facts: JsonObject = {name: _short(value) for name, value in step.facts.items()}
    return {"step": step.name, "at": round(step.seconds, 6), **facts}


def _short(value: Json) -> Json:
    """A fact as it is kept: what is no number or flag becomes a short text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)[:_LONGEST_FACT]
