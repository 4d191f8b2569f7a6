"""Where results are kept that were too large to deliver: sealed parts under a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class HandleRecord:
    """What is known of a kept result without opening it.

    Attributes:
        name: the handle.
        owner: the id of the caller whose result it is.
        size: how much is kept, in bytes before it was sealed.
        expires: when it is gone, in seconds since 1970.
        facts: sealed: which tool, and what the parts hold.
    """

    name: str
    owner: str
    size: int
    expires: float
    facts: bytes


@dataclass(frozen=True, slots=True)
class KeptSize:
    """How much is kept for one caller, and for everybody."""

    of_owner: int
    of_all: int


class HandleStore(Protocol):
    """Keeps sealed parts; knows nothing of what is in them. What has expired is not there."""

    async def put(self, handle: str, parts: Mapping[int, bytes], expires: float) -> None:
        """Keep some parts of a handle that is not finished yet.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        ...

    async def finish(self, record: HandleRecord) -> None:
        """Let the handle be found: all its parts are there.

        Raises:
            ToolError: `store_busy`, `store_unavailable`.
        """
        ...

    async def find(self, handle: str, now: float) -> HandleRecord | None:
        """The handle, unless it has expired or is not finished."""
        ...

    async def part(self, handle: str, number: int) -> bytes | None:
        """A part, or None if it is gone."""
        ...

    async def kept(self, owner: str, now: float) -> KeptSize:
        """How much is kept that has not expired."""
        ...

    async def drop(self, handle: str) -> None:
        """Forget a handle and its parts, finished or not."""
        ...

    async def drop_expired(self, now: float, limit: int) -> int:
        """Forget up to `limit` handles that have expired, and say how many those were."""
        ...
