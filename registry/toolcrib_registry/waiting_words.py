"""Whether a tool's failure says that it waits for something: "not ready yet", "still running".

Whoever asks again then polls, and is no caller that repeats itself. Asked by `repeat_guard` alone:
such a failure is nothing to retry on toolcrib's own account, as nobody knows how long it takes.
Pure.
"""

from __future__ import annotations

import re
from typing import Final

from toolcrib_registry.failure_tables import LONGEST_TEXT

_WAITS: Final = re.compile(
    r"\byet\b|\bstill\b|\bpending\b|\bqueued\b|\bin (?:the )?queue\b|\bin[ _-]?progress\b|"
    r"\b(?:not|never|isn't|aren't|hasn't)[ _-](?:\w{1,20}[ _-]){0,2}"
    r"(?:ready|finished|complete|completed|done|started)\b|"
    r"\b(?:is|are|currently|job|task|status|state)\W{1,3}(?:being |now )?"
    r"(?:running|processing|processed|starting|building|provisioning|initializing|initialising)\b|"
    r"\b(?:try|check|ask|poll|call|come|look)(?: \w{1,20})? (?:again|back)\b|"
    r"\b(?:please|must|have to) wait\b|\bwait(?:ing)? (?:for|until|a|some)\b|\bunder ?way\b",
    re.IGNORECASE,
)


def says_to_wait(text: str) -> bool:
    """Whether these words of a failed tool say that asking again later may help."""
    return _WAITS.search(text[:LONGEST_TEXT].replace("_", " ")) is not None
