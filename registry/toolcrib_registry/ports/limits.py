"""Limits that several processes keep together: who may use how much of them, for how long.

What was set is leased in small blocks. A lease ends by itself, by the store's clock, so what a dead
process held comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolcrib_protocol.json_value import JsonObject


@dataclass(frozen=True, slots=True)
class Wish:
    """What one process wants at one gate.

    Attributes:
        cap: how many calls may run in all processes together; None for any number.
        rate: how many may begin in a second; None for any number.
        burst: how many may begin at once after a pause.
        running: how many of its calls run; their slots cannot be given back.
        slots: how many it wants to hold from now on.
        tokens: how many it wants to begin soon.
        returned: tokens that it got and does not use.
    """

    cap: int | None
    rate: float | None
    burst: float
    running: int = 0
    slots: int = 0
    tokens: int = 0
    returned: int = 0


@dataclass(frozen=True, slots=True)
class Grant:
    """What the process may use.

    Attributes:
        slots: how many calls it may run until the lease ends.
        tokens: how many it may begin, now.
        again_in: in how many seconds there may be a token, if none was left.
        share: if others have to do without: how many slots are its own; it gives the rest back as
            soon as calls end.
    """

    slots: int
    tokens: int = 0
    again_in: float = 0.0
    share: int | None = None


class LimitStore(Protocol):
    """Where limits are kept that processes share, and what each of them learned."""

    async def lease(
        self, crib: str, wishes: Mapping[str, Wish], seconds: float
    ) -> Mapping[str, Grant]:
        """Renew what `crib` holds at these gates, for so many seconds, and give what there is.

        Raises:
            ToolError: `store_busy`, `store_unavailable`; nothing was leased.
        """
        ...

    async def give_back(self, crib: str) -> None:
        """End all leases of a process, and take down what it told; it is ending."""
        ...

    async def tell(self, crib: str, gates: Sequence[JsonObject], seconds: float) -> None:
        """Pin how the gates of a process stand, for others to read, for so many seconds."""
        ...

    async def told(self) -> Mapping[str, Sequence[JsonObject]]:
        """How the gates of each running process stand."""
        ...
