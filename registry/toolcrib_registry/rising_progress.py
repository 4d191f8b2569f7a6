"""Progress of a call that is made more than once: it must not run backwards for its caller."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolcrib_registry.ports import Progress


class RisingProgress:
    """Hands on progress; after the first attempt only what is further than all before.

    Attributes:
        is_repeated: whether a first attempt has ended. Until then all is handed on as it comes.
    """

    def __init__(self, report: Callable[[Progress], Awaitable[None]]) -> None:
        self.is_repeated = False
        self._report = report
        self._furthest = -inf

    async def __call__(self, progress: Progress) -> None:
        """Hand on `progress`, unless the caller was told of as much."""
        if self.is_repeated and progress.progress <= self._furthest:
            return
        self._furthest = max(self._furthest, progress.progress)
        await self._report(progress)
