"""Who waits at a gate, and in which order they come in.

Each caller has a line of its own, first in, first out, and callers take turns: one that sends fifty
calls at once does not keep the others waiting behind all of them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True, eq=False)
class Turn:
    """One call that waits.

    Attributes:
        caller: whose call it is.
        line: where it waits; None if it does not (any more).
        is_admitted: whether it got its place there.
        told: set when something happened to it.
    """

    caller: str
    line: Line | None = None
    is_admitted: bool = False
    told: anyio.Event = field(default_factory=anyio.Event)

    def call_off(self) -> None:
        """Take it out of the line; whoever waits for it is told."""
        if self.line is not None:
            self.line.remove(self)
            self.line = None
            self.told.set()


class Line:
    """The turns at one gate."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, deque[Turn]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, turn: Turn) -> None:
        """Put a turn at the end of its caller's line."""
        self._of.setdefault(turn.caller, deque()).append(turn)
        self._length += 1

    def first(self) -> Turn | None:
        """Whose turn it is."""
        return next(iter(self._of.values()))[0] if self._of else None

    def pop(self) -> Turn:
        """Take out whose turn it is; there has to be one. Then it is another caller's turn."""
        caller, turns = next(iter(self._of.items()))
        turn = turns.popleft()
        self._length -= 1
        self._of.move_to_end(caller)
        if not turns:
            del self._of[caller]
        return turn

    def remove(self, turn: Turn) -> None:
        """Take a turn out, wherever it is."""
        turns = self._of[turn.caller]
        turns.remove(turn)
        self._length -= 1
        if not turns:
            del self._of[turn.caller]
