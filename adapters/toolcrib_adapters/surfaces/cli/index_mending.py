"""Completes a search index that was damaged, lost, or made before the newest tools came.

A running crib does that by itself; this is for commands that ask while none runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_registry.search import Search


async def complete(
    engine: Search, seconds: float, show: Callable[[int, int], None] = lambda _done, _all: None
) -> bool:
    """Make the vectors that are missing and keep the index; whether none is missing now.

    Args:
        engine: an open search.
        seconds: how long to work on it; what was made until then is kept.
        show: told how many are there, of how many.
    """
    if engine.shortcoming is None:
        return True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run)
        with anyio.move_on_after(seconds):
            async for done, total in engine.building():
                show(done, total)
        tasks.cancel_scope.cancel()
    await engine.save()
    return engine.shortcoming is None
