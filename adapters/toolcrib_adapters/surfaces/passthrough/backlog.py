"""Things that wait to be told, in order, and not more than so many."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

import anyio

Item = TypeVar("Item")


class Backlog(Generic[Item]):
    """A bounded queue; each item is taken once, however many take."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: deque[Item] = deque()
        self._came = anyio.Event()

    def put(self, item: Item) -> bool:
        """Add `item`, unless it is waiting already; False if there is no room."""
        if item in self._items:
            return True
        if len(self._items) >= self._most:
            return False
        self._items.append(item)
        came, self._came = self._came, anyio.Event()
        came.set()
        return True

    async def take(self) -> Item:
        """The oldest item, as soon as there is one."""
        while not self._items:
            await self._came.wait()
        return self._items.popleft()
