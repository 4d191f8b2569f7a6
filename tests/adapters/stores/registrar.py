"""A process of its own that works on a store; run by tests as `python -m`, never imported by them.

registrar DATABASE_URL register GROUP NAME_PREFIX COUNT   registers tools, one commit each
registrar DATABASE_URL batches                             commits batches until it is killed
registrar DATABASE_URL wait                                says when another process commits
registrar DATABASE_URL open                                opens the store and says its revision
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from tests.registry.samples import next_version, source, version
from toolcrib_adapters.stores.sql import open_store
from toolcrib_protocol.names import published_name
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import AllocateName, PutSource

if TYPE_CHECKING:
    from toolcrib_registry.changes import Change
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.snapshot import Snapshot

BATCH = 10
"""How many tools a batch brings; they are there together or not at all."""


def registration(snapshot: Snapshot, record: VersionRecord) -> list[Change]:
    """What registers a tool under a name that is free."""
    name = published_name(record.tool, snapshot.by_published_name)
    return [AllocateName(record.tool, name), *next_version(record)]


def batch(snapshot: Snapshot, number: int) -> list[Change]:
    """A source with its tools."""
    group = f"batch{number}"
    records = [version(f"tool{i}", group=group) for i in range(BATCH)]
    tools = [change for record in records for change in registration(snapshot, record)]
    return [PutSource(source(group)), *tools]


async def main(*command: str) -> None:
    """Do what the command says."""
    url, work, *arguments = command
    store = await open_store(url, Path())
    catalogue = await Catalogue.open(store)
    if work == "register":
        group, prefix, wanted = arguments
        for i in range(int(wanted)):
            record = version(f"{prefix}{i}", group=group)
            await catalogue.change(partial(registration, record=record))
    elif work == "batches":
        for i in count(catalogue.snapshot.revision):
            await catalogue.change(partial(batch, number=i))
    elif work == "wait":
        print("waiting", flush=True)
        await store.wait_changed(catalogue.snapshot.revision, timeout_seconds=60)
    print((await catalogue.refresh()).revision, flush=True)
    await store.aclose()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
