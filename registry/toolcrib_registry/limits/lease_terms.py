"""How slots and tokens of one gate are shared out between processes: a pure decision.

The book of a gate says who holds what until when. Every store keeps books and lets `settled` decide
under a lock, so that the sum of what is held never goes beyond the cap. A process that wants slots
while all are taken is put down as waiting; the others then give back what is more than their share,
and those who waited longer come first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from toolcrib_registry.ports.limits import Grant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_registry.ports.limits import Wish

_ALMOST: Final = 1e-6
_RENEW_PART: Final = 0.8
"""Who only waits is put down anew when less than this part of the time is left."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What one process holds.

    Attributes:
        slots: how many calls it may run.
        wanted: how many it would like to.
        since: when it began to wait, if it has none; else None.
        expires: when it ends, unless it is renewed.
    """

    slots: int
    wanted: int
    since: float | None
    expires: float


@dataclass(frozen=True, slots=True)
class Book:
    """How one gate stands.

    Attributes:
        tokens: how many are left; None where there was no rate.
        at: when that was.
        holdings: by process.
    """

    tokens: float | None = None
    at: float = 0.0
    holdings: Mapping[str, Holding] = field(default_factory=dict)

    def without(self, crib: str) -> Book:
        """The book after a process has left."""
        return replace(self, holdings={k: v for k, v in self.holdings.items() if k != crib})


def settled(book: Book, crib: str, wish: Wish, now: float, seconds: float) -> tuple[Book, Grant]:
    """The book after a process got what there is for it, and what that is.

    Args:
        book: as it stands.
        crib: the process.
        wish: what it wants.
        now: by the store's clock.
        seconds: how long it may hold slots without asking again.
    """
    book, tokens, again_in = _with_tokens(book, wish, now)
    if wish.cap is None:
        return book.without(crib), Grant(0, tokens, again_in)
    others = {
        name: one for name, one in book.holdings.items() if name != crib and one.expires > now
    }
    holding, share = _held(book.holdings.get(crib), others, wish, now, seconds)
    holdings = others if holding is None else {**others, crib: holding}
    slots = 0 if holding is None else holding.slots
    return replace(book, holdings=holdings), Grant(slots, tokens, again_in, share)


def _with_tokens(book: Book, wish: Wish, now: float) -> tuple[Book, int, float]:
    """The book with some tokens taken; how many, and when there may be more."""
    if wish.rate is None:
        return (book if book.tokens is None else replace(book, tokens=None)), 0, 0.0
    passed = max(0.0, now - book.at)
    there = wish.burst if book.tokens is None else book.tokens + passed * wish.rate
    there = min(wish.burst, there + wish.returned)
    given = min(wish.tokens, int(there + _ALMOST))
    if not given and not wish.returned and book.tokens is not None:
        # Nothing changed that the next reader could not work out: no need to write.
        return book, 0, max(0.0, 1 - there) / wish.rate
    left = max(0.0, there - given)
    return replace(book, tokens=left, at=now), given, max(0.0, 1 - left) / wish.rate


def _held(
    mine: Holding | None,
    others: Mapping[str, Holding],
    wish: Wish,
    now: float,
    seconds: float,
) -> tuple[Holding | None, int | None]:
    """What a process holds from now on, and its share if others have to do without."""
    cap = wish.cap or 1
    if mine is not None and mine.expires <= now:
        mine = None
    claims = [one for one in others.values() if one.wanted > 0]
    fair = cap // (len(claims) + 1)
    lacking = [one for one in claims if one.slots < min(one.wanted, max(1, fair))]
    since = now if mine is None or mine.since is None else mine.since
    room = cap - sum(one.slots for one in others.values())
    has_none = mine is None or not mine.slots
    if has_none:
        # Who waited longer comes first; each of them is kept one slot.
        room -= sum(one.since is not None and one.since < since for one in lacking)
    # One that has none is in the line for one, however little the share of each is.
    own = max(fair, wish.running, int(has_none))
    target = min(wish.slots, own) if lacking else wish.slots
    slots = max(min(target, max(0, room)), wish.running)
    if not slots and not wish.slots:
        return None, None
    lacks_all = slots == 0
    if lacks_all and mine is not None and _is_fresh(mine, wish, now, seconds):
        return mine, fair if lacking else None
    holding = Holding(slots, wish.slots, since if lacks_all else None, now + seconds)
    return holding, fair if lacking else None


def _is_fresh(mine: Holding, wish: Wish, now: float, seconds: float) -> bool:
    """Whether what is put down of one who waits can stay."""
    is_same = mine.slots == 0 and mine.wanted == wish.slots and mine.since is not None
    return is_same and mine.expires - now > seconds * _RENEW_PART
