"""How a schema changed, for those who send values (input) and for those who get them (output).

Input is contravariant: what could be sent must still be taken. Output is covariant: what comes now
must be what could come before. What is proven is compatible; what is refuted, by a rule without
doubt or by a value that fits one schema and not the other, is major; the rest is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.compatibility.change import Level, Reason, Side
from toolcrib_protocol.compatibility.described import described_reasons
from toolcrib_protocol.compatibility.forms import SchemaDocument
from toolcrib_protocol.compatibility.inclusion import Inclusion, Missing
from toolcrib_protocol.compatibility.rules import RULES
from toolcrib_protocol.compatibility.witness import witness
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.schema.canonical import canonical_json
from toolcrib_protocol.schema.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolcrib_protocol.compatibility.inclusion import Rule
    from toolcrib_protocol.json_value import JsonObject

_ANNOTATIONS: Final = "annotations"


def schema_reasons(
    side: Side, old: JsonObject, new: JsonObject, rules: Mapping[str, Rule] = RULES
) -> list[Reason]:
    """Why the new schema is another one; empty if they are the same text."""
    if canonical_json(old) == canonical_json(new):
        return []
    try:
        checkers = Checker.compile(old), Checker.compile(new)
    except ToolError as error:
        told = f"one of the schemas cannot be read: {error.message}"
        return [Reason(side, "", "unreadable", Level.UNKNOWN, told)]
    if side is Side.INPUT and _has_collapsed(old, new):
        told = "all arguments are gone: this looks like a fault of whatever wrote the schema"
        return [Reason(side, "", "collapsed", Level.MAJOR, told)]
    documents = (
        SchemaDocument(old, checkers[0].dialect),
        SchemaDocument(new, checkers[1].dialect),
    )
    there = Inclusion(*documents, rules).missing()
    back = Inclusion(documents[1], documents[0], rules).missing()
    breaking, harmless = (there, back) if side is Side.INPUT else (back, there)
    reasons = _breaking(side, breaking, (old, new), checkers)
    reasons += [_reason(side, each, Level.MINOR) for each in harmless]
    reasons += described_reasons(side, *documents)
    if not reasons:
        told = "only words and annotations differ"
        reasons = [Reason(side, "", _ANNOTATIONS, Level.PATCH, told)]
    return _without_echoes(reasons)


def _has_collapsed(old: JsonObject, new: JsonObject) -> bool:
    """Whether a schema with arguments became one that says nothing."""
    says = {"properties", "allOf", "anyOf", "oneOf", "$ref", "required"}
    had = bool(old.get("properties"))
    return had and not new.get("properties") and not (says - {"properties"}) & new.keys()


def _breaking(
    side: Side,
    missing: Sequence[Missing],
    schemas: tuple[JsonObject, JsonObject],
    checkers: tuple[Checker, Checker],
) -> list[Reason]:
    reasons = [
        _reason(side, each, Level.MAJOR if each.is_certain else Level.UNKNOWN) for each in missing
    ]
    if not reasons or any(reason.level is Level.MAJOR for reason in reasons):
        return reasons
    left, right = (0, 1) if side is Side.INPUT else (1, 0)
    found = witness(schemas[left], checkers[left], checkers[right])
    if found is None:
        return reasons
    is_sent = side is Side.INPUT
    words = "was right and is refused now" if is_sent else "may come now and could not before"
    return [*reasons, Reason(side, "", "witness", Level.MAJOR, f"for example {found} {words}")]


def _reason(side: Side, missing: Missing, level: Level) -> Reason:
    was_left = (side is Side.INPUT) is level.at_least(Level.UNKNOWN)
    was, now = (missing.left, missing.right) if was_left else (missing.right, missing.left)
    place = missing.pointer or "the whole"
    told = f"at {place}: {was or 'nothing'} before, {now or 'nothing'} now"
    if missing.only_edge_values:
        told += " (only edge values are affected)"
    return Reason(side, missing.pointer, missing.rule, level, told, missing.only_edge_values)


def _without_echoes(reasons: list[Reason]) -> list[Reason]:
    """Without the widening that a change of one place also is, where it breaks already."""
    broken = {
        (reason.pointer, reason.rule) for reason in reasons if reason.level.at_least(Level.UNKNOWN)
    }
    return [
        reason
        for reason in reasons
        if reason.level is not Level.MINOR or (reason.pointer, reason.rule) not in broken
    ]
