"""What is wrong with a value, told so that a model can mend it. Made by `checker.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.names import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import JsonObject

_MOST_TOLD: Final = 6


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault: where (JSON Pointer), what was expected, what was received."""

    pointer: str
    expected: str
    received: str

    def as_json(self) -> JsonObject:
        """The fault as JSON."""
        return {"pointer": self.pointer, "expected": self.expected, "received": self.received}

    def __str__(self) -> str:
        return (
            f"at {self.pointer or 'the root'}: expected {self.expected}, received {self.received}"
        )


@dataclass(frozen=True, slots=True)
class UnknownArgument:
    """A name that the schema does not know, and the known names that are spelt most like it."""

    pointer: str
    name: str
    known: tuple[str, ...] = ()

    def __str__(self) -> str:
        close = nearest(self.name, self.known)
        if close:
            hint = f"did you mean {' or '.join(map(repr, close))}?"
        else:
            hint = (
                f"known are {', '.join(self.known[:20])}" if self.known else "none is known there"
            )
        return f"unknown argument {self.name!r} at {self.pointer}; {hint}"


def explain(violations: Sequence[Violation]) -> str:
    """The faults in one text; beyond a handful they are counted only."""
    told = "; ".join(map(str, violations[:_MOST_TOLD]))
    more = len(violations) - _MOST_TOLD
    return f"{told}; and {more} more" if more > 0 else told
