"""Shared limits in memory: for tests, and for several cribs in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_registry.limits.lease_terms import Book, settled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.ports.limits import Grant, Wish


class MemoryLimits:
    """A `LimitStore` whose clock is the one it is given."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is leased."""
        self._clock = clock
        self._books: dict[str, Book] = {}
        self._told: dict[str, tuple[float, Sequence[JsonObject]]] = {}

    async def lease(
        self, crib: str, wishes: Mapping[str, Wish], seconds: float
    ) -> Mapping[str, Grant]:
        """Renew what `crib` holds at these gates, and give what there is."""
        grants = {}
        for gate, wish in wishes.items():
            book = self._books.get(gate, Book())
            now = self._clock.monotonic()
            self._books[gate], grants[gate] = settled(book, crib, wish, now, seconds)
        return grants

    async def give_back(self, crib: str) -> None:
        """End all leases of a process, and take down what it told."""
        self._books = {gate: book.without(crib) for gate, book in self._books.items()}
        self._told.pop(crib, None)

    async def tell(self, crib: str, gates: Sequence[JsonObject], seconds: float) -> None:
        """Pin how the gates of a process stand."""
        self._told[crib] = (self._clock.monotonic() + seconds, gates)

    async def told(self) -> Mapping[str, Sequence[JsonObject]]:
        """How the gates of each running process stand."""
        now = self._clock.monotonic()
        return {crib: gates for crib, (until, gates) in self._told.items() if until > now}
