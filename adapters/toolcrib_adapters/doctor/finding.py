"""One thing that is not as it should be: what, with which value, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolcrib_protocol.json_value import Json, JsonObject


class Severity(StrEnum):
    """Whether something does not work, or may not."""

    PROBLEM = "problem"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        check: which check made it, as a fixed word.
        severity: how bad it is.
        text: what is wrong, in a sentence.
        mend: the command, or what to do.
        value: the facts, for programs.
        act: mends it, if that is safe; None if a person has to.
    """

    check: str
    severity: Severity
    text: str
    mend: str
    value: Json = None
    act: Callable[[], Awaitable[None]] | None = field(default=None, repr=False)

    def as_json(self) -> JsonObject:
        """For programs."""
        return {
            "check": self.check,
            "severity": self.severity.value,
            "text": self.text,
            "mend": self.mend,
            "value": self.value,
            "can_mend": self.act is not None,
        }
