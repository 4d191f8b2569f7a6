"""Records of calls in memory: for tests and trials; the oldest go when there are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

from toolcrib_protocol.result import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_registry.ports import CallQuery, CallRecord, Capture

FAILED: Final = "failed"
"""In a query: every status but success."""
_MOST: Final = 10_000


class MemoryCallRecords:
    """A `CallRecordStore` without a file."""

    def __init__(self) -> None:
        self._records: dict[str, CallRecord] = {}
        self._captures: dict[str, Capture] = {}

    async def write(self, records: Sequence[CallRecord], captures: Sequence[Capture]) -> None:
        """Keep all of them."""
        await checkpoint()
        self._records.update({record.id: record for record in records})
        self._captures.update({capture.call: capture for capture in captures})
        for gone in [*self._records][:-_MOST]:
            del self._records[gone]
            self._captures.pop(gone, None)

    async def find(self, query: CallQuery) -> Sequence[CallRecord]:
        """The records that match, the newest first."""
        await checkpoint()
        found = [record for record in self._records.values() if _matches(record, query)]
        found.sort(key=lambda record: (record.began, record.id), reverse=True)
        return found[: query.limit]

    async def record(self, call: str) -> CallRecord | None:
        """The record of one call."""
        await checkpoint()
        return self._records.get(call)

    async def capture(self, call: str) -> Capture | None:
        """What was captured of one call."""
        await checkpoint()
        return self._captures.get(call)


def _matches(record: CallRecord, query: CallQuery) -> bool:
    wanted = {
        "tool": query.tool,
        "source": query.source,
        "caller": query.caller,
        "status": None if query.status == FAILED else query.status,
    }
    return (
        all(value is None or getattr(record, name) == value for name, value in wanted.items())
        and (query.status != FAILED or record.status != Status.SUCCESS)
        and (query.since is None or record.began >= query.since)
        and (query.until is None or record.began <= query.until)
    )
