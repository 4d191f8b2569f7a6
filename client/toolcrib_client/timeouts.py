"""How long a crib's client waits. Everything it waits for has a bound; these are the usual ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CALL_GRACE_SECONDS: Final = 5.0
"""How much longer than the tool's own limit we wait, so that the crib's words about it still
arrive."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Bounds of a `Crib`.

    Attributes:
        connect_seconds: for opening a session, the start of a command included.
        question_seconds: for searching, describing, listing and publishing.
        call_seconds: for a call that names no limit of its own; the crib itself ends calls at the
            tool's limit.
    """

    connect_seconds: float = 30.0
    question_seconds: float = 60.0
    call_seconds: float = 300.0
