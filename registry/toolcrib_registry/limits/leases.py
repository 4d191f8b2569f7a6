"""Fetches, renews and gives back the leases of one process.

One task asks the store for all gates at once: at once when a call waits, again and again while one
does, now and then while something is held, not at all when nothing is limited or nobody calls.
"""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.errors import ToolError
from toolcrib_registry.limits.lease import Lease

if TYPE_CHECKING:
    from toolcrib_registry.limits.gate import Gate
    from toolcrib_registry.limits.gate_limits import GateLimits
    from toolcrib_registry.ports.limits import LimitStore

_log = logging.getLogger(__name__)

LEASE_SECONDS: Final = 5.0
"""How long a process that died keeps what it held."""
_LOOK_SECONDS: Final = 0.05
"""How often is asked while calls wait for slots of other processes."""
_SHORTEST_LOOK: Final = 0.005
_RENEWALS: Final = 10
"""How often a lease is renewed in its time: so soon one hears that others wait for idle slots."""
_AFTER_FAULT_SECONDS: Final = 1.0
_LEAVE_SECONDS: Final = 5.0


class Leases:
    """The leases of one process, at all gates where something was set."""

    def __init__(
        self, store: LimitStore, crib: str, *, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        """Nothing is leased; `run` has to run.

        Args:
            store: where limits are kept.
            crib: the name of this process, unique among running ones.
            lease_seconds: how long a lease holds without being renewed.
        """
        self._store = store
        self._crib = crib
        self._seconds = lease_seconds
        self._gates: dict[str, Gate] = {}
        self._asked = anyio.Event()
        self._has_asked = False
        self.fault = ""
        """Why the store cannot be asked; empty if it can."""

    def lease(self, limits: GateLimits) -> Lease:
        """A lease for a gate with these limits; `keep` has to follow."""
        return Lease(limits, self._ask)

    def keep(self, gate: Gate) -> None:
        """Look after the lease of a gate from now on."""
        self._gates[str(gate.limits.scope)] = gate

    def _ask(self) -> None:
        self._asked.set()

    async def run(self) -> None:
        """Look after all leases until cancelled; then they are given back."""
        try:
            pause = inf
            while True:
                with anyio.move_on_after(pause):
                    await self._asked.wait()
                self._asked = anyio.Event()
                try:
                    pause = await self._settle()
                except Exception:  # noqa: BLE001 - a worker's border: the crib lives on
                    _log.exception("leasing limits failed inside toolcrib")
                    self.fault, pause = "a fault inside toolcrib", _AFTER_FAULT_SECONDS
        finally:
            with anyio.move_on_after(_LEAVE_SECONDS, shield=True):
                await self._leave()

    async def _settle(self) -> float:
        """Ask for every gate that needs something; when to do so again."""
        asked_at = anyio.current_time()
        leased = {
            name: (gate, gate.lease)
            for name, gate in self._gates.items()
            if gate.lease is not None and (gate.line or gate.running or gate.lease.holds_anything)
        }
        wishes = {
            name: lease.wish(gate.running, len(gate.line), asked_at)
            for name, (gate, lease) in leased.items()
        }
        if not wishes:
            return inf
        self._has_asked = True
        try:
            grants = await self._store.lease(self._crib, wishes, self._seconds)
        except ToolError as error:
            if not self.fault:
                _log.warning("cannot lease limits that all processes share: %s", error.message)
            self.fault = error.message
            return _AFTER_FAULT_SECONDS
        self.fault = ""
        now = anyio.current_time()
        for name, (gate, lease) in leased.items():
            lease.granted(grants[name], asked_at, now, self._seconds)
            gate.admit(now)
        return self._pause(now)

    def _pause(self, now: float) -> float:
        leased = [(gate, gate.lease) for gate in self._gates.values() if gate.lease is not None]
        pause = inf
        for gate, lease in leased:
            if gate.line:
                waits = lease.again_at - now if lease.limits.rate is not None else _LOOK_SECONDS
                pause = min(pause, max(_SHORTEST_LOOK, min(waits, _LOOK_SECONDS)))
            elif gate.running or lease.holds_anything:
                pause = min(pause, self._seconds / _RENEWALS)
        return pause

    async def _leave(self) -> None:
        if not self._has_asked:
            return
        try:
            await self._store.give_back(self._crib)
        except ToolError as error:
            # They run out by themselves.
            _log.warning("cannot give back limits that all processes share: %s", error.message)
