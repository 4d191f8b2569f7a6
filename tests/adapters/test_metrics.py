"""What the numbers tell about calls that needed help, and about tools that are spared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.telemetry.metrics import Metrics
from toolcrib_protocol.errors import SOURCE_DISCONNECTED, ErrorKind, ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.result import Result
from toolcrib_registry.breaker import BreakerState
from toolcrib_registry.circuit import CircuitState
from toolcrib_registry.fallback import FALLBACK_META
from toolcrib_registry.healing import ATTEMPTS_META

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


@pytest.mark.promise("healing-breaker")
def test_tools_that_are_not_called_for_a_while_are_named() -> None:
    metrics = Metrics(dict)
    states = [
        BreakerState("a", ToolId("a", name), state, 5, 1.0)
        for name, state in (("x", CircuitState.OPEN), ("y", CircuitState.CLOSED))
    ]
    metrics.watch_breakers(lambda: states)
    page = metrics.page().decode()
    assert 'toolcrib_breaker_open{tool="a/x"} 1.0' in page
    assert "a/y" not in page


@pytest.mark.promise("healing-retry")
def test_calls_that_worked_only_with_help_are_counted_by_kind_of_help() -> None:
    metrics = Metrics(dict)
    facts: JsonObject = {ATTEMPTS_META: {"made": 2}, FALLBACK_META: {}}
    metrics.call_ended("a", Result(meta=facts), 0.1, 2)
    failure = ToolError(SOURCE_DISCONNECTED, "gone", ErrorKind.RETRYABLE)
    metrics.call_ended("a", Result.failed(failure, meta=facts), 0.1, 1)
    page = metrics.page().decode()
    assert 'toolcrib_healed_calls_total{help="another attempt"} 1.0' in page
    assert 'toolcrib_healed_calls_total{help="another tool"} 1.0' in page


@pytest.mark.promise("metrics-attempts")
def test_it_is_counted_how_often_each_source_was_asked() -> None:
    metrics = Metrics(dict)
    for source, attempts in (("mail", 3), ("mail", 1), ("mail", 0), (None, 0)):
        metrics.call_ended(source, Result(), 0.1, attempts)
    page = metrics.page().decode()
    assert 'toolcrib_attempts_total{source="mail"} 4.0' in page
    assert 'toolcrib_attempts_total{source=""}' not in page
