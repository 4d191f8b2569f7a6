"""Publishing from outside: idempotent, joined by name, kept so that a restart changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.contract_file import read_contracts
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.tool import Contract
from toolcrib_protocol.version import Version
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.listing import Listing, accept_listing
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.publishing import Publication, PublishReceipt, publish, register
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

NOTE: JsonObject = {
    "name": "note",
    "description": "Keep a note.",
    "when_to_use": "when something must not be forgotten",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
}
RAW: JsonObject = {"name": "list", "inputSchema": {"type": "object"}, "annotations": {"x": 1}}


@pytest.fixture
async def catalogue() -> Catalogue:
    return await Catalogue.open(MemoryStore())


async def published(catalogue: Catalogue, *entries: Json | Contract) -> PublishReceipt:
    return await publish(catalogue, Publication("notes", entries), HandClock())


def outcomes(receipt: PublishReceipt) -> list[tuple[str, str]]:
    return [(tool.reference, tool.status) for tool in receipt.published]


def relisted(catalogue: Catalogue) -> list[object]:
    """What the source would change when it lists itself after a restart."""
    entries = catalogue.snapshot.sources["notes"].spec["entries"]
    assert isinstance(entries, list)
    read = read_contracts(entries, "notes")
    assert not read.unreadable
    return [*accept_listing(catalogue.snapshot, Listing("notes", read.entries), "later")]


@pytest.mark.promise("cli-publish-again")
async def test_publishing_contracts_again_changes_nothing(catalogue: Catalogue) -> None:
    first = await published(catalogue, NOTE, RAW)
    again = await published(catalogue, NOTE, RAW)
    assert outcomes(first) == [("notes/note@1.0.0", "added"), ("notes/list@1.0.0", "added")]
    assert outcomes(again) == [("notes/note@1.0.0", "unchanged"), ("notes/list@1.0.0", "unchanged")]
    assert again.revision == first.revision


@pytest.mark.promise("cli-publish-joins")
async def test_a_second_publication_joins_the_first(catalogue: Catalogue) -> None:
    await published(catalogue, NOTE)
    second = await published(catalogue, RAW)
    assert outcomes(second) == [("notes/list@1.0.0", "added")]
    live = {str(record.tool) for record in catalogue.snapshot.live_tools()}
    assert live == {"notes/note", "notes/list"}
    kept = catalogue.snapshot.tools[ToolId("notes", "note")].head
    assert kept is not None
    assert kept.contract.when_to_use == NOTE["when_to_use"]


@pytest.mark.promise("cli-publish-stays")
async def test_what_is_published_is_listed_the_same_after_a_restart(catalogue: Catalogue) -> None:
    declared = Contract(group="elsewhere", name="count", version=Version.parse("2.1.0"))
    await published(catalogue, NOTE, RAW, declared)
    await published(catalogue, {**NOTE, "parameters": {"type": "object", "required": ["text"]}})
    versions = catalogue.snapshot.tools[ToolId("notes", "note")].versions
    assert [str(version) for version in versions] == ["1.0.0", "2.0.0"]
    assert relisted(catalogue) == []


async def test_raw_tools_stay_as_they_came(catalogue: Catalogue) -> None:
    await published(catalogue, RAW)
    head = catalogue.snapshot.tools[ToolId("notes", "list")].head
    assert head is not None
    assert '"annotations":{"x":1}' in head.raw


async def test_a_changed_contract_is_published_as_the_next_version(catalogue: Catalogue) -> None:
    await published(catalogue, NOTE)
    changed = await published(catalogue, {**NOTE, "description": "Keep a short note."})
    assert outcomes(changed) == [("notes/note@1.0.1", "changed")]


async def test_what_is_no_tool_is_refused_alone_and_with_its_reason(catalogue: Catalogue) -> None:
    receipt = await published(catalogue, RAW, 7, {"name": "odd", "limits": 3})
    assert outcomes(receipt) == [("notes/list@1.0.0", "added")]
    assert [(entry.name, entry.pointer) for entry in receipt.quarantined] == [
        (None, ""),
        ("odd", "/limits"),
    ]
    again = await published(catalogue, RAW, 7, {"name": "odd", "limits": 3})
    assert again == PublishReceipt(receipt.revision, again.published, receipt.quarantined)


async def test_a_tool_that_the_catalogue_refuses_is_not_called_published(
    catalogue: Catalogue,
) -> None:
    contract = Contract(group="notes", name="count", version=Version.parse("1.0.0"))
    await published(catalogue, contract)
    receipt = await published(catalogue, contract.model_copy(update={"description": "Other."}))
    assert outcomes(receipt) == []
    (refused,) = receipt.quarantined
    assert "published versions never change" in refused.reason


async def test_nothing_cannot_be_published(catalogue: Catalogue) -> None:
    with pytest.raises(ToolError, match="nothing to publish"):
        await published(catalogue)


@pytest.mark.parametrize(
    "taken",
    [
        SourceRecord("notes", SourceKind.PYTHON, {"target": "notes"}, "notes"),
        SourceRecord("notes", SourceKind.SNAPSHOT, {"path": "/a.json", "entries": None}, "notes"),
    ],
    ids=lambda record: str(record.kind),
)
async def test_the_name_of_another_source_is_not_published_over(
    catalogue: Catalogue, taken: SourceRecord
) -> None:
    await register(catalogue, taken)
    with pytest.raises(ToolError, match="toolcrib remove notes"):
        await published(catalogue, NOTE)


async def test_a_source_is_registered_once_and_replaced_within_its_kind(
    catalogue: Catalogue,
) -> None:
    record = SourceRecord("notes", SourceKind.PYTHON, {"target": "notes"}, "notes")
    await register(catalogue, record)
    revision = catalogue.snapshot.revision
    await register(catalogue, record)
    assert catalogue.snapshot.revision == revision
    other = SourceRecord("notes", SourceKind.MCP, {"transport": "stdio"}, "notes")
    with pytest.raises(ToolError, match="kind 'python' already"):
        await register(catalogue, other)
