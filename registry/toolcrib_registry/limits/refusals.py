"""What is told to a call that does not get through a gate, and what a source's refusal says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import AT_CAPACITY, ErrorKind, ToolError
from toolcrib_registry.classification import classify
from toolcrib_registry.failure_tables import Cause

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.limits.gate import Gate
    from toolcrib_registry.work import Work

_TOO_MUCH: Final = frozenset({429, 503})


def refusal(gate: Gate, why: str, now: float, fault: str = "") -> ToolError:
    """`at_capacity`: which gate, why, and when to come back."""
    after = gate.comes_in(now)
    limits = gate.limits
    holds = [f"{gate.cap.present} calls at once"] if gate.cap.present is not None else []
    if limits.rate is not None:
        holds.append(f"{limits.rate:g} calls a second")
    trouble = f" (the limits of all processes cannot be asked for: {fault})" if fault else ""
    text = (
        f"{limits.scope} takes {' and '.join(holds) or 'no calls for now'}, and {why}{trouble}; "
        f"nothing was called, retry after {after:g} s"
    )
    details: JsonObject = {
        "retry_after_seconds": after,
        "gate": str(limits.scope),
        "running": gate.running,
        "waiting": len(gate.line),
        "sent": False,
    }
    return ToolError(AT_CAPACITY, text, ErrorKind.RETRYABLE, details)


def too_much(error: ToolError, result: Result, work: Work) -> tuple[str, float | None] | None:
    """Whether the source said that it gets too many calls: by what, and when to come back."""
    verdict = classify(result, work.record.contract)
    status = error.details.get("http_status")
    if status in _TOO_MUCH:
        return str(status), verdict.retry_after
    if verdict.cause is Cause.RATE_LIMITED:
        return verdict.code or error.code, verdict.retry_after
    return None
