"""Publishing from outside at run time: contracts or a Python target become a source in one commit.

Entries that are published are kept in the settings of their source, so they survive a restart; publishing the
same thing again changes nothing. Used by the command line and by the `toolcrib/publish` method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from toolcrib_protocol.errors import CONFLICT, INVALID_CONTRACT, ToolError
from toolcrib_protocol.names import ToolId, check_group_name

from toolcrib_registry.changes import PutSource
from toolcrib_registry.listing import Listing, accept_listing
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.tool import Contract

    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.records import QuarantineRecord, ToolRecord
    from toolcrib_registry.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Publication:
    """What is to be published under a source's name.

    Attributes:
        source: the source's name, and the home group of its tools.
        entries: our contracts or raw tool entries; they join those published there before, by name.
    """

    source: str
    entries: tuple[Json | Contract, ...]


@dataclass(frozen=True, slots=True)
class PublishedTool:
    """What became of one tool."""

    reference: str
    published_name: str
    status: Literal["added", "changed", "unchanged"]


@dataclass(frozen=True, slots=True)
class PublishReceipt:
    """The outcome of a publication, at the revision that holds it."""

    revision: int
    published: tuple[PublishedTool, ...]
    quarantined: tuple[QuarantineRecord, ...]


async def publish(catalogue: Catalogue, publication: Publication, clock: Clock) -> PublishReceipt:
    """Make the publication part of the catalogue; idempotent.

    Raises:
        ToolError: `invalid_name`; `invalid_contract` if there is nothing to publish; `conflict` if the name
            belongs to a source that is not a published one.
    """
    check_group_name(publication.source, what="source")
    if not publication.entries:
        raise ToolError(INVALID_CONTRACT, f"nothing to publish under {publication.source!r}: no entries")
    before: Snapshot = catalogue.snapshot

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        nonlocal before
        before = snapshot
        return _changes(snapshot, publication, clock.now().isoformat())

    after = await catalogue.change(decide)
    return _receipt(before, after, publication)


async def register(catalogue: Catalogue, record: SourceRecord) -> None:
    """Register a source, or replace its settings; what it offers comes when it runs.

    Raises:
        ToolError: `invalid_name`; `conflict` if a source of another kind has the name.
    """
    check_group_name(record.name, what="source")
    check_group_name(record.group, what="group")

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        known = snapshot.sources.get(record.name)
        if known is not None and known.kind is not record.kind:
            raise _taken(known)
        return [] if known == record else [PutSource(record)]

    await catalogue.change(decide)


def _taken(known: SourceRecord) -> ToolError:
    return ToolError(
        CONFLICT,
        f"{known.name!r} is a source of kind {known.kind.value!r} already; choose another name or remove it "
        f"first with `toolcrib remove {known.name}`",
    )


def _changes(snapshot: Snapshot, publication: Publication, now: str) -> list[Change]:
    known = snapshot.sources.get(publication.source)
    if known is not None and (known.kind is not SourceKind.SNAPSHOT or known.spec.get("path")):
        raise _taken(known)
    entries = _joined(known, publication.entries)
    record = SourceRecord(
        publication.source,
        SourceKind.SNAPSHOT,
        {"path": None, "entries": [_as_json(entry) for entry in entries]},
        publication.source,
    )
    registration: list[Change] = [] if known == record else [PutSource(record)]
    registered = snapshot.with_changes(registration, snapshot.revision)
    return [*registration, *accept_listing(registered, Listing(record.name, entries), now)]


def _joined(
    known: SourceRecord | None, entries: tuple[Json | Contract, ...]
) -> tuple[Json | Contract, ...]:
    """The entries published before, with those of the same name replaced, then the new ones."""
    kept = known.spec.get("entries") if known is not None else None
    joined: dict[object, Json | Contract] = {}
    for entry in [*(kept if isinstance(kept, list) else []), *entries]:
        joined[_name_of(entry)] = entry
    return tuple(joined.values())


def _name_of(entry: Json | Contract) -> object:
    name = entry.get("name") if isinstance(entry, dict) else getattr(entry, "name", None)
    return name if isinstance(name, str) else id(entry)


def _as_json(entry: Json | Contract) -> Json:
    if entry is None or isinstance(entry, bool | int | float | str | list | dict):
        return entry
    return entry.as_json()


def _receipt(before: Snapshot, after: Snapshot, publication: Publication) -> PublishReceipt:
    names = [_name_of(entry) for entry in publication.entries]
    refused = after.quarantined.get(publication.source, ())
    known = (ToolId(publication.source, name) for name in names if isinstance(name, str))
    tools = (after.tools[tool] for tool in dict.fromkeys(known) if tool in after.tools)
    published = tuple(_published(before, tool) for tool in tools if tool.head is not None)
    mine = tuple(entry for entry in refused if entry.name in names or entry.name is None)
    return PublishReceipt(after.revision, published, mine)


def _published(before: Snapshot, tool: ToolRecord) -> PublishedTool:
    old = before.tools.get(tool.id)
    status: Literal["added", "changed", "unchanged"] = "added"
    if old is not None:
        status = "unchanged" if old == tool else "changed"
    return PublishedTool(f"{tool.id}@{tool.head_version}", tool.published_name, status)
