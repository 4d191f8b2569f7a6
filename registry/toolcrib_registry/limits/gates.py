"""The stage of the path of a call that keeps limits: of its tool, its home group, its source.

A call passes the gates in that order, always, so two calls never wait for each other; it leaves
them on every way out. The time it waits is taken from the call's own. What the source answers
teaches the gate of the source how much it bears. A crib where nothing was set asks nobody: the
default cap is each process's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.call_rules import RuleScope, WhenFull
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.result import Result
from toolcrib_registry.call_rules import scopes_of
from toolcrib_registry.call_trail import WAITED
from toolcrib_registry.limits.batches import Batches
from toolcrib_registry.limits.gate import Gate
from toolcrib_registry.limits.gate_limits import DEFAULT_QUEUE, GateLimits, limits_of
from toolcrib_registry.limits.gate_state import GateState, state_of
from toolcrib_registry.limits.held_gates import HELD
from toolcrib_registry.limits.line import Turn
from toolcrib_registry.limits.refusals import refusal, too_much

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.limits.leases import Leases
    from toolcrib_registry.limits.lobby import Member
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.records import RulesRecord, VersionRecord
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work

_FETCH_SECONDS: Final = 1.0
"""How long a call that may not wait waits for an answer of the store."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The gates of a tool, as long as neither its contract nor any rule changes."""

    record: VersionRecord
    rules: Mapping[RuleScope, RulesRecord]
    gates: tuple[Gate, ...]


class Gates:
    """All gates of this process; a `Stage`. Used from one event loop."""

    def __init__(self, catalogue: Catalogue, clock: Clock, leases: Leases | None = None) -> None:
        """Nobody is behind any gate.

        Args:
            catalogue: has the rules.
            clock: tells the time of day.
            leases: fetches what is set for all processes; None: this one is alone.
        """
        self._catalogue = catalogue
        self._clock = clock
        self._leases = leases
        self._batches = Batches(catalogue)
        self._gates: dict[RuleScope, Gate] = {}
        self._known: dict[ToolId, _Known] = {}
        self._halved_at: dict[RuleScope, str] = {}

    async def run(self) -> None:
        """Make calls together that wait, until cancelled; without it each is made by itself."""
        await self._batches.run()

    async def carry(self, work: Work, onward: Onward) -> Result:
        """The result, or `at_capacity` without a call."""
        gates = self._of(work.record)
        now = anyio.current_time()
        held = HELD.get()
        if not _entered(gates, () if held is None else held.take(), now):
            try:
                # What makes a batch is part of none.
                answer = await self._through(gates, work, alone=held is not None)
            except ToolError as error:
                return Result.failed(error)
            if answer is not None:
                return answer
            now = anyio.current_time()
        try:
            result = await onward(work)
            self._learn(gates[-1], work, result, now)
        finally:
            _leave(gates)
        return result

    def every(self) -> list[Gate]:
        """Every gate that a call has come to, by scope."""
        return [gate for _, gate in sorted(self._gates.items())]

    def states(self) -> list[GateState]:
        """How every gate stands that a call has come to, by scope."""
        now = anyio.current_time()
        fault = "" if self._leases is None else self._leases.fault
        return [
            state_of(gate, now, self._halved_at.get(scope), fault if gate.lease is not None else "")
            for scope, gate in sorted(self._gates.items())
        ]

    def _of(self, record: VersionRecord) -> tuple[Gate, ...]:
        """The gates of a tool, in the order of passing."""
        snapshot = self._catalogue.snapshot
        known = self._known.get(record.tool)
        if known is not None and known.record is record and known.rules is snapshot.rules:
            return known.gates
        limits = limits_of(snapshot, record)
        for scope in set(scopes_of(record)) - {one.scope for one in limits}:
            if scope in self._gates:
                # Nothing is set any more: whoever waits there goes on.
                self._gates.pop(scope).limit(GateLimits(scope), None, anyio.current_time())
        gates = tuple(map(self._gate, limits))
        self._known[record.tool] = _Known(record, snapshot.rules, gates)
        return gates

    def _gate(self, limits: GateLimits) -> Gate:
        now = anyio.current_time()
        gate = self._gates.get(limits.scope)
        if gate is not None and gate.limits == limits:
            return gate
        if gate is None:
            gate = self._gates[limits.scope] = Gate(limits, now)
        is_shared = limits.shares_cap or limits.rate is not None
        if self._leases is None or not is_shared:
            gate.limit(limits, None, now)
        else:
            gate.limit(limits, self._leases.lease(limits), now)
            self._leases.keep(gate)
        return gate

    async def _through(
        self, gates: tuple[Gate, ...], work: Work, *, alone: bool = False
    ) -> Result | None:
        """Pass all gates, or none; the result if the call was made with others meanwhile.

        Raises:
            ToolError: `at_capacity`.
        """
        turn, began = Turn(work.call.caller.id), anyio.current_time()
        member = None if alone else self._batches.join(work, turn)
        try:
            is_through = await self._pass_all(gates, turn, work, member)
        finally:
            if member is not None:
                self._batches.leave(member)
        waited = round(anyio.current_time() - began, 4)
        work.trail.note("waited_at_gate", gate=str(gates[-1].limits.scope), **{WAITED: waited})
        if is_through or member is None:
            return None
        answer = await self._batches.outcome(member)
        return answer or await self._through(gates, work, alone=True)

    async def _pass_all(
        self, gates: tuple[Gate, ...], turn: Turn, work: Work, member: Member | None
    ) -> bool:
        """Pass all gates, or none; not, if the call is made with others.

        Raises:
            ToolError: `at_capacity`.
        """
        passed: list[Gate] = []
        is_through = is_led = False
        try:
            for gate in gates:
                if not await self._pass(gate, turn, work, member):
                    return False
                passed.append(gate)
            # No other task runs between the last place and this: who waits now still waits.
            is_led = member is not None and self._batches.begin(member, gates)
            is_through = not is_led
        finally:
            if not is_through and not is_led:
                _leave(passed)
        return is_through

    async def _pass(self, gate: Gate, turn: Turn, work: Work, member: Member | None) -> bool:
        """Pass one gate; not, if the call was taken into a batch.

        Raises:
            ToolError: `at_capacity`.
        """
        now = anyio.current_time()
        if not gate.line and gate.has_room(now):
            gate.enter(now)
            return True
        seconds = _may_wait(work)
        why = _full(gate, work)
        if why and gate.may_be_leased:
            # It is not full, its place was only not fetched yet.
            seconds = min(seconds, _FETCH_SECONDS)
        elif why or gate.waits_in_vain(seconds, now):
            raise self._refusal(gate, why or f"none can begin within {seconds:.3g} s")
        if await gate.wait(turn, seconds):
            return True
        if member is not None and member.is_taken:
            return False
        raise self._refusal(gate, why or f"no place came within {seconds:.3g} s")

    def _refusal(self, gate: Gate, why: str) -> ToolError:
        gate.meter.refused += 1
        fault = self._leases.fault if self._leases and gate.lease is not None else ""
        return refusal(gate, why, anyio.current_time(), fault)

    def _learn(self, gate: Gate, work: Work, result: Result, began: float) -> None:
        """What an answer says about how much the source bears."""
        now = anyio.current_time()
        if result.error is None:
            gate.meter.ended(now - began, now)
            gate.cap.succeeded(began)
            return
        refused = too_much(result.error, result, work)
        if refused is None:
            return
        why, after = refused
        gate.meter.source_refused(now)
        if gate.cap.refused(began, gate.running, now):
            gate.halved_because = why
            self._halved_at[gate.limits.scope] = self._clock.now().isoformat(timespec="seconds")
            work.trail.note("cap_halved", gate=str(gate.limits.scope), cap=gate.cap.present)
        if after is not None:
            gate.bucket.pause(after, now)


def _entered(gates: tuple[Gate, ...], held: tuple[Gate, ...], now: float) -> bool:
    """Whether all gates could be entered at once; those that are held are entered already."""
    missing = [gate for gate in gates if gate not in held] if held else gates
    is_free = all(not gate.line and gate.has_room(now) for gate in missing)
    for gate in missing if is_free else ():
        gate.enter(now)
    for gate in held:
        if not is_free or gate not in gates:
            gate.leave(now)
    return is_free


def _leave(gates: Sequence[Gate]) -> None:
    now = anyio.current_time()
    for gate in reversed(gates):
        gate.leave(now)


def _may_wait(work: Work) -> float:
    """How long a call may stand in line: as long as it may take.

    Where something else may answer in its place, no longer than one attempt, which leaves time.
    """
    contract = work.record.contract
    has_stand_in = contract.degraded or contract.equivalents or work.rules.equivalents
    left = min(work.seconds, work.seconds_left) if has_stand_in else work.seconds_left
    return max(0.0, left)


def _full(gate: Gate, work: Work) -> str:
    """Why a call may not wait at a gate; empty if it may."""
    rules, waiting = work.rules, len(gate.line)
    if rules.when_full is WhenFull.REJECT:
        return "it is full"
    length = gate.limits.queue_length
    if length is None:
        length = DEFAULT_QUEUE if rules.queue_length is None else rules.queue_length
    if waiting < length:
        return ""
    return f"{waiting} more wait already" if waiting else "nobody may wait"
