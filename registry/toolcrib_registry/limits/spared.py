"""Tools that are not called for a while, as people see them among the limits."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from toolcrib_protocol.call_rules import RuleScope, ScopeKind
from toolcrib_registry.circuit import CircuitState
from toolcrib_registry.limits.gate_state import GateState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_registry.breaker import BreakerState


def spared_tools(states: Iterable[BreakerState]) -> list[GateState]:
    """A closed gate for every breaker that is not closed."""
    return [_spared(state) for state in states if state.state is not CircuitState.CLOSED]


def _spared(state: BreakerState) -> GateState:
    seconds = ceil(state.retry_in_seconds)
    when = (
        f"it is tried again in {seconds} s" if seconds else "the next call looks whether it works"
    )
    return GateState(
        scope=str(RuleScope(ScopeKind.TOOL, str(state.tool))),
        cap=0,
        paused_seconds=seconds,
        why=f"its breaker is open: {state.failures} failures more than successes; {when}",
    )
