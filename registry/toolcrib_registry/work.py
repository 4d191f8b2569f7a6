"""A call that may be carried out: resolved, allowed, checked; what the stages of the path share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcrib_registry.time_limits import UNLIMITED_BY_RULES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolcrib_protocol.call_rules import CallRules
    from toolcrib_protocol.result import Result
    from toolcrib_registry.arguments import ReadyArguments
    from toolcrib_registry.call import Call
    from toolcrib_registry.call_trail import CallTrail
    from toolcrib_registry.patience import Patience
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.time_limits import TimeLimit


@dataclass(frozen=True, slots=True)
class Work:
    """What a stage gets and may hand on changed (`dataclasses.replace`).

    Attributes:
        call: what was asked.
        record: the version that answers.
        arguments: what is sent.
        rules: what the operator set for this tool.
        patience: the time that is left for the whole call, attempts and waits included.
        seconds: how long one attempt may take.
        trail: what happened so far.
        call_other: takes another call down the whole path, within its own limits.
        attempt: the number of this attempt, from 1.
        limit: how long the call may take, and whether progress extends that.
        reconnect_seconds: see `CallContext`.
        sent_key: the idempotency key that reaches the tool, or None; see `idempotency_keys`.
    """

    call: Call
    record: VersionRecord
    arguments: ReadyArguments
    rules: CallRules
    patience: Patience
    seconds: float
    trail: CallTrail
    call_other: Callable[[Call], Awaitable[Result]]
    attempt: int = 1
    limit: TimeLimit = UNLIMITED_BY_RULES
    reconnect_seconds: float | None = None
    sent_key: str | None = None

    @property
    def seconds_left(self) -> float:
        """How long the call may still take; the path gives up a little after that."""
        return self.patience.left - (self.patience.seconds - self.limit.seconds)
