"""Where the records of calls are kept, and what was captured of some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import JsonObject


@dataclass(frozen=True, slots=True)
class CallRecord:
    """What is known of one call that has ended; neither its arguments nor its result.

    Attributes:
        id: names the call; its caller finds it in `_meta`.
        began: seconds since 1970.
        seconds: how long it took, waits included.
        caller: who asked.
        asked: the name or reference that was asked for, as it was written.
        tool: `group/name`, or empty where nothing answers to that.
        version: which version answered, or empty.
        source: whose tool it is, or empty.
        status: a status of results, or `cancelled` if the caller went away.
        code: of the error, or empty.
        facts: the rest: digests and sizes, repairs, attempts, waits, marks, the steps.
    """

    id: str
    began: float
    seconds: float
    caller: str
    asked: str
    tool: str
    version: str
    source: str
    status: str
    code: str
    facts: JsonObject


@dataclass(frozen=True, slots=True)
class Capture:
    """What went over the wire in one call, sealed.

    Attributes:
        call: the call's id.
        at: seconds since 1970.
        body: sealed.
    """

    call: str
    at: float
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CallQuery:
    """Which records are wanted; None does not narrow.

    Attributes:
        tool: `group/name`.
        source: a source.
        status: a status, or `failed` for all but success.
        caller: a caller's id.
        since: began then or later, in seconds since 1970.
        until: began then or earlier.
        limit: the newest so many.
    """

    tool: str | None = None
    source: str | None = None
    status: str | None = None
    caller: str | None = None
    since: float | None = None
    until: float | None = None
    limit: int = 100


class CallRecordStore(Protocol):
    """Keeps records of calls and captures."""

    async def write(self, records: Sequence[CallRecord], captures: Sequence[Capture]) -> None:
        """Keep all of them, or none.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        ...

    async def find(self, query: CallQuery) -> Sequence[CallRecord]:
        """The records that match, the newest first."""
        ...

    async def record(self, call: str) -> CallRecord | None:
        """The record of one call."""
        ...

    async def capture(self, call: str) -> Capture | None:
        """What was captured of one call."""
        ...
