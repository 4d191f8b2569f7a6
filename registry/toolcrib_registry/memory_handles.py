"""Kept results in memory: for tests and trials; nothing survives the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from toolcrib_registry.ports import KeptSize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_registry.ports import HandleRecord


class MemoryHandles:
    """A `HandleStore` without a file."""

    def __init__(self) -> None:
        self._records: dict[str, HandleRecord] = {}
        self._parts: dict[str, dict[int, bytes]] = {}
        self._expires: dict[str, float] = {}

    async def put(self, handle: str, parts: Mapping[int, bytes], expires: float) -> None:
        """Keep some parts of a handle that is not finished yet."""
        await checkpoint()
        self._expires[handle] = expires
        self._parts.setdefault(handle, {}).update(parts)

    async def finish(self, record: HandleRecord) -> None:
        """Let the handle be found."""
        await checkpoint()
        self._expires[record.name] = record.expires
        self._records[record.name] = record

    async def find(self, handle: str, now: float) -> HandleRecord | None:
        """The handle, unless it has expired or is not finished."""
        await checkpoint()
        record = self._records.get(handle)
        return None if record is None or record.expires <= now else record

    async def part(self, handle: str, number: int) -> bytes | None:
        """A part, or None if it is gone."""
        await checkpoint()
        return self._parts.get(handle, {}).get(number)

    async def kept(self, owner: str, now: float) -> KeptSize:
        """How much is kept that has not expired."""
        await checkpoint()
        records = [record for record in self._records.values() if record.expires > now]
        of_owner = sum(record.size for record in records if record.owner == owner)
        return KeptSize(of_owner, sum(record.size for record in records))

    async def drop(self, handle: str) -> None:
        """Forget a handle and its parts."""
        await checkpoint()
        for kept in (self._records, self._parts, self._expires):
            kept.pop(handle, None)

    async def drop_expired(self, now: float, limit: int) -> int:
        """Forget up to `limit` handles that have expired."""
        gone = [name for name, expires in self._expires.items() if expires <= now][:limit]
        for name in gone:
            await self.drop(name)
        return len(gone)
