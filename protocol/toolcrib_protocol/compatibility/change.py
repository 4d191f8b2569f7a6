"""How one contract differs from another: a level, and the reasons for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


class Level(StrEnum):
    """What a change means to callers; `at_least` compares."""

    NONE = "none"
    """Nothing changed."""
    PATCH = "patch"
    """Callers cannot see it in a call."""
    MINOR = "minor"
    """Every call that was right still is, and every answer is one that was promised."""
    UNKNOWN = "unknown"
    """Whether it breaks callers could not be decided; counts as major."""
    MAJOR = "major"
    """Some calls or answers are not what they were."""

    def at_least(self, other: Level) -> bool:
        """Whether this is the same or worse."""
        return _ORDER[self] >= _ORDER[other]


_ORDER = {level: place for place, level in enumerate(Level)}


class Side(StrEnum):
    """What part of a contract a reason is about."""

    INPUT = "input"
    OUTPUT = "output"
    TEXT = "text"
    BEHAVIOUR = "behaviour"
    ERRORS = "errors"


@dataclass(frozen=True, slots=True)
class Reason:
    """One difference.

    Attributes:
        side: the part of the contract.
        pointer: JSON Pointer to the place: into the schema's values (`/rows/*/name`) for input and
            output, into the contract else.
        rule: the stable id of the rule that found it.
        level: what this difference alone means.
        sentence: for people.
        only_edge_values: whether only values are affected that hardly anybody sends.
    """

    side: Side
    pointer: str
    rule: str
    level: Level
    sentence: str
    only_edge_values: bool = False

    def as_json(self) -> JsonObject:
        """The reason as JSON."""
        facts: JsonObject = {
            "side": self.side.value,
            "pointer": self.pointer,
            "rule": self.rule,
            "level": self.level.value,
            "sentence": self.sentence,
        }
        return {**facts, "only_edge_values": True} if self.only_edge_values else facts


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between two contracts.

    Attributes:
        level: the worst of its reasons.
        reasons: the worst first.
    """

    level: Level = Level.NONE
    reasons: tuple[Reason, ...] = ()

    @classmethod
    def of(cls, reasons: list[Reason]) -> Change:
        """The change that these reasons make."""
        ordered = sorted(
            dict.fromkeys(reasons),
            key=lambda reason: (-_ORDER[reason.level], reason.side, reason.pointer, reason.rule),
        )
        return cls(ordered[0].level, tuple(ordered)) if ordered else cls()

    @property
    def is_compatible(self) -> bool:
        """Whether callers of the old contract are served by the new one."""
        return not self.level.at_least(Level.UNKNOWN)

    def as_json(self) -> JsonObject:
        """The change as JSON."""
        return {"level": self.level.value, "reasons": [each.as_json() for each in self.reasons]}
