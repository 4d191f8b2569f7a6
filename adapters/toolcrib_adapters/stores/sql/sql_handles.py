"""Kept results in a SQL database, over the same connections as the catalogue.

Parts are rows of their own, so that reading a piece of a large result reads that piece only. A
handle's own row is written last: what is not finished is never found, and expires all the same.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import CapacityLimiter, to_thread
from sqlalchemy import case, delete, func, insert, select, union

from toolcrib_adapters.stores.sql.tables import handle_parts, handles
from toolcrib_registry.ports import HandleRecord, KeptSize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolcrib_adapters.stores.sql.database import Database

T = TypeVar("T")

_READERS: Final = 2


class SqlHandles:
    """A `HandleStore` over SQLAlchemy; the database has been migrated."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = CapacityLimiter(1)
        self._readers = CapacityLimiter(_READERS)

    async def put(self, handle: str, parts: Mapping[int, bytes], expires: float) -> None:
        """Keep some parts of a handle that is not finished yet.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        await self._write(partial(self._put, handle, parts, expires))

    async def finish(self, record: HandleRecord) -> None:
        """Let the handle be found.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        await self._write(partial(self._finish, record))

    async def find(self, handle: str, now: float) -> HandleRecord | None:
        """The handle, unless it has expired or is not finished."""
        return await self._read(partial(self._find, handle, now))

    async def part(self, handle: str, number: int) -> bytes | None:
        """A part, or None if it is gone."""
        return await self._read(partial(self._part, handle, number))

    async def kept(self, owner: str, now: float) -> KeptSize:
        """How much is kept that has not expired."""
        return await self._read(partial(self._kept, owner, now))

    async def drop(self, handle: str) -> None:
        """Forget a handle and its parts."""
        await self._write(partial(self._drop, [handle]))

    async def drop_expired(self, now: float, limit: int) -> int:
        """Forget up to `limit` handles that have expired."""
        return await self._write(partial(self._drop_expired, now, limit))

    async def _write(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._writer)

    async def _read(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(work, limiter=self._readers)

    def _put(self, handle: str, parts: Mapping[int, bytes], expires: float) -> None:
        written = [
            {"handle": handle, "number": number, "expires": expires, "body": body}
            for number, body in parts.items()
        ]
        with self._database.writing() as connection:
            connection.execute(insert(handle_parts), written)

    def _finish(self, record: HandleRecord) -> None:
        row = {
            "name": record.name,
            "owner": record.owner,
            "size": record.size,
            "expires": record.expires,
            "facts": record.facts,
        }
        with self._database.writing() as connection:
            connection.execute(insert(handles), row)

    def _find(self, handle: str, now: float) -> HandleRecord | None:
        wanted = (handles.c.name == handle) & (handles.c.expires > now)
        with self._database.reading() as connection:
            row = connection.execute(select(handles).where(wanted)).one_or_none()
        if row is None:
            return None
        return HandleRecord(row.name, row.owner, row.size, row.expires, row.facts)

    def _part(self, handle: str, number: int) -> bytes | None:
        wanted = (handle_parts.c.handle == handle) & (handle_parts.c.number == number)
        with self._database.reading() as connection:
            body: bytes | None = connection.execute(
                select(handle_parts.c.body).where(wanted)
            ).scalar_one_or_none()
        return body

    def _kept(self, owner: str, now: float) -> KeptSize:
        own = case((handles.c.owner == owner, handles.c.size), else_=0)
        sums = select(func.coalesce(func.sum(own), 0), func.coalesce(func.sum(handles.c.size), 0))
        with self._database.reading() as connection:
            of_owner, of_all = connection.execute(sums.where(handles.c.expires > now)).one()
        return KeptSize(int(of_owner), int(of_all))

    def _drop(self, names: list[str]) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(handles).where(handles.c.name.in_(names)))
            connection.execute(delete(handle_parts).where(handle_parts.c.handle.in_(names)))

    def _drop_expired(self, now: float, limit: int) -> int:
        # A process that died while it wrote left parts without a handle.
        gone = union(
            select(handles.c.name).where(handles.c.expires <= now),
            select(handle_parts.c.handle).where(handle_parts.c.expires <= now),
        ).limit(limit)
        with self._database.reading() as connection:
            names = list(connection.execute(gone).scalars())
        if names:
            self._drop(names)
        return len(names)
