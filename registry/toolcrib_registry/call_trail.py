"""What happened on the path of one call, step by step: for its record and for the caller.

Written by the stages while the call runs; read when it has ended. Knows no clock but the event
loop's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

import anyio

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject


@dataclass(frozen=True, slots=True)
class TrailStep:
    """One step: its name, seconds since the call began, and facts."""

    name: str
    seconds: float
    facts: JsonObject


@dataclass(slots=True)
class CallTrail:
    """The trail of one call.

    Attributes:
        id: names the call.
        started: when it began, in seconds of the event loop.
        steps: what happened, in order.
        facts: what the caller is told in `_meta`, by full key.
    """

    id: str = field(default_factory=lambda: uuid4().hex)
    started: float = field(default_factory=anyio.current_time)
    steps: list[TrailStep] = field(default_factory=list)
    facts: JsonObject = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long the call has run."""
        return anyio.current_time() - self.started

    def note(self, name: str, **facts: Json) -> None:
        """Write down a step."""
        self.steps.append(TrailStep(name, self.seconds, facts))
