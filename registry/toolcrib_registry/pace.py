"""How long the calls of a tool usually take, so that one which hangs is noticed in time.

A call that may be repeated and hangs would use up all of its time and leave none for another
attempt. A tool of which enough is known gets a part of the time for each of the first: never less
than several times what it ever took lately. Of others nothing is cut, nor of slow ones. Pure but
for what it remembers; used from one event loop.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_protocol.names import ToolId

ATTEMPTS_PART: Final = 0.4
"""What part of the time that is left an attempt gets, at least."""
CUT_ATTEMPTS: Final = 2
"""The attempts after these get all that is left."""
LEAST_SECONDS: Final = 1.0
"""No attempt is cut below that."""
TIMES_SLOWEST: Final = 4.0
"""It gets so many times what the slowest answer took lately."""
CALLS_TO_KNOW: Final = 5
_FADE: Final = 0.99
"""What remains of the slowest after each answer."""
_MOST_TOOLS: Final = 10_000


@dataclass(slots=True)
class _Seen:
    calls: int = 0
    slowest: float = 0.0


class Pace:
    """What was seen of all tools."""

    def __init__(self) -> None:
        self._seen: OrderedDict[ToolId, _Seen] = OrderedDict()

    def took(self, tool: ToolId, seconds: float) -> None:
        """An answer came after `seconds`."""
        seen = self._seen.get(tool)
        if seen is None:
            seen = self._seen[tool] = _Seen()
            if len(self._seen) > _MOST_TOOLS:
                self._seen.popitem(last=False)
        seen.calls += 1
        seen.slowest = max(seconds, seen.slowest * _FADE)

    def of_attempt(self, tool: ToolId, number: int, seconds: float) -> float:
        """How much of the `seconds` that are left for a call its next attempt gets."""
        seen = self._seen.get(tool)
        if number > CUT_ATTEMPTS or seen is None or seen.calls < CALLS_TO_KNOW:
            return seconds
        enough = max(seconds * ATTEMPTS_PART, seen.slowest * TIMES_SLOWEST, LEAST_SECONDS)
        return min(seconds, enough)
