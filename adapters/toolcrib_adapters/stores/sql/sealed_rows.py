"""How much of what is stored was sealed with which key of the key ring.

Reads the names of keys that stand before what they sealed; opens nothing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from toolcrib_adapters.sealing import KEY_ID_AT, KEY_ID_BYTES
from toolcrib_adapters.stores.sql.table_rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_adapters.stores.sql.database import Database


@dataclass(frozen=True, slots=True)
class SealedRows:
    """How many rows, and how many bytes in them, by table."""

    rows: Mapping[str, int]
    size: int

    @property
    def total(self) -> int:
        """The rows of all tables."""
        return sum(self.rows.values())


def sealed_under(database: Database) -> dict[str, SealedRows]:
    """By name of the key.

    Raises:
        ToolError: `store_busy`, `store_unavailable`.
    """
    rows: defaultdict[str, dict[str, int]] = defaultdict(dict)
    sizes: defaultdict[str, int] = defaultdict(int)
    with database.reading() as connection:
        for name, rule in RULES.items():
            if rule.sealed is None:
                continue
            # SQL counts from one.
            key = func.substr(rule.sealed, KEY_ID_AT + 1, KEY_ID_BYTES)
            size = func.sum(func.length(rule.sealed))
            counted = select(key, func.count(), size).where(rule.sealed.is_not(None)).group_by(key)
            for key_id, number, length in connection.execute(counted):
                rows[bytes(key_id).hex()][name] = number
                sizes[bytes(key_id).hex()] += int(length)
    return {key_id: SealedRows(found, sizes[key_id]) for key_id, found in rows.items()}
