"""How long the rows of every table live. A table without a rule here fails a test.

What lives as long as something else is removed with it, in the same transaction; what piles up has
a condition that says which rows may go, and `vacuum.py` takes them out a few at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select

from toolcrib_adapters.stores.sql import tables
from toolcrib_registry.ports import EntryState

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement, Connection, Table

    from toolcrib_adapters.retention import Retention

    Condition = Callable[[Connection, Retention, float], ColumnElement[bool]]

_DAY_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class TableRule:
    """How long the rows of a table live.

    Attributes:
        table: the table.
        kept: how long, in words, with the names of settings in braces.
        gone: which rows may go, given the settings and the time; None: no row by itself.
        sealed: the column that the key ring's keys sealed, or None.
    """

    table: Table
    kept: str
    gone: Condition | None = None
    sealed: ColumnElement[bytes] | None = None


def _old_calls(connection: Connection, keep: Retention, now: float) -> ColumnElement[bool]:
    began = tables.call_records.c.began
    newest = select(began).order_by(began.desc()).offset(int(keep.most_calls)).limit(1)
    too_many = connection.execute(newest).scalar_one_or_none()
    oldest = now - keep.call_days * _DAY_SECONDS
    return began <= (oldest if too_many is None else max(oldest, too_many))


def _old_captures(connection: Connection, keep: Retention, now: float) -> ColumnElement[bool]:
    at, body = tables.captures.c.at, tables.captures.c.body
    sums = select(
        at, func.sum(func.length(body)).over(order_by=at.desc()).label("bytes")
    ).subquery()
    beyond = select(func.max(sums.c.at)).where(sums.c.bytes > keep.most_capture_bytes)
    too_many = connection.execute(beyond).scalar_one_or_none()
    oldest = now - keep.capture_days * _DAY_SECONDS
    return at <= (oldest if too_many is None else max(oldest, too_many))


def _old_entries(_connection: Connection, keep: Retention, now: float) -> ColumnElement[bool]:
    entry = tables.ledger.c
    known = now - keep.ledger_days * _DAY_SECONDS
    doubtful = now - keep.doubt_days * _DAY_SECONDS
    return (
        ((entry.state == EntryState.DONE) & (entry.ended <= known))
        | ((entry.state == EntryState.UNKNOWN) & (entry.ended <= doubtful))
        # Whose owner died without a word, and nobody ever asked.
        | ((entry.state == EntryState.RUNNING) & (entry.lease <= doubtful))
    )


def _expired(column: ColumnElement[float]) -> Condition:
    return lambda _connection, _keep, now: column <= now


def _long_expired(column: ColumnElement[float]) -> Condition:
    # Written by the clock of the database, which may not be ours.
    return lambda _connection, _keep, now: column <= now - 60


_WITH_ITS_SOURCE: Final = "as long as the source that it is of"
_AS_SET: Final = "until the operator takes it out"

RULES: Final = {
    rule.table.name: rule
    for rule in (
        TableRule(tables.head, "for ever: one row"),
        TableRule(tables.sources, _AS_SET),
        TableRule(tables.published_names, "for ever: no name is given twice"),
        TableRule(tables.tools, "for ever: an identity is not given twice"),
        TableRule(tables.versions, "for ever: versions do not change"),
        TableRule(tables.statuses, "as long as the version that it is of"),
        TableRule(tables.groups, _AS_SET),
        TableRule(tables.memberships, "as long as the group"),
        TableRule(tables.profiles, _AS_SET),
        TableRule(tables.overlays, _AS_SET),
        TableRule(tables.declarations, _AS_SET),
        TableRule(tables.call_rules, _AS_SET),
        TableRule(tables.quarantine, _WITH_ITS_SOURCE),
        TableRule(tables.asked, _WITH_ITS_SOURCE),
        TableRule(tables.changes, "10,000 revisions: each commit takes out what is older"),
        TableRule(tables.source_states, "45 seconds after the last report: each report takes out"),
        TableRule(tables.chores, "for ever: one row a chore"),
        TableRule(
            tables.call_records, "{call_days:g} days, and the newest {most_calls:,.0f}", _old_calls
        ),
        TableRule(
            tables.captures,
            "{capture_days:g} days, and the newest {most_capture_bytes:,.0f} bytes",
            _old_captures,
            sealed=tables.captures.c.body,
        ),
        TableRule(tables.limit_books, "for ever: one row a gate that has limits"),
        TableRule(
            tables.limit_boards,
            "until a minute after the lease",
            _long_expired(tables.limit_boards.c.expires),
        ),
        TableRule(
            tables.ledger,
            "{ledger_days:g} days after the answer, {doubt_days:g} where the outcome is unknown",
            _old_entries,
            sealed=tables.ledger.c.answer,
        ),
        TableRule(
            tables.handles,
            "until the handle expires",
            _expired(tables.handles.c.expires),
            sealed=tables.handles.c.facts,
        ),
        TableRule(
            tables.handle_parts,
            "until the handle expires",
            _expired(tables.handle_parts.c.expires),
            sealed=tables.handle_parts.c.body,
        ),
    )
}
"""By name of the table."""
