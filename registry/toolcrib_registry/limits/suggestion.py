"""Rules that would keep a source from refusing calls, worked out from what it refused.

The learned cap and the rate at which calls ended well when the source refused, less 20 %. Where a
source never refused there is nothing to say. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.limits.gate_state import GateState

HEADROOM: Final = 0.2
"""What part of what a source bore is left free."""
_LEAST_RATE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Rules for one scope.

    Attributes:
        scope: for what.
        rules: what to set.
        why: what they were worked out from.
    """

    scope: str
    rules: JsonObject
    why: str

    @property
    def command(self) -> str:
        """The command that sets them."""
        settings = " ".join(f"{key}={dump_json(value)}" for key, value in self.rules.items())
        return f"toolcrib rules set {self.scope} {settings}"


def suggested(states: Iterable[GateState]) -> list[Suggestion]:
    """What to set, by scope; `states` may come from several processes, which share a rule."""
    by_scope: defaultdict[str, list[GateState]] = defaultdict(list)
    for state in states:
        by_scope[state.scope].append(state)
    found = (_of(scope, told) for scope, told in sorted(by_scope.items()))
    return [one for one in found if one is not None]


def _of(scope: str, told: list[GateState]) -> Suggestion | None:
    rules: JsonObject = {}
    why = []
    caps = [
        one.cap for one in told if one.cap is not None and one.halvings and one.cap != one.cap_set
    ]
    if caps:
        cap = max(1, floor(sum(caps) * (1 - HEADROOM)))
        rules["max_concurrency"] = cap
        why.append(f"it bears {sum(caps)} calls at once")
    rates = [one.rate_when_refused for one in told if one.rate_when_refused]
    if rates:
        rate = max(_LEAST_RATE, floor(sum(rates) * (1 - HEADROOM) * 100) / 100)
        set_now = min((one.rate_set for one in told if one.rate_set is not None), default=None)
        if set_now is None or rate < set_now:
            rules["calls_per_second"] = rate
            why.append(f"it answered {sum(rates):.2f} calls a second when it refused more")
    if not rules:
        return None
    return Suggestion(scope, rules, f"{' and '.join(why)}; 20 % are left free")
