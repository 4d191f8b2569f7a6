"""Records of calls summed up by tool. Pure; used by `toolcrib calls stats`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from toolcrib_adapters.surfaces.cli.moments import percentile
from toolcrib_protocol.result import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallRecord


def statistics(records: Iterable[CallRecord]) -> list[JsonObject]:
    """What was called most comes first; calls that found no tool count under an empty name."""
    by_tool: defaultdict[str, list[CallRecord]] = defaultdict(list)
    for record in records:
        by_tool[record.tool].append(record)
    rows = [_row(tool, found) for tool, found in sorted(by_tool.items())]
    return sorted(rows, key=lambda row: -int(str(row["calls"])))


def _row(tool: str, records: list[CallRecord]) -> JsonObject:
    seconds = sorted(record.seconds for record in records)
    attempts = [record.facts.get("attempts") for record in records]
    return {
        "tool": tool,
        "calls": len(records),
        "failed": sum(1 for record in records if record.status != Status.SUCCESS),
        "p50_seconds": percentile(seconds, 0.5),
        "p95_seconds": percentile(seconds, 0.95),
        "attempts": sum(number for number in attempts if isinstance(number, int)),
        "repaired": sum(1 for record in records if record.facts.get("repairs")),
    }
