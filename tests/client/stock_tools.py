"""Functions to publish."""

from __future__ import annotations

from toolcrib_client import tool


@tool(version="1.0.0")
def count(item: str) -> int:
    """How many there are."""
    return len(item)


@tool
def order(item: str) -> str:
    """Order more."""
    return item


def not_a_tool() -> None:
    """Nothing to see."""
