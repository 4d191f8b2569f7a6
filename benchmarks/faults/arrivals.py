"""What the proxies and the upstreams wrote down, read after a run."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Attempts:
    """What a case looked like from behind the gateway.

    Attributes:
        count: how often any tool was asked for it.
        tool_seconds: how long upstreams and proxies took, all attempts together.
        first_fault: when the first fault had its effect, on the monotonic clock; None for none.
        stood_in: whether another tool than the one asked for was reached.
        start_seconds: how long upstreams that had died took to be there again, after the fault.
    """

    count: int = 0
    tool_seconds: float = 0.0
    first_fault: float | None = None
    stood_in: bool = False
    start_seconds: float = 0.0


def _lines(folder: Path, pattern: str) -> list[dict[str, Any]]:
    paths = sorted(folder.glob(pattern))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def attempts(folder: Path) -> dict[str, Attempts]:
    """By case."""
    events: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in _lines(folder, "arrivals-*.jsonl"):
        events[entry["case"]].append(entry)
    # What has no case is what happened to the sources themselves.
    starts = [(e["since"], e["at"]) for e in events.pop("", []) if e["what"] == "up"]
    found = {case: sorted(e, key=lambda x: float(x["at"])) for case, e in events.items()}
    return {case: _attempts(entries, starts) for case, entries in found.items()}


def _attempts(events: list[dict[str, Any]], starts: list[tuple[float, float]]) -> Attempts:
    arrived = [e for e in events if e["what"] == "arrived"]
    faults = [e["at"] for e in events if e["what"] == "fault"]
    seconds = 0.0
    for begin in arrived:
        later = [e["at"] for e in events if e["at"] > begin["at"] and e["what"] != "arrived"]
        # A fault that is told after a wait is told twice: as it strikes, and as it is answered.
        answered = [e["at"] for e in events if e["at"] > begin["at"] and e["what"] == "answered"]
        until = min(answered or later, default=begin["at"])
        seconds += until - begin["at"]
    first = min(faults, default=None)
    tools = {e["tool"] for e in arrived}
    ended = events[-1]["at"]
    down = sum(max(0.0, min(up, ended) - max(since, first or ended)) for since, up in starts)
    return Attempts(len(arrived), seconds, first, len(tools) > 1, down)


def effects(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The effects that the upstreams count, by case."""
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in _lines(folder, "effects-*.jsonl"):
        found[entry["case"]].append(entry)
    return dict(found)


def effect_counts(folder: Path) -> Counter[str]:
    """How many effects each case had."""
    return Counter({case: len(entries) for case, entries in effects(folder).items()})
