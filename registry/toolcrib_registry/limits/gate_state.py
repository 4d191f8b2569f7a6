"""How a gate stands and why, for people: what `toolcrib limits` shows, of this or another process.

Crosses processes as JSON. Not what the gate itself works with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.limits.gate import Gate


class GateState(BaseModel):
    """One gate of one process, at one moment.

    Attributes:
        scope: `tool:group/name`, `group:name` or `source:name`.
        cap: how many calls may run now; None for any number.
        cap_set: how many were set.
        cap_by: who set that: `default`, `contract` or `rules`.
        rate_set: how many calls may begin in a second; None for any number.
        rate_by: who set that.
        burst: how many may begin at once after a pause.
        leased: how many of the slots that all processes share this one holds; None if the cap is
            its own.
        tokens: how many calls may begin at once now, if a rate is set.
        running: how many calls run.
        waiting: how many wait.
        refused: how many were turned away.
        paused_seconds: for how long nothing leaves because the source asked for that.
        halvings: how often the source made the cap be halved.
        halved_at: when the last time was.
        halved_because: by what.
        latency_seconds: how long calls take.
        calls_per_second: how many ended well in a second, lately.
        rate_when_refused: the same, at the moments when the source refused.
        why: all that in words.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    scope: str
    cap: int | None = None
    cap_set: int | None = None
    cap_by: str = ""
    rate_set: float | None = None
    rate_by: str = ""
    burst: float | None = None
    leased: int | None = None
    tokens: float | None = None
    running: int = 0
    waiting: int = 0
    refused: int = 0
    paused_seconds: float = 0.0
    halvings: int = 0
    halved_at: str | None = None
    halved_because: str = ""
    latency_seconds: float | None = None
    calls_per_second: float = 0.0
    rate_when_refused: float | None = None
    why: str = ""

    def as_json(self) -> JsonObject:
        """The state for other processes; `read` reads it."""
        facts: JsonObject = self.model_dump(mode="json", exclude_none=True)
        return facts

    @classmethod
    def read(cls, facts: JsonObject) -> GateState | None:
        """The state that another process told; None if this one cannot read it."""
        try:
            return cls.model_validate(facts)
        except ValidationError:
            return None


def state_of(gate: Gate, now: float, halved_at: str | None, fault: str = "") -> GateState:
    """How a gate stands.

    Args:
        gate: the gate.
        now: in seconds of the event loop.
        halved_at: when the cap was halved last, UTC.
        fault: why nothing can be leased, if so.
    """
    limits, meter, lease = gate.limits, gate.meter, gate.lease
    shares_cap = lease is not None and limits.shares_cap
    tokens = None if limits.rate is None else gate.bucket.fill(now)
    if lease is not None and limits.rate is not None:
        tokens = float(lease.tokens)
    paused = max(0.0, gate.bucket.paused_until - now)
    return GateState(
        scope=str(limits.scope),
        cap=gate.cap.present,
        cap_set=limits.cap,
        cap_by=limits.cap_by,
        rate_set=limits.rate,
        rate_by=limits.rate_by,
        burst=None if limits.rate is None else limits.burst,
        leased=lease.slots if lease is not None and shares_cap else None,
        tokens=None if tokens is None else round(tokens, 1),
        running=gate.running,
        waiting=len(gate.line),
        refused=meter.refused,
        paused_seconds=round(paused, 1),
        halvings=gate.cap.halvings,
        halved_at=halved_at,
        halved_because=gate.halved_because,
        latency_seconds=None if meter.latency_seconds is None else round(meter.latency_seconds, 4),
        calls_per_second=round(meter.rate(now), 2),
        rate_when_refused=(
            None if meter.rate_when_refused is None else round(meter.rate_when_refused, 2)
        ),
        why=_why(gate, paused, halved_at, fault),
    )


_SET_BY = {
    "default": "the default of each process",
    "contract": "the tool's contract, for all processes together",
    "rules": "rules, for all processes together",
}


def _why(gate: Gate, paused: float, halved_at: str | None, fault: str) -> str:
    limits = gate.limits
    said = []
    if limits.cap is not None:
        said.append(f"at most {limits.cap} at once by {_SET_BY[limits.cap_by]}")
    if limits.rate is not None:
        said.append(
            f"{limits.rate:g} a second (burst {limits.burst:g}) by {_SET_BY[limits.rate_by]}"
        )
    if gate.cap.present != limits.cap:
        said.append(f"halved to {gate.cap.present} at {halved_at} because of {gate.halved_because}")
    elif gate.cap.halvings:
        said.append(f"recovered since it was halved at {halved_at}")
    if paused > 0:
        said.append(f"nothing leaves for {paused:.1f} s: the source asked for that")
    if fault:
        said.append(f"the limits of all processes cannot be asked for: {fault}")
    return "; ".join(said)
