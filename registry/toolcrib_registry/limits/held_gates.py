"""Gates that were passed for a batch, on their way to the call that makes it.

The call of the batch tool takes them over, once: its own attempts after the first pass anew, as
those of any call. What nobody took is left at the end.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from toolcrib_registry.limits.gate import Gate


class HeldGates:
    """Places that wait to be taken over."""

    def __init__(self, gates: tuple[Gate, ...]) -> None:
        self._gates = gates

    def take(self) -> tuple[Gate, ...]:
        """Take over all of them; nothing is left for the next."""
        gates, self._gates = self._gates, ()
        return gates

    def leave(self) -> None:
        """Leave those that nobody took over."""
        for gate in reversed(self.take()):
            gate.leave(anyio.current_time())


HELD: Final[ContextVar[HeldGates | None]] = ContextVar("toolcrib_held_gates", default=None)
"""What the call that runs in this context may take over."""
