"""Asking sources for their lists anew, wherever they run, and what came of it.

The wish is a change of the catalogue, so every crib that runs a source hears of it; each pins on
the board of states which wish it has answered. Pure; used by the command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcrib_registry.changes import AskAgain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import SourceState
    from toolcrib_registry.snapshot import Snapshot


def ask_again(snapshot: Snapshot, sources: Collection[str]) -> list[Change]:
    """The change that has these sources asked for their lists."""
    return [AskAgain(name, snapshot.asked.get(name, 0) + 1) for name in sources]


def unanswered(
    snapshot: Snapshot, states: Mapping[str, SourceState], sources: Collection[str]
) -> set[str]:
    """Those of the sources that run somewhere and have not answered the newest wish."""
    return {
        name
        for name in sources
        if name in states and states[name].answered < snapshot.asked.get(name, 0)
    }


@dataclass(frozen=True, slots=True)
class Relisted:
    """What a new list changed.

    Attributes:
        added: references of tools that may be called now and could not before.
        changed: references with the version they had before.
        removed: tools that may not be called any more.
    """

    added: tuple[str, ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()

    @classmethod
    def between(cls, before: Snapshot, after: Snapshot, source: str) -> Relisted:
        """What changed about the tools of a source."""
        old, new = _heads(before, source), _heads(after, source)
        return cls(
            tuple(f"{tool}@{new[tool]}" for tool in sorted(new.keys() - old.keys())),
            tuple(
                (f"{tool}@{new[tool]}", old[tool])
                for tool in sorted(new.keys() & old.keys())
                if new[tool] != old[tool]
            ),
            tuple(sorted(old.keys() - new.keys())),
        )

    def as_json(self) -> JsonObject:
        """The changes as JSON."""
        return {
            "added": [*self.added],
            "changed": [{"tool": tool, "before": before} for tool, before in self.changed],
            "removed": [*self.removed],
        }


def _heads(snapshot: Snapshot, source: str) -> dict[str, str]:
    heads = (tool.head for tool in snapshot.tools.values())
    return {
        str(head.tool): str(head.version)
        for head in heads
        if head is not None and head.source == source
    }
