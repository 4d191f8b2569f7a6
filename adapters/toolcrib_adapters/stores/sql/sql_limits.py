"""Limits that processes share, in a SQL database: the books of gates, under a lock.

Decides nothing itself: `lease_terms.settled` does, on the book that is locked here. The time is the
database's, so that the clocks of several machines need not agree. What changes nothing is not
written: who waits for others asks often.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel, ValidationError
from sqlalchemy import bindparam, delete, insert, literal_column, select, text, update

from toolcrib_adapters.stores.sql.tables import AnyText, limit_boards, limit_books
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_registry.limits.lease_terms import Book, Holding, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection
    from sqlalchemy.sql.elements import ColumnElement

    from toolcrib_adapters.stores.sql.database import Database
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.ports import Grant, Wish

T = TypeVar("T")

# The same words for both kinds of database, without loading the dialect of either.
_MAKE: Final = text(
    "INSERT INTO limit_books (gate, facts) VALUES (:gate, :facts) ON CONFLICT DO NOTHING"
).bindparams(bindparam("gate", type_=AnyText()))
_SQLITE_NOW: Final = "(julianday('now') - 2440587.5) * 86400.0"
_POSTGRESQL_NOW: Final = "extract(epoch from clock_timestamp())"


class _Facts(BaseModel):
    """A book as it is kept."""

    tokens: float | None
    at: float
    holdings: dict[str, tuple[int, int, float | None, float]]


class SqlLimits:
    """A `LimitStore` over SQLAlchemy; the database has been migrated."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = CapacityLimiter(1)

    async def lease(
        self, crib: str, wishes: Mapping[str, Wish], seconds: float
    ) -> Mapping[str, Grant]:
        """Renew what `crib` holds at these gates, and give what there is.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        return await self._run(partial(self._lease, crib, wishes, seconds))

    async def give_back(self, crib: str) -> None:
        """End all leases of a process, and take down what it told.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        await self._run(partial(self._give_back, crib))

    async def tell(self, crib: str, gates: Sequence[JsonObject], seconds: float) -> None:
        """Pin how the gates of a process stand.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        await self._run(partial(self._tell, crib, dump_json([*gates]), seconds))

    async def told(self) -> Mapping[str, Sequence[JsonObject]]:
        """How the gates of each running process stand.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        return await self._run(self._told)

    async def _run(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._threads)

    def _lease(self, crib: str, wishes: Mapping[str, Wish], seconds: float) -> dict[str, Grant]:
        decide = partial(_decided, crib, wishes, seconds)
        with self._database.reading() as connection:
            changed, grants = decide(_books(connection, [*wishes]), self._now(connection))
        if not changed and len(grants) == len(wishes):
            return grants
        with self._database.writing() as connection:
            self._make_books(connection, wishes)
            # Always in one order: two processes that lock the same books never wait in a circle.
            books = _books(connection, sorted(wishes), for_update=True)
            changed, grants = decide(books, self._now(connection))
            for gate, book in changed.items():
                _write(connection, gate, book)
        return grants

    def _make_books(self, connection: Connection, gates: Mapping[str, Wish]) -> None:
        known = select(limit_books.c.gate).where(limit_books.c.gate.in_([*gates]))
        missing = set(gates) - set(connection.execute(known).scalars())
        for gate in sorted(missing):
            row = {"gate": gate, "facts": dump_json(_written(Book()))}
            # Another process may make it in the same moment.
            connection.execute(_MAKE, row)

    def _give_back(self, crib: str) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(limit_boards).where(limit_boards.c.crib == crib))
            gates = sorted(connection.execute(select(limit_books.c.gate)).scalars())
            for gate, book in _books(connection, gates, for_update=True).items():
                if crib in book.holdings:
                    _write(connection, gate, book.without(crib))

    def _tell(self, crib: str, facts: str, seconds: float) -> None:
        table = limit_boards
        with self._database.writing() as connection:
            now = self._now(connection)
            gone = (table.c.crib == crib) | (table.c.expires <= now)
            connection.execute(delete(table).where(gone))
            row = {"crib": crib, "facts": facts, "expires": now + seconds}
            connection.execute(insert(table), row)

    def _told(self) -> dict[str, Sequence[JsonObject]]:
        with self._database.reading() as connection:
            fresh = limit_boards.c.expires > self._now(connection)
            found = connection.execute(select(limit_boards).where(fresh)).all()
        return {row.crib: _objects(parse_json(row.facts)) for row in found}

    def _now(self, connection: Connection) -> float:
        epoch: ColumnElement[float] = literal_column(_SQLITE_NOW)
        if not self._database.is_sqlite:
            epoch = literal_column(_POSTGRESQL_NOW)
        return float(connection.execute(select(epoch)).scalar_one())


def _decided(
    crib: str, wishes: Mapping[str, Wish], seconds: float, books: Mapping[str, Book], now: float
) -> tuple[dict[str, Book], dict[str, Grant]]:
    """The books that have to be written, and what is granted."""
    changed, grants = {}, {}
    for gate, book in books.items():
        after, grants[gate] = settled(book, crib, wishes[gate], now, seconds)
        if after != book:
            changed[gate] = after
    return changed, grants


def _books(
    connection: Connection, gates: Sequence[str], *, for_update: bool = False
) -> dict[str, Book]:
    """The books of these gates that there are; ours until the transaction ends, if wanted."""
    wanted = select(limit_books).where(limit_books.c.gate.in_(gates)).order_by(limit_books.c.gate)
    found = connection.execute(wanted.with_for_update() if for_update else wanted).all()
    return {row.gate: _read(row.facts) for row in found}


def _write(connection: Connection, gate: str, book: Book) -> None:
    changed = update(limit_books).where(limit_books.c.gate == gate)
    connection.execute(changed.values(facts=dump_json(_written(book))))


def _written(book: Book) -> JsonObject:
    holdings: JsonObject = {
        crib: [one.slots, one.wanted, one.since, one.expires] for crib, one in book.holdings.items()
    }
    return {"tokens": book.tokens, "at": book.at, "holdings": holdings}


def _read(facts: str) -> Book:
    """What `_written` wrote; a new book if this process cannot read it."""
    try:
        told = _Facts.model_validate_json(facts)
    except ValidationError:
        # What is held is put down again with the next renewals, so nothing is lost for long.
        return Book()
    holdings = {crib: Holding(*one) for crib, one in told.holdings.items()}
    return Book(told.tokens, told.at, holdings)


def _objects(facts: Json) -> list[JsonObject]:
    return [one for one in facts if isinstance(one, dict)] if isinstance(facts, list) else []
