"""The levels of MCP log messages, and which of two is the graver one. Pure."""

from __future__ import annotations

from typing import Final

LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
"""From the least to the gravest."""
_RANK: Final = {level: rank for rank, level in enumerate(LEVELS)}


def is_at_least(level: object, lowest: str | None) -> bool:
    """Whether a message of `level` is wanted by somebody who wants `lowest` and graver ones.

    None wants everything. A level that MCP does not know counts as the least.
    """
    return lowest is None or _RANK.get(str(level), 0) >= _RANK.get(lowest, 0)
