"""What the edge of the HTTP endpoint needs of a running crib: its health, its numbers, its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_adapters.surfaces.edge.edge import Backstage
from toolcrib_adapters.surfaces.edge.readiness import Readiness
from toolcrib_adapters.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_adapters.main import Crib
    from toolcrib_registry.ports import SourceState


def backstage_of(crib: Crib) -> Backstage:
    """The backstage of a running crib; from now on its calls are counted."""
    metrics = Metrics(lambda: crib.supervisor.states)
    metrics.watch_gates(crib.gates.states)
    metrics.watch_breakers(crib.breaker.states)
    metrics.watch(
        "dropped_call_records",
        "Records of calls that the store could not take.",
        lambda: crib.book.dropped,
    )
    crib.calls.observer = metrics
    catalogue = crib.catalogue

    async def ask_store() -> None:
        await catalogue.store.changes_since(catalogue.snapshot.revision)

    def sources() -> Mapping[str, SourceState | None]:
        states = crib.supervisor.states
        return {name: states.get(name) for name in catalogue.snapshot.sources}

    readiness = Readiness(ask_store, sources, lambda: crib.search.shortcoming, crib.clock)
    return Backstage(crib.calls.interrupt, readiness, metrics)
