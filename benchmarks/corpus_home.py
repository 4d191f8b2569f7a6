"""A crib's home filled with stored lists of real servers, vectors included, made once and kept.

Each `*.json` of the data folder is what one server answered: `tools`, and where it is known the
answer to `initialize` (title and instructions). Each becomes a source of kind snapshot; copies
under other names follow until there are as many tools as wanted. Used by `tokens.py` and
`running_crib.py`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolcrib_adapters.main import open_crib
from toolcrib_protocol.names import slug
from toolcrib_registry.listing import Listing, accept_listing
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolcrib_adapters.main import Crib
    from toolcrib_adapters.settings import CribSettings

NOW = "2026-01-01T00:00:00+00:00"


@dataclass(frozen=True)
class StoredList:
    """What one server answered."""

    path: Path
    tools: list[Any]
    title: str
    instructions: str


def stored_lists(folder: Path) -> list[StoredList]:
    """The lists of a folder, in the order of their file names."""
    return [_stored(path) for path in sorted(folder.glob("*.json"))]


async def fill(settings: CribSettings, lists: list[StoredList], wanted: int | None = None) -> int:
    """Make the home hold the lists, and copies up to `wanted` tools; the number of live tools.

    A home that is complete already costs a look; one whose making was interrupted goes on.
    """
    async with open_crib(settings, wants=lambda _: False) as crib:
        for record, found in _sources(lists):
            if wanted is not None and _live(crib) >= wanted:
                break
            if record.name not in crib.catalogue.snapshot.sources:
                await _add(crib, record, found, wanted)
            if wanted is None and len(crib.catalogue.snapshot.sources) >= len(lists):
                break
        async for done, total in crib.search.building():
            print(f"\r{done} of {total} vectors ", end="", file=sys.stderr)
        await crib.search.save()
        return _live(crib)


def _stored(path: Path) -> StoredList:
    answer = json.loads(path.read_bytes())
    hello = answer.get("initialize") or {}
    title = (hello.get("serverInfo") or {}).get("title") or ""
    return StoredList(path, answer.get("tools") or [], title, hello.get("instructions") or "")


def _sources(lists: list[StoredList]) -> Iterator[tuple[SourceRecord, StoredList]]:
    """The sources of the lists, then of their second copies, and so on without end."""
    copy = 1
    while lists:
        for found in lists:
            name = slug(found.path.stem if copy == 1 else f"{found.path.stem}-{copy}")
            spec: dict[str, Any] = {"path": str(found.path.absolute()), "entries": None}
            yield SourceRecord(name, SourceKind.SNAPSHOT, spec, name), found
        copy += 1


def _live(crib: Crib) -> int:
    return sum(1 for _ in crib.catalogue.snapshot.live_tools())


async def _add(crib: Crib, record: SourceRecord, found: StoredList, wanted: int | None) -> None:
    room = len(found.tools) if wanted is None else wanted - _live(crib)
    if room < len(found.tools):
        # The last copy is cut to size, so it cannot be a file that is read again.
        spec: dict[str, Any] = {"path": None, "entries": found.tools[:room]}
        record = SourceRecord(record.name, record.kind, spec, record.group)
    await register(crib.catalogue, record)
    listing = Listing(record.name, tuple(found.tools[:room]), found.title, found.instructions)
    await crib.catalogue.change(lambda snapshot: accept_listing(snapshot, listing, NOW))
