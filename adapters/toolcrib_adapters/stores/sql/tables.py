"""The tables as SQLAlchemy sees them. Their history is in `toolcrib_adapters.stores.migrations`.

JSON is kept as ASCII text, not in a JSON column: integers keep every digit, keys their order, and characters that a
database's text type refuses (U+0000, lone surrogates) stay escaped.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, Float, Integer, MetaData, Table, Text

__all__ = ["Connection", "Table"]

metadata = MetaData()


def _text(*names: str) -> list[Column[str]]:
    return [Column(name, Text) for name in names]


def _version_key() -> list[Column[str] | Column[int]]:
    return [
        Column("home_group", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        Column("major", Integer, primary_key=True),
        Column("minor", Integer, primary_key=True),
        Column("patch", Integer, primary_key=True),
    ]


head = Table(
    "head",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("revision", BigInteger),
    Column("trimmed_to", BigInteger),
)
sources = Table("sources", metadata, *_text("name", "kind", "spec", "home_group"))
published_names = Table("published_names", metadata, *_text("published_name", "home_group", "name"))
tools = Table("tools", metadata, *_text("home_group", "name", "head_version"))
versions = Table(
    "versions",
    metadata,
    *_version_key(),
    *_text("fingerprint", "source", "upstream_name", "contract", "raw", "repairs", "created_at"),
)
statuses = Table("statuses", metadata, *_version_key(), *_text("status", "reason", "since"))
groups = Table("groups", metadata, *_text("name", "facts"))
memberships = Table(
    "memberships",
    metadata,
    *_text("group_name"),
    Column("position", Integer),
    *_text("home_group", "name"),
)
quarantine = Table(
    "quarantine", metadata, *_text("source"), Column("number", Integer), *_text("facts")
)
changes = Table(
    "changes",
    metadata,
    Column("revision", BigInteger),
    Column("position", Integer),
    *_text("kind", "key"),
)
source_states = Table(
    "source_states", metadata, *_text("crib", "source", "facts"), Column("heartbeat", Float)
)
