"""The stages of the path of a call, in their order: the one place that decides it.

From the outside in: what answers without any call comes first, what is passed anew by each attempt
last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcrib_registry.breaker import Breaker
from toolcrib_registry.checkers import Checkers
from toolcrib_registry.fallback import Fallbacks
from toolcrib_registry.handles import HandleReader, KeptResults
from toolcrib_registry.healing import Healing
from toolcrib_registry.limits import Gates
from toolcrib_registry.mending import ArgumentMending
from toolcrib_registry.places import Places
from toolcrib_registry.repeat_guard import RepeatGuard
from toolcrib_registry.result_cache import ResultCache
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.handles import Vault
    from toolcrib_registry.ledger import Ledger
    from toolcrib_registry.limits import Leases
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.stages import CallRecorder


@dataclass(frozen=True, slots=True)
class CallPath:
    """The path, and those of its parts that others look at.

    Attributes:
        path: what `Calls` takes.
        checkers: the compiled schemas, shared with `Calls`.
        breaker: knows which tools are not called for a while.
        gates: keep limits.
    """

    path: Path
    checkers: Checkers
    breaker: Breaker
    gates: Gates


def call_path(
    catalogue: Catalogue,
    clock: Clock,
    *,
    recorder: CallRecorder | None = None,
    vault: Vault,
    ledger: Ledger,
    leases: Leases | None = None,
) -> CallPath:
    """The path of the calls of one crib.

    Args:
        catalogue: what it knows.
        clock: its time.
        recorder: writes the calls down.
        vault: where large results are kept.
        ledger: where calls that change something are written down.
        leases: fetches what is set for all processes; None: this one is alone.
    """
    checkers = Checkers()
    breaker = Breaker(clock)
    gates = Gates(catalogue, clock, leases)
    healing = Healing(clock, Fallbacks(catalogue), mending=ArgumentMending(checkers))
    kept = KeptResults(vault, HandleReader(vault, catalogue), catalogue, checkers)
    guard, cache = RepeatGuard(catalogue, clock), ResultCache(catalogue, clock)
    stages = (guard, cache, ledger, healing, Places(), gates, breaker)
    return CallPath(Path(stages, kept, recorder), checkers, breaker, gates)
