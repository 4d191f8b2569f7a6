"""Which limits hold at which gates for the calls of a tool, and who set them.

A call passes the gate of its tool, then that of its home group, then that of its source: the narrow
ones first, so that a call which waits for its own tool keeps nobody else out. A gate is there where
something limits it; the one of the source always is. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.call_rules import NO_RULES, CallRules, RuleScope, ScopeKind
from toolcrib_registry.call_rules import scopes_of

if TYPE_CHECKING:
    from toolcrib_protocol.tool import Limits
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.snapshot import Snapshot

DEFAULT_CAP: Final = 8
"""How many calls of one source run at the same time in one process, if nothing else is set."""
DEFAULT_QUEUE: Final = 200
"""How many calls wait at one gate, if nothing else is set."""
BY_DEFAULT: Final = "default"
BY_CONTRACT: Final = "contract"
BY_RULES: Final = "rules"


@dataclass(frozen=True, slots=True)
class GateLimits:
    """What holds at one gate.

    Attributes:
        scope: what the gate is for.
        cap: how many calls may run; None for any number.
        rate: how many may begin in a second; None for any number.
        burst: how many may begin at once after a pause.
        cap_by: who set the cap: `default`, `contract` or `rules`; empty if nobody did.
        rate_by: who set the rate.
        queue_length: how many may wait, if that is set for this very scope.
    """

    scope: RuleScope
    cap: int | None = None
    rate: float | None = None
    burst: float = 1.0
    cap_by: str = ""
    rate_by: str = ""
    queue_length: int | None = None

    @property
    def shares_cap(self) -> bool:
        """Whether the cap holds over all processes: somebody set it."""
        return self.cap is not None and self.cap_by != BY_DEFAULT

    @property
    def limits_anything(self) -> bool:
        """Whether there is a cap or a rate."""
        return self.cap is not None or self.rate is not None


def limits_of(snapshot: Snapshot, record: VersionRecord) -> tuple[GateLimits, ...]:
    """The limits at every gate that the calls of a version pass, in the order of passing."""
    tool, group, source = (
        (scope, known.rules if (known := snapshot.rules.get(scope)) is not None else NO_RULES)
        for scope in scopes_of(record)
    )
    found = (
        _limits(*tool, of_contract=record.contract.limits),
        _limits(*group),
        _limits(*source),
    )
    return tuple(limits for limits in found if limits.limits_anything)


def _limits(scope: RuleScope, rules: CallRules, *, of_contract: Limits | None = None) -> GateLimits:
    cap, cap_by = _stricter(
        rules.max_concurrency, None if of_contract is None else of_contract.max_concurrency
    )
    rate, rate_by = _stricter(
        rules.calls_per_second, None if of_contract is None else of_contract.calls_per_second
    )
    if cap is None and scope.kind is ScopeKind.SOURCE:
        cap, cap_by = DEFAULT_CAP, BY_DEFAULT
    # A second's worth at once, if nothing else is set.
    burst = max(1.0, float(int(rate or 1))) if rules.burst is None else float(rules.burst)
    whole = None if cap is None else int(cap)
    return GateLimits(scope, whole, rate, burst, cap_by, rate_by, rules.queue_length)


def _stricter(of_rules: float | None, of_contract: float | None) -> tuple[float | None, str]:
    if of_rules is None and of_contract is None:
        return None, ""
    if of_contract is None or (of_rules is not None and of_rules <= of_contract):
        return of_rules, BY_RULES
    return of_contract, BY_CONTRACT
