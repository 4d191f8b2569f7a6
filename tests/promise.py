"""One promised behaviour; all of them are in `requirements.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """One promised behaviour.

    Attributes:
        id: what tests are marked with; `area-what`, never changed once published.
        statement: what holds, as a sentence a user could rely on.
        source: who asked for it: an issue and its section, a field case, a specification.
    """

    id: str
    statement: str
    source: str
