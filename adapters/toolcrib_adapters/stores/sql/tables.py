"""The tables as SQLAlchemy sees them. Their history is in `toolcrib_adapters.stores.migrations`.

JSON is kept as ASCII text, not in a JSON column: integers keep every digit, keys their order, and
characters that a database's text type refuses (U+0000, lone surrogates) stay escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Column, Float, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.types import TypeDecorator

from toolcrib_adapters.stores.escaped_text import escaped, unescaped

if TYPE_CHECKING:
    from sqlalchemy import Dialect


class AnyText(TypeDecorator[str]):
    """Text that others wrote, see `escaped_text`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's hook
        """The text to store."""
        return None if value is None else escaped(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's hook
        """The text that was given."""
        return None if value is None else unescaped(value)


metadata = MetaData()


def _text(*names: str) -> list[Column[str]]:
    return [Column(name, Text) for name in names]


def _tool_key() -> list[Column[str]]:
    return [
        Column("home_group", Text, primary_key=True),
        Column("name", AnyText, primary_key=True),
    ]


def _version_key() -> list[Column[str] | Column[int]]:
    numbers = [Column(part, Integer, primary_key=True) for part in ("major", "minor", "patch")]
    return [*_tool_key(), *numbers]


head = Table(
    "head",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("revision", BigInteger),
    Column("trimmed_to", BigInteger),
)
sources = Table("sources", metadata, *_text("name", "kind", "spec", "home_group"))
published_names = Table(
    "published_names",
    metadata,
    Column("published_name", Text, primary_key=True),
    *_text("home_group"),
    Column("name", AnyText),
)
tools = Table("tools", metadata, *_tool_key(), *_text("head_version"))
versions = Table(
    "versions",
    metadata,
    *_version_key(),
    *_text("fingerprint", "source"),
    Column("upstream_name", AnyText),
    *_text("contract", "raw", "repairs", "created_at"),
    Column("added_in", BigInteger),  # the revision: followers read what is new with one query
    Column("under", Text),
)
statuses = Table(
    "statuses",
    metadata,
    *_version_key(),
    *_text("status"),
    Column("reason", AnyText),
    *_text("since"),
)
groups = Table("groups", metadata, *_text("name", "facts"))
memberships = Table(
    "memberships",
    metadata,
    *_text("group_name"),
    Column("position", Integer),
    *_text("home_group"),
    Column("name", AnyText),
)
profiles = Table("profiles", metadata, *_text("name", "facts"))
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
overlays = Table("overlays", metadata, *_tool_key(), *_text("facts"))
declarations = Table("declarations", metadata, *_text("name", "facts"))
ledger = Table(
    "ledger",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("caller", AnyText),
    Column("key", AnyText),
    Column("tool", AnyText),
    *_text("version", "digest", "owner"),
    Column("lease", Float),
    Column("began", Float),
    *_text("state"),
    Column("ended", Float),
    Column("answer", LargeBinary),
    Column("why", AnyText),
)
call_rules = Table("call_rules", metadata, Column("scope", AnyText), *_text("facts"))
asked = Table("asked", metadata, *_text("source"), Column("number", Integer))
handles = Table(
    "handles",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner", AnyText),
    Column("size", BigInteger),
    Column("expires", Float),
    Column("facts", LargeBinary),
)
handle_parts = Table(
    "handle_parts",
    metadata,
    Column("handle", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("expires", Float),
    Column("body", LargeBinary),
)
call_records = Table(
    "call_records",
    metadata,
    Column("id", Text, primary_key=True),
    Column("began", Float),
    Column("seconds", Float),
    Column("caller", AnyText),
    Column("asked", AnyText),
    Column("tool", AnyText),
    *_text("version", "source", "status"),
    Column("code", AnyText),
    *_text("facts"),
)
captures = Table(
    "captures",
    metadata,
    Column("call", Text, primary_key=True),
    Column("at", Float),
    Column("body", LargeBinary),
)
chores = Table(
    "chores",
    metadata,
    Column("name", Text, primary_key=True),
    *_text("owner"),
    Column("until", Float),
    *_text("facts"),
)
limit_books = Table(
    "limit_books", metadata, Column("gate", AnyText, primary_key=True), *_text("facts")
)
limit_boards = Table(
    "limit_boards",
    metadata,
    Column("crib", Text, primary_key=True),
    *_text("facts"),
    Column("expires", Float),
)
