"""What happened on the path of one call, step by step: for its record and for the caller.

Written by the stages while the call runs; read when it has ended. Knows no clock but the event
loop's.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.call_rules import NO_RULES

if TYPE_CHECKING:
    from toolcrib_protocol.call_rules import CallRules
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.arguments import ReadyArguments
    from toolcrib_registry.records import VersionRecord

_ID_BYTES: Final = 8
WAITED: Final = "waited_seconds"
"""The fact of a step that says how long the call waited there: in a queue, between attempts."""
UPSTREAM: Final = "upstream_seconds"
"""The fact of a step that says how long the source took."""


def _new_id() -> str:
    return secrets.token_hex(_ID_BYTES)


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
        record: the version that answers, as soon as that is known.
        rules: what the operator set for it, as soon as that is known.
        attempts: how often the source was asked.
        sent: the arguments of the last attempt.
        sent_at: when the last attempt began, in seconds since the call began.
        is_out: whether an attempt is under way: what it does nobody knows yet.
        answer: what came of the last attempt, as the source gave it.
        digest: of the arguments, if a stage needed it; see `argument_digest`.
    """

    id: str = field(default_factory=_new_id)
    started: float = field(default_factory=anyio.current_time)
    steps: list[TrailStep] = field(default_factory=list)
    facts: JsonObject = field(default_factory=dict)
    record: VersionRecord | None = None
    rules: CallRules = NO_RULES
    attempts: int = 0
    sent: ReadyArguments | None = None
    sent_at: float = 0.0
    is_out: bool = False
    answer: Result | None = None
    digest: str = ""

    @property
    def seconds(self) -> float:
        """How long the call has run."""
        return anyio.current_time() - self.started

    def note(self, name: str, **facts: Json) -> None:
        """Write down a step; numbers, names and codes, never what was sent or answered."""
        self.steps.append(TrailStep(name, self.seconds, facts))

    def sent_off(self, arguments: ReadyArguments) -> None:
        """An attempt begins."""
        self.attempts += 1
        self.sent = arguments
        self.sent_at = self.seconds
        self.is_out = True
        self.note("attempt", number=self.attempts)

    def answered(self, result: Result) -> None:
        """The attempt that began last ended: with an answer, or without having been sent."""
        seconds = round(self.seconds - self.sent_at, 6)
        facts: JsonObject = {"status": result.status.value, UPSTREAM: seconds}
        self.answer = result
        self.is_out = False
        if result.error is not None:
            facts["code"] = result.error.code
            if isinstance(left := result.error.details.get("sent"), bool):
                facts["sent"] = left
        self.note("outcome", **facts)
