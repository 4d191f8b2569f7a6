"""How one contract differs from another, over all its parts.

Pure. What a difference leads to (the next version, a hold, a warning) is decided in the registry.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.compatibility.change import Change, Level, Reason, Side
from toolcrib_protocol.compatibility.rules import RULES
from toolcrib_protocol.compatibility.schema_change import schema_reasons
from toolcrib_protocol.json_pointer import below

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolcrib_protocol.compatibility.inclusion import Rule
    from toolcrib_protocol.tool import Contract

_TEXTS: Final = (
    "title", "description", "when_to_use", "when_not_to_use", "preconditions", "examples", "tags",
    "icons", "meta", "deprecation",
)  # fmt: skip
_PARTS: Final = ("limits", "degraded", "batch", "needs")
_NUMBERS: Final = re.compile(r"\d+(?:\.\d+)?")


def compare(old: Contract, new: Contract, rules: Mapping[str, Rule] = RULES) -> Change:
    """What changed from `old` to `new`; their names and versions are not looked at."""
    reasons = schema_reasons(Side.INPUT, old.input_schema, new.input_schema, rules)
    return Change.of(
        [
            *reasons,
            *_output(old, new, rules),
            *_behaviour(old, new),
            *_errors(old, new),
            *_other_parts(old, new),
            *_texts(old, new),
        ]
    )


def _output(old: Contract, new: Contract, rules: Mapping[str, Rule]) -> list[Reason]:
    before, after = old.output_schema, new.output_schema
    if before is None and after is None:
        return []
    if before is None:
        told = "the form of results is promised now"
        return [Reason(Side.OUTPUT, "", "output-promised", Level.MINOR, told)]
    if after is None:
        told = "the form of results is not promised any more"
        return [Reason(Side.OUTPUT, "", "output-not-promised", Level.MAJOR, told)]
    return schema_reasons(Side.OUTPUT, before, after, rules)


def _behaviour(old: Contract, new: Contract) -> Iterator[Reason]:
    before, after = old.behaviour, new.behaviour
    for name, harmless in _HARMLESS.items():
        was, now = getattr(before, name), getattr(after, name)
        if was == now:
            continue
        # What was declared harmless and is not any more widens what a call may do; so does what is
        # declared harmful.
        is_wider = was is harmless or now is (not harmless)
        level = Level.MAJOR if is_wider else Level.MINOR
        told = f"{name} was {_declared(was)} and is {_declared(now)} now"
        yield Reason(Side.BEHAVIOUR, f"/behaviour/{name}", name.replace("_", "-"), level, told)
    if before.idempotency_key != after.idempotency_key:
        level = Level.MAJOR if before.idempotency_key is not None else Level.MINOR
        told = "where the idempotency key travels has changed"
        yield Reason(Side.BEHAVIOUR, "/behaviour/idempotency_key", "idempotency-key", level, told)


_HARMLESS: Final = {
    "read_only": True,
    "destructive": False,
    "idempotent": True,
    "open_world": False,
}
"""What each hint says when a call is the less of a risk."""


def _declared(hint: object) -> str:
    return "not declared" if hint is None else str(hint).lower()


def _errors(old: Contract, new: Contract) -> Iterator[Reason]:
    before = {error.code: error for error in old.errors}
    after = {error.code: error for error in new.errors}
    for code in before.keys() | after.keys():
        was, now = before.get(code), after.get(code)
        at = below("/errors", code)
        if was is None:
            told = f"the error {code!r} is new"
            yield Reason(Side.ERRORS, at, "error-added", Level.MINOR, told)
        elif now is None:
            told = f"the error {code!r} is not promised any more"
            yield Reason(Side.ERRORS, at, "error-removed", Level.MAJOR, told)
        elif was.kind is not now.kind:
            told = f"the error {code!r} was {was.kind} and is {now.kind} now"
            yield Reason(Side.ERRORS, at, "error-kind", Level.MAJOR, told)
        elif was.message != now.message:
            told = f"the words of the error {code!r} differ"
            yield Reason(Side.ERRORS, at, "error-text", Level.PATCH, told)


def _other_parts(old: Contract, new: Contract) -> Iterator[Reason]:
    for name in _PARTS:
        if getattr(old, name) != getattr(new, name):
            told = f"{name} differ"
            yield Reason(Side.BEHAVIOUR, f"/{name}", name, Level.MINOR, told)


def _texts(old: Contract, new: Contract) -> Iterator[Reason]:
    for name in _TEXTS:
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        yield Reason(Side.TEXT, f"/{name}", "text", Level.PATCH, f"{name} differs")
        if isinstance(before, str) and isinstance(after, str):
            yield from _numbers(name, before, after)


def _numbers(name: str, before: str, after: str) -> Iterator[Reason]:
    """Numbers in a text that are others now: limits and defaults are often told there only."""
    was, now = _NUMBERS.findall(before), _NUMBERS.findall(after)
    if sorted(was) != sorted(now):
        lost = [number for number in was if number not in now]
        new = [number for number in now if number not in was]
        told = (
            f"numbers in {name}: {', '.join(lost) or 'none'} before, {', '.join(new) or 'none'} now"
        )
        yield Reason(Side.TEXT, f"/{name}", "text-numbers", Level.PATCH, told)
