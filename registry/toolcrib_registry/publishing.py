"""Publishing from outside at run time: entries become a source of their own in one commit.

What is published is kept in the settings of its source, so it survives a restart; publishing the
same thing again changes nothing, and what is published later under the same name joins. Used by the
command line and by the `toolcrib/publish` method; a Python target is only registered here, its
source lists what is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from toolcrib_protocol.contract_file import read_contracts
from toolcrib_protocol.errors import CONFLICT, INVALID_CONTRACT, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.names import ToolId, check_group_name
from toolcrib_registry.changes import PutSource
from toolcrib_registry.listing import Listing, accept_listing
from toolcrib_registry.records import QuarantineRecord, SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypeIs

    from toolcrib_protocol.contract_file import ContractFile
    from toolcrib_protocol.json_value import Json
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.records import ToolRecord
    from toolcrib_registry.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Publication:
    """What is to be published under a source's name.

    Attributes:
        source: the source's name, and the home group of its tools.
        entries: our contracts, or JSON in any form that contract files have; they join those
            published there before, by name.
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
        ToolError: `invalid_name`; `invalid_contract` if there is nothing to publish; `conflict` if
            the name belongs to a source that is not a published one.
    """
    check_group_name(publication.source, what="source")
    if not publication.entries:
        raise ToolError(
            INVALID_CONTRACT, f"nothing to publish under {publication.source!r}: no entries"
        )
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
        f"{known.name!r} is a source of kind {known.kind.value!r} already; choose another name or "
        f"remove it first with `toolcrib remove {known.name}`",
    )


def _changes(snapshot: Snapshot, publication: Publication, now: str) -> list[Change]:
    known = snapshot.sources.get(publication.source)
    if known is not None and (known.kind is not SourceKind.SNAPSHOT or known.spec.get("path")):
        raise _taken(known)
    entries = _joined(known, _plain(publication))
    record = SourceRecord(
        publication.source,
        SourceKind.SNAPSHOT,
        {"path": None, "entries": entries},
        publication.source,
    )
    registration: list[Change] = [] if known == record else [PutSource(record)]
    registered = snapshot.with_changes(registration, snapshot.revision)
    # Read from what is kept, as the source will read it at the next start: then nothing changes
    # there.
    listing = _listing(record.name, read_contracts(entries, record.group))
    return [*registration, *accept_listing(registered, listing, now)]


def _plain(publication: Publication) -> list[Json]:
    """The entries as they are kept: JSON, our contracts and raw tools told apart by their keys."""
    written = [entry if _is_json(entry) else entry.as_json() for entry in publication.entries]
    read = read_contracts(written, publication.source)
    return [
        *(entry if _is_json(entry) else entry.as_json() for entry in read.entries),
        *(entry.raw for entry in read.unreadable),
    ]


def _is_json(entry: Json | Contract) -> TypeIs[Json]:
    return entry is None or isinstance(entry, bool | int | float | str | list | dict)


def _listing(source: str, read: ContractFile) -> Listing:
    quarantined = tuple(
        QuarantineRecord(
            source,
            entry.position,
            entry.name,
            entry.pointer,
            entry.reason,
            entry.raw if isinstance(entry.raw, dict) else {"entry": entry.raw},
        )
        for entry in read.unreadable
    )
    return Listing(source, read.entries, quarantined=quarantined)


def _joined(known: SourceRecord | None, entries: Sequence[Json]) -> list[Json]:
    """The entries published before, with those of the same name replaced, then the new ones."""
    kept = known.spec.get("entries") if known is not None else None
    joined: dict[str, Json] = {}
    for entry in [*(kept if isinstance(kept, list) else []), *entries]:
        # An entry without a name is the same only as its twin.
        joined[_name_of(entry) or dump_json(entry)] = entry
    return list(joined.values())


def _name_of(entry: Json) -> str | None:
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None


def _receipt(before: Snapshot, after: Snapshot, publication: Publication) -> PublishReceipt:
    names = [_name_of(entry) for entry in _plain(publication)]
    refused = after.quarantined.get(publication.source, ())
    known = (ToolId(publication.source, name) for name in names if name is not None)
    tools = (after.tools[tool] for tool in dict.fromkeys(known) if tool in after.tools)
    published = tuple(_published(before, tool) for tool in tools if tool.head is not None)
    mine = tuple(entry for entry in refused if entry.name in names)
    return PublishReceipt(after.revision, published, mine)


def _published(before: Snapshot, tool: ToolRecord) -> PublishedTool:
    old = before.tools.get(tool.id)
    status: Literal["added", "changed", "unchanged"] = "added"
    if old is not None:
        status = "unchanged" if old == tool else "changed"
    return PublishedTool(f"{tool.id}@{tool.head_version}", tool.published_name, status)
