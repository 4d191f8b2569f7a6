"""How long is kept what piles up: records of calls, captures, the ledger. Settings, no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST: Final = 1e9
_VARIABLES: Final = {
    "call_days": "TOOLCRIB_KEEP_CALL_DAYS",
    "most_calls": "TOOLCRIB_KEEP_CALLS",
    "capture_days": "TOOLCRIB_KEEP_CAPTURE_DAYS",
    "ledger_days": "TOOLCRIB_KEEP_LEDGER_DAYS",
}


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is kept.

    Attributes:
        call_days: records of calls.
        most_calls: the newest so many of them.
        capture_days: what was captured of calls.
        most_capture_bytes: the newest of it, in sum.
        ledger_days: answers to calls that changed something; so long a key is not used twice.
        doubt_days: calls of which nobody knows whether they were carried out.
    """

    call_days: float = 30.0
    most_calls: float = 1_000_000
    capture_days: float = 7.0
    most_capture_bytes: float = 256 * 1024 * 1024
    ledger_days: float = 7.0
    doubt_days: float = 30.0

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """What the environment says.

        Raises:
            ToolError: `invalid_settings`, naming the variable.
        """
        told = {
            field: environment[name] for field, name in _VARIABLES.items() if name in environment
        }
        return cls(**{field: _number(_VARIABLES[field], text) for field, text in told.items()})


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < _MOST:
        raise ToolError(INVALID_SETTINGS, f"{name} is {text!r}; write a number from 0")
    return number


USUAL: Final = Retention()
