"""How the catalogue takes in what a source lists.

Each entry stands alone: it is accepted, mended and marked, or quarantined with a reason; its
siblings never suffer. An unchanged entry makes no change, a changed one becomes the next version, a
missing one is retired. Pure: snapshot and listing in, changes out. Used by the supervisor of
sources and by publishing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolcrib_registry.acceptance import Acceptance
from toolcrib_registry.changes import Change, PutGroup
from toolcrib_registry.offers import Offers
from toolcrib_registry.records import GroupRecord, QuarantineRecord, SourceRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything a source offers at one moment.

    Attributes:
        source: the source's name.
        entries: in the source's order; raw JSON as an MCP `tools/list` has it (at home in the
            source's group), or our own contracts (at home in the group that they name).
        title: the source's own title, for its home group.
        description: what the source says about itself (instructions), for its home group.
        quarantined: entries that could not even be read as one of the two, already judged.
    """

    source: str
    entries: tuple[Json | Contract, ...]
    title: str = ""
    description: str = ""
    quarantined: tuple[QuarantineRecord, ...] = ()


def accept_listing(snapshot: Snapshot, listing: Listing, now: str) -> list[Change]:
    """What the catalogue has to change so that it agrees with `listing`.

    Args:
        snapshot: the catalogue as it is.
        listing: the complete list of one source; tools it leaves out are retired.
        now: UTC, ISO 8601, for new rows.
    """
    source = snapshot.sources.get(listing.source)
    if source is None:
        return []
    acceptance = Acceptance(snapshot, source, now)
    offers = Offers(snapshot, source, now)
    for position, entry in enumerate(listing.entries):
        acceptance.consider(position, entry, offers.read(position, entry))
    acceptance.quarantined.extend(listing.quarantined)
    acceptance.retire_the_rest()
    acceptance.settle_quarantine()
    return [*_home_group(snapshot, source, listing), *acceptance.changes]


def _home_group(snapshot: Snapshot, source: SourceRecord, listing: Listing) -> Iterator[Change]:
    known = snapshot.groups.get(source.group)
    if known is None:
        yield PutGroup(GroupRecord(source.group, listing.title, listing.description))
    elif not known.description and listing.description:
        yield PutGroup(
            replace(known, title=known.title or listing.title, description=listing.description)
        )
