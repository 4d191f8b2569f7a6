"""The numbers of one crib process, in the text format that Prometheus and its relatives read.

Counts what it is told; where a number is a state (sessions, sources) it asks when it is read. Not
global: each `Metrics` has a registry of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from toolcrib_protocol.result import REPAIRS_META, TOOL_META
from toolcrib_registry.circuit import CircuitState
from toolcrib_registry.fallback import DEGRADED_META, FALLBACK_META
from toolcrib_registry.healing import ATTEMPTS_META
from toolcrib_registry.ports import SourceStatus
from toolcrib_registry.result_shape import SHAPE_META

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prometheus_client.metrics_core import Metric

    from toolcrib_protocol.result import Result
    from toolcrib_registry.breaker import BreakerState
    from toolcrib_registry.limits import GateState
    from toolcrib_registry.ports import SourceState

_NO_SOURCE: Final = ""
"""The label of calls that found no tool: made-up names must not become labels."""
_SECONDS: Final = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 300.0, math.inf)

_HELPS: Final = {
    ATTEMPTS_META: "another attempt",
    REPAIRS_META: "repaired arguments",
    FALLBACK_META: "another tool",
    DEGRADED_META: "a lesser answer",
}
_OF_GATES: Final[Mapping[str, tuple[str, Callable[[GateState], int | None]]]] = {
    "running": ("Calls that run behind gates.", lambda state: state.running),
    "waiting": ("Calls that wait at gates.", lambda state: state.waiting),
    "cap": ("How many calls gates let run now.", lambda state: state.cap),
}


class Metrics:
    """Counts calls and refusals; a `CallObserver`."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, sources: Callable[[], Mapping[str, SourceState]]) -> None:
        """Numbers from zero.

        Args:
            sources: what each source is doing now.
        """
        self._registry = CollectorRegistry()
        self._sources = sources
        self._gauges: dict[str, tuple[str, Callable[[], int]]] = {}
        self._gates: Callable[[], Sequence[GateState]] = tuple
        self._breakers: Callable[[], Sequence[BreakerState]] = tuple
        self._calls = Counter(
            "toolcrib_calls",
            "Calls of tools, by source and how they ended.",
            ["source", "status"],
            registry=self._registry,
        )
        self._call_seconds = Histogram(
            "toolcrib_call_seconds",
            "How long calls of tools took.",
            registry=self._registry,
            buckets=_SECONDS,
        )
        self._misshapen = Counter(
            "toolcrib_misshapen_results",
            "Results that broke the output schema of their tool, by tool.",
            ["tool"],
            registry=self._registry,
        )
        self._healed = Counter(
            "toolcrib_healed_calls",
            "Calls that worked only with help, by kind of help.",
            ["help"],
            registry=self._registry,
        )
        self._attempts = Counter(
            "toolcrib_attempts",
            "How often sources were asked, repetitions included, by source.",
            ["source"],
            registry=self._registry,
        )
        self._refusals = Counter(
            "toolcrib_refused_requests",
            "Requests that the edge turned away, by reason.",
            ["reason"],
            registry=self._registry,
        )
        self._registry.register(self)

    def call_ended(self, source: str | None, result: Result, seconds: float, attempts: int) -> None:
        """Count a call, and how often its source was asked for it."""
        if source is not None:
            self._attempts.labels(source).inc(attempts)
        self._calls.labels(source or _NO_SOURCE, result.status.value).inc()
        self._call_seconds.observe(seconds)
        if SHAPE_META in result.meta:
            reference = str(result.meta.get(TOOL_META))
            self._misshapen.labels(reference.rpartition("@")[0]).inc()
        if not result.is_error:
            for mark, name in _HELPS.items():
                if mark in result.meta:
                    self._healed.labels(name).inc()

    def refused(self, reason: str) -> None:
        """Count a request that was turned away."""
        self._refusals.labels(reason).inc()

    def watch(self, name: str, text: str, value: Callable[[], int]) -> None:
        """Show `value()` as `toolcrib_NAME` whenever the numbers are read."""
        self._gauges[f"toolcrib_{name}"] = (text, value)

    def watch_gates(self, states: Callable[[], Sequence[GateState]]) -> None:
        """Show how the gates stand whenever the numbers are read."""
        self._gates = states

    def watch_breakers(self, states: Callable[[], Sequence[BreakerState]]) -> None:
        """Show which breakers are not closed whenever the numbers are read."""
        self._breakers = states

    def collect(self) -> Iterable[Metric]:
        """The states, as they are now."""
        for name, (text, value) in self._gauges.items():
            yield GaugeMetricFamily(name, text, value=value())
        yield from self._of_gates()
        yield self._of_breakers()
        counted = dict.fromkeys((status.value for status in SourceStatus), 0)
        for state in self._sources().values():
            counted[state.status.value] += 1
        family = GaugeMetricFamily(
            "toolcrib_sources", "Sources of this process, by state.", labels=["state"]
        )
        for state_name, number in counted.items():
            family.add_metric([state_name], number)
        yield family

    def _of_gates(self) -> Iterable[Metric]:
        states = self._gates()
        for name, (text, value) in _OF_GATES.items():
            family = GaugeMetricFamily(f"toolcrib_gate_{name}", text, labels=["gate"])
            for state in states:
                number = value(state)
                if number is not None:
                    family.add_metric([state.scope], number)
            yield family
        refused = CounterMetricFamily(
            "toolcrib_gate_refused", "Calls that gates turned away.", labels=["gate"]
        )
        for state in states:
            refused.add_metric([state.scope], state.refused)
        yield refused

    def _of_breakers(self) -> Metric:
        family = GaugeMetricFamily(
            "toolcrib_breaker_open", "Tools that are not called for a while.", labels=["tool"]
        )
        for state in self._breakers():
            if state.state is not CircuitState.CLOSED:
                family.add_metric([str(state.tool)], 1)
        return family

    def page(self) -> bytes:
        """All numbers, as text."""
        return generate_latest(self._registry)
