"""The record of one call as a person reads it: who, what, how it ended, and the path with times.

Used by `toolcrib calls show` and `toolcrib call --explain`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from toolcrib_adapters.surfaces.cli.moments import written_moment, written_seconds
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.ports import CallRecord


def as_document(record: CallRecord) -> JsonObject:
    """The record as JSON; what it says is on one level."""
    facts: JsonObject = asdict(record)
    inner = facts.pop("facts")
    return {
        **facts,
        "began": written_moment(record.began),
        **(inner if isinstance(inner, dict) else {}),
    }


def report(record: CallRecord) -> Iterator[str]:
    """The lines of a report."""
    facts = record.facts
    tool = f"{record.tool}@{record.version} of {record.source}" if record.tool else "none"
    yield f"call       {record.id}"
    yield f"tool       {tool}, asked for as {record.asked}{_in_words(facts, 'range', ' @ ')}"
    where = "".join(_in_words(facts, key, f", {key} ") for key in ("profile", "session"))
    yield f"caller     {record.caller}{where}"
    yield f"began      {written_moment(record.began)} UTC"
    yield f"took       {_times(record)}"
    yield f"outcome    {record.status}{f' ({record.code})' if record.code else ''}"
    for part in ("arguments", "result"):
        weighed = facts.get(part)
        if isinstance(weighed, dict):
            yield f"{part:<10} {_weight(weighed)}"
    for part in ("marks", "repairs"):
        told = facts.get(part)
        if isinstance(told, list) and told:
            yield f"{part:<10} {'; '.join(map(str, told))}"
    yield from _path(facts.get("steps"))


def _times(record: CallRecord) -> str:
    told = [written_seconds(record.seconds)]
    for fact, words in (("upstream_seconds", "in its source"), ("waited_seconds", "waiting")):
        seconds = record.facts.get(fact)
        if isinstance(seconds, int | float) and seconds:
            told.append(f"{written_seconds(seconds)} {words}")
    return ", ".join([*told, f"attempts: {record.facts.get('attempts', 0)}"])


def _in_words(facts: JsonObject, key: str, before: str) -> str:
    return f"{before}{facts[key]}" if facts.get(key) else ""


def _weight(weighed: JsonObject) -> str:
    if weighed.get("bytes") is None:
        return "cannot be written as JSON"
    return (
        f"{weighed['bytes']} bytes, about {weighed['tokens']} tokens, sha256 {weighed['digest']}…"
    )


def _path(steps: Json) -> Iterator[str]:
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            at, name = step.get("at"), str(step.get("step"))
            told = (f"{key}={_value(value)}" for key, value in step.items() if key not in _HEAD)
            when = written_seconds(at) if isinstance(at, int | float) else ""
            yield f"{when:>12}  {name:<14} {' '.join(told)}".rstrip()


def _value(value: Json) -> str:
    return value if isinstance(value, str) else dump_json(value)


_HEAD = frozenset({"step", "at"})
