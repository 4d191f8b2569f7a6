"""Prints the table of `docs/clients.md`: `python -m tests.interop [--url URL] [TITLE...]`.

With a URL it asks that endpoint, else a toolcrib of its own in front of the stall server.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import anyio

from tests.interop.kit import default_folder, fetched
from tests.interop.running import CLIENTS, outcomes
from tests.interop.stall import stall_behind_toolcrib
from tests.interop.table import row, table


async def ask(wanted: list[str], url: str | None) -> dict[str, dict[str, str]]:
    """The outcomes of every client that is wanted."""
    kit = await anyio.to_thread.run_sync(fetched, default_folder())
    told = {}
    with tempfile.TemporaryDirectory() as scratch:
        async with stall_behind_toolcrib(Path(scratch, "home")) as own:
            for client in CLIENTS:
                if wanted and not any(word in client.title for word in wanted):
                    continue
                folder = Path(tempfile.mkdtemp(dir=scratch))
                told[client.title] = dict(
                    await anyio.to_thread.run_sync(outcomes, kit, client, url or own, folder)
                )
                sys.stderr.write(f"{client.title}: {told[client.title]}\n")
    return told


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop", description=__doc__)
    parser.add_argument("titles", nargs="*", help="only clients whose title holds one of these")
    parser.add_argument("--url")
    given = parser.parse_args()
    told = anyio.run(ask, given.titles, given.url)
    print(table([row(title, outcome) for title, outcome in told.items()]))


if __name__ == "__main__":
    main()
