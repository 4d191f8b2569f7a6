"""A process that saves one index again and again; killed or counted by `test_index_file`."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from tests.registry.shelf import open_shelf, tool

if TYPE_CHECKING:
    from toolcrib_protocol.tool import Contract

SHELVED = 60
_THINGS = ("lamp", "ladder", "boat", "violin", "garden", "bridge", "kettle")
_DEEDS = ("repair", "measure", "paint", "sell", "photograph", "weigh", "insure", "borrow")


def numbered(n: int) -> Contract:
    """A tool whose description is like no other's."""
    thing, deed = _THINGS[n % len(_THINGS)], _DEEDS[n % len(_DEEDS)]
    return tool(f"tool_{n}", f"Use this to {deed} {thing} number {n * 37} in hall {n}.")


async def main(home: Path, times: int | None) -> None:
    """Save until killed, or so many times."""
    shelf = await open_shelf(home, *(numbered(n) for n in range(SHELVED)))
    for _ in count() if times is None else range(times):
        print("saving", flush=True)
        await shelf.search.save()


if __name__ == "__main__":
    home, *times = sys.argv[1:]
    anyio.run(main, Path(home), int(times[0]) if times else None)
