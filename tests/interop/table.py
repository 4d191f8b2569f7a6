"""The table of `docs/clients.md`, as the outcomes of a run make it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ABILITIES: Final = (
    "list",
    "call",
    "error",
    "wrong arguments",
    "cancel",
    "progress",
    "elicitation",
    "big result",
)
_SIGNS: Final = {"ok": "yes", "not offered": "–"}


def row(title: str, outcomes: Mapping[str, str]) -> str:
    """One client's row: yes, – for what the client does not offer, or no."""
    cells = [_SIGNS.get(outcomes.get(ability, ""), "no") for ability in ABILITIES]
    return f"| {' | '.join([title, *cells])} |"


def table(rows: Sequence[str]) -> str:
    """The whole table."""
    head = f"| {' | '.join(['client', *ABILITIES])} |"
    return "\n".join([head, "|---" * (len(ABILITIES) + 1) + "|", *rows])
